//! Tests the records of the recorded ClusterDeployment and AgentClusterInstall, and of others.

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::record::{Cluster, KubeRef, Secret};
use muster_core::rules::input::Invalid;
use muster_resources::{AgentClusterInstall, ClusterDeployment};
use serde_json::{Value, json};

use super::delete::{Fate, fate};
use super::desired::{Wanted, changed, imported, is_installed, resource_field, version_of};

fn deployment(changes: Value) -> ClusterDeployment {
    merged(
        include_str!("../recorded/cluster_deployment_imported.json"),
        changes,
    )
}

fn install(changes: Value) -> AgentClusterInstall {
    merged(
        include_str!("../recorded/agent_cluster_install_imported.json"),
        changes,
    )
}

fn merged<T: serde::de::DeserializeOwned>(recorded: &str, changes: Value) -> T {
    let mut object: Value = serde_json::from_str(recorded).unwrap();
    object["status"] = json!({});
    object["metadata"]["ownerReferences"] = json!([]);
    merge(&mut object, changes);
    serde_json::from_value(object).unwrap()
}

fn merge(into: &mut Value, changes: Value) {
    match changes {
        Value::Object(members) => {
            for (key, value) in members {
                merge(&mut into[key], value);
            }
        }
        other => *into = other,
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn wanted<'a>(deployment: &'a ClusterDeployment, install: &'a AgentClusterInstall) -> Wanted<'a> {
    Wanted {
        deployment,
        install,
        pull_secret: None,
        ignition_ca: None,
        version: None,
    }
}

fn made(deployment_changes: Value, install_changes: Value) -> Result<Cluster, Invalid> {
    let (deployment, install) = (deployment(deployment_changes), install(install_changes));
    let kube = KubeRef::new("wire", "hc1");
    imported(kube, &wanted(&deployment, &install), ClusterId::random(), at(0))
}

#[test]
fn the_recorded_cluster_becomes_known_as_rest_would_import_it() {
    let made = made(json!({}), json!({})).unwrap();
    assert_eq!(made.kube, Some(KubeRef::new("wire", "hc1")));
    assert_eq!(made.data.name, "hc1");
    assert_eq!(made.data.base_dns_domain, "example.test");
    assert_eq!(made.data.api_vip_dnsname, "api.hc1.example.test");
    assert_eq!(made.data.openshift_cluster_id, "<uuid>");
    assert_eq!(made.data.traits.user_managed_networking, Some(true));
    assert_eq!(made.data.traits.control_plane_count, 3);
}

#[test]
fn the_same_resources_change_nothing_and_others_only_what_they_say() {
    let (deployment, before) = (deployment(json!({})), install(json!({})));
    let cluster = made(json!({}), json!({})).unwrap();
    assert_eq!(changed(&cluster, &wanted(&deployment, &before), at(9)), Ok(None));
    // The key of signed URLs is no setting of the resources.
    let mut signed = cluster.clone();
    signed.data.url_key = Secret::new("random");
    assert_eq!(changed(&signed, &wanted(&deployment, &before), at(9)), Ok(None));

    let after = install(json!({
        "metadata": {"annotations": {"agent-install.openshift.io/ignored-host-validations": "ntp-synced, has-default-route"}},
        "spec": {
            "apiVIP": "198.51.100.5", "ntpSources": ["198.51.100.1", "time.example.test"],
            "networking": {"machineNetwork": [{"cidr": "198.51.100.0/24"}], "networkType": "OVNKubernetes"},
            "proxy": {"httpProxy": "http://proxy.example.test:3128"},
            "diskEncryption": {"enableOn": "masters,workers", "mode": "tpmv2"},
            "controlPlane": {"name": "master", "hyperthreading": "Disabled"},
        },
    }));
    let secret = Secret::new(r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#);
    let more = Wanted {
        pull_secret: Some(&secret),
        version: Some("4.20.3"),
        ..wanted(&deployment, &after)
    };
    let (next, events) = changed(&cluster, &more, at(9)).unwrap().unwrap();
    assert_eq!(events.len(), 1, "the proxy is told of");
    assert_eq!(next.updated_at, at(9));
    assert_eq!(next.data.api_vips, ["198.51.100.5"]);
    assert_eq!(next.data.ntp_sources, "198.51.100.1,time.example.test");
    assert_eq!(next.data.machine_networks, ["198.51.100.0/24"]);
    assert_eq!(
        next.data.ignored_host_validations,
        ["has-default-route", "ntp-synced"]
    );
    assert_eq!(next.data.openshift_version, "4.20.3");
    assert_eq!(
        serde_json::to_value(next.data.traits.hyperthreading).unwrap(),
        json!("workers")
    );
    assert!(!next.data.pull_secret.is_empty());

    // A setting that is removed from the resources is removed from the record; only the version stays.
    let (last, _) = changed(&next, &wanted(&deployment, &before), at(20))
        .unwrap()
        .unwrap();
    let mut expected = cluster.data.clone();
    expected.openshift_version = "4.20.3".into();
    assert_eq!(last.data, expected);
}

#[test]
fn a_mistake_names_the_field_of_the_resource() {
    for (deployment, install, field) in [
        (
            json!({"spec": {"clusterName": "Not Valid"}}),
            json!({}),
            "spec.clusterName of the ClusterDeployment",
        ),
        (
            json!({"spec": {"baseDomain": "-x-"}}),
            json!({}),
            "spec.clusterName and spec.baseDomain of the ClusterDeployment",
        ),
        (
            json!({}),
            json!({"spec": {"apiVIPs": ["nowhere"]}}),
            "spec.apiVIPs",
        ),
        (
            json!({}),
            json!({"spec": {"networking": {"machineNetwork": [{"cidr": "10.0.0.1"}]}}}),
            "spec.networking.machineNetwork",
        ),
        (
            json!({}),
            json!({"spec": {"ignitionEndpoint": {"url": "here"}}}),
            "spec.ignitionEndpoint.url",
        ),
        (
            json!({}),
            json!({"spec": {"sshPublicKey": "no key"}}),
            "spec.sshPublicKey",
        ),
        (
            json!({}),
            json!({"metadata": {"annotations": {"agent-install.openshift.io/ignored-host-validations": "no-such-check"}}}),
            "the annotation agent-install.openshift.io/ignored-host-validations",
        ),
        (
            json!({}),
            json!({"spec": {"provisionRequirements": {"controlPlaneAgents": 9}}}),
            "spec.provisionRequirements.controlPlaneAgents",
        ),
    ] {
        // The name is checked when the cluster is created; everything else with each change, too.
        let invalid = made(deployment, install).unwrap_err();
        assert_eq!(resource_field(&invalid.field), field, "{invalid}");
    }
}

#[test]
fn a_cluster_is_installed_when_either_resource_says_so() {
    let said = deployment(json!({}));
    let unsaid = deployment(json!({"spec": {"installed": null}}));
    let open = install(json!({}));
    let completed = install(json!({"status": {"conditions": [
        {"type": "Completed", "status": "True", "reason": "InstallationCompleted", "message": ""},
    ]}}));
    assert!(is_installed(&said, &open));
    assert!(is_installed(&unsaid, &completed));
    assert!(!is_installed(&unsaid, &open));
}

#[test]
fn agents_go_with_their_clusters_infra_env_and_return_to_other_pools() {
    let (cluster, other) = (KubeRef::new("a", "c"), KubeRef::new("a", "d"));
    assert_eq!(fate(&cluster, Some(&cluster), false), Fate::Deleted);
    assert_eq!(fate(&cluster, None, false), Fate::Unbound);
    assert_eq!(fate(&cluster, None, true), Fate::Deleted);
    assert_eq!(fate(&cluster, Some(&other), true), Fate::Unbound);
}

#[test]
fn the_tag_of_a_release_image_tells_its_version() {
    for (image, version) in [
        ("quay.example/release:4.20.3-x86_64", Some("4.20.3")),
        ("quay.example:5000/release:4.21.0-rc.1-multi", Some("4.21.0-rc.1")),
        ("quay.example:5000/release", None),
        ("quay.example/release@sha256:0123", None),
        ("quay.example/release:latest", None),
    ] {
        assert_eq!(version_of(image), version, "{image}");
    }
}
