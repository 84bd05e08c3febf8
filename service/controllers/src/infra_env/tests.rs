//! Tests the recorded InfraEnv, computed again from its spec, and others.

use muster_api::host::HostStatus;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::infra_env;
use muster_core::record::{Cluster, ClusterData, InfraEnv as Kept, KubeRef, Secret};
use muster_resources::{Condition, InfraEnv, InfraEnvSpec, InfraEnvStatus};
use serde_json::{Value, json};

use super::desired::{World, check_labels, check_unchangeable, desired, spec_field};
use super::links::Links;
use super::shown::{network_objects, resource, selector};
use super::static_network::{Networks, sorted_out};
use super::status::{Available, Outcome, status};
use crate::recorded::comparable;

const RECORDED: &str = include_str!("../recorded/infra_env_image_created.json");

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn pull_secret() -> Secret {
    Secret::new(r#"{"auths":{"registry.example.test":{"auth":"dXNlcjpwYXNz"}}}"#)
}

fn links(iso: &str) -> Links {
    let link = |name: &str| format!("http://muster.example.test/{name}");
    Links {
        iso: link(iso),
        kernel: link("vmlinuz"),
        initrd: link("initrd"),
        rootfs: link("rootfs"),
        ipxe_script: link("ipxe"),
        discovery_ignition: link("ign"),
        events: link("events"),
        static_network: link("networks"),
    }
}

fn available<'a>(links: &'a Links, networks: &'a Networks) -> Outcome<'a> {
    Outcome::Available(Available {
        links,
        updated_at: at(0),
        ignition_override_unapplied: false,
        no_agent: None,
        networks,
        mirror_registry: None,
        refused_agents: None,
    })
}

fn condition<'a>(status: &'a InfraEnvStatus, type_: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|one| one.type_ == type_)
}

fn spec(mut spec: Value) -> InfraEnvSpec {
    spec["pullSecretRef"] = json!({"name": "pull"});
    serde_json::from_value(spec).unwrap()
}

fn kept(asked: Value) -> Result<Kept, String> {
    let spec = spec(asked);
    let secret = pull_secret();
    let world = World {
        require_host_keys: false,
        pull_secret: &secret,
        cluster: None,
        networks: &[],
        newest_version: Some("5.0"),
    };
    let text = |invalid: muster_core::rules::input::Invalid| {
        format!("{}: {}", spec_field(&invalid.field), invalid.reason)
    };
    let params = desired("hw", &spec, &world).map_err(text)?;
    infra_env::create(params, InfraEnvId::random(), "b".repeat(22), at(0)).map_err(text)
}

#[test]
fn the_recorded_infra_env_has_the_recorded_status() {
    let (links, networks) = (links("iso"), Networks::default());
    let made = status("hw", None, &available(&links, &networks), at(0));
    let made = comparable(&serde_json::to_value(&made).unwrap());
    assert_eq!(made, recorded()["status"]);
}

#[test]
fn the_recorded_infra_env_asks_for_what_rest_would_have_been_sent() {
    let kept = kept(recorded()["spec"].clone()).unwrap();
    assert_eq!(kept.name, "hw");
    assert_eq!(kept.settings.additional_ntp_sources, "198.51.100.1");
    assert_eq!(
        kept.settings.proxy.http_proxy.as_deref(),
        Some("http://proxy.example.test:3128")
    );
    let arguments = kept.settings.kernel_arguments.unwrap();
    assert_eq!(
        serde_json::to_value(arguments).unwrap(),
        json!([{"operation": "append", "value": "p1"}])
    );
    assert_eq!(kept.settings.openshift_version, "5.0");
}

#[test]
fn a_status_that_was_told_is_told_the_same_later_on() {
    let (links, networks) = (links("iso"), Networks::default());
    let outcome = available(&links, &networks);
    let first = status("hw", None, &outcome, at(0));
    assert_eq!(status("hw", Some(&first), &outcome, at(3600)), first);
    let refused = Outcome::Unusable {
        why: "spec.proxy.httpProxy: must be a URL".into(),
        events: None,
    };
    let first = status("hw", Some(&first), &refused, at(10));
    assert_eq!(status("hw", Some(&first), &refused, at(20)), first);
}

#[test]
fn the_time_of_creation_moves_with_the_address_of_the_image_and_with_nothing_else() {
    let (old, new, networks) = (links("iso"), links("iso-2"), Networks::default());
    let first = status("hw", None, &available(&old, &networks), at(0));
    let later = |links| {
        let mut outcome = available(links, &networks);
        if let Outcome::Available(available) = &mut outcome {
            available.updated_at = at(60);
        }
        status("hw", Some(&first), &outcome, at(60))
    };
    assert_eq!(later(&old).created_time, first.created_time);
    assert_ne!(later(&new).created_time, first.created_time);
}

#[test]
fn what_cannot_be_used_takes_the_image_away_and_names_the_field() {
    let (links, networks) = (links("iso"), Networks::default());
    let first = status("hw", None, &available(&links, &networks), at(0));
    let why =
        kept(json!({"pullSecretRef": {"name": "p"}, "proxy": {"httpProxy": "gopher://x"}})).unwrap_err();
    let refused = Outcome::Unusable { why, events: None };
    let second = status("hw", Some(&first), &refused, at(5));
    assert_eq!(second.iso_download_url, None);
    assert_eq!(second.created_time, None);
    let told = condition(&second, "ImageCreated").unwrap();
    assert_eq!(
        (told.status.as_str(), told.reason.as_deref()),
        ("False", Some("ImageCreationError"))
    );
    assert!(told.message.as_deref().unwrap().contains("spec.proxy.httpProxy"));
    assert!(second.debug_info.unwrap().events_url.is_some());
}

#[test]
fn an_image_whose_machines_become_no_hosts_says_so() {
    let (links, networks) = (links("iso"), Networks::default());
    let mut outcome = available(&links, &networks);
    if let Outcome::Available(available) = &mut outcome {
        available.no_agent = Some("there is no agent for s390x".into());
    }
    let told = status("hw", None, &outcome, at(0));
    let told = condition(&told, "ImageCreated").unwrap().message.as_deref();
    assert!(
        told.unwrap()
            .ends_with("can be downloaded; but there is no agent for s390x")
    );
}

#[test]
fn a_missing_cluster_is_unknown_and_not_an_error() {
    let outcome = Outcome::MissingCluster("there is no ClusterDeployment lab/c".into());
    let told = status("hw", None, &outcome, at(0));
    let told = condition(&told, "ImageCreated").unwrap();
    assert_eq!(
        (told.status.as_str(), told.reason.as_deref()),
        ("Unknown", Some("MissingClusterDeployment"))
    );
}

#[test]
fn fields_are_named_as_in_the_resource() {
    for (core, resource) in [
        ("pull_secret", "spec.pullSecretRef"),
        ("openshift_version", "spec.osImageVersion"),
        ("additional_ntp_sources", "spec.additionalNTPSources"),
        ("ntp_sources", "spec.ntpSources"),
        ("ssh_authorized_key", "spec.sshAuthorizedKey"),
        ("kernel_arguments[2].value", "spec.kernelArguments[2].value"),
        ("proxy.no_proxy", "spec.proxy.noProxy"),
        ("cluster_id", "spec.clusterRef"),
        (
            "network_discovery_delay_seconds",
            "spec.networkDiscoveryDelaySeconds",
        ),
    ] {
        assert_eq!(spec_field(core), resource);
    }
}

#[test]
fn words_that_nobody_knows_are_refused_with_those_that_are_known() {
    for (spec, field, word) in [
        (
            json!({"cpuArchitecture": "vax"}),
            "spec.cpuArchitecture",
            "`x86_64`",
        ),
        (json!({"imageType": "floppy"}), "spec.imageType", "`full-iso`"),
        (
            json!({"kernelArguments": [{"value": "a"}]}),
            "spec.kernelArguments[0].operation",
            "append",
        ),
        (
            json!({"kernelArguments": [{"operation": "delete", "value": "a"}]}),
            "spec.kernelArguments[0].operation",
            "append",
        ),
        (
            json!({"sshAuthorizedKey": "my key"}),
            "spec.sshAuthorizedKey",
            "key",
        ),
    ] {
        let why = kept(spec).unwrap_err();
        assert!(why.starts_with(field) && why.contains(word), "{why}");
    }
}

#[test]
fn what_is_not_said_any_more_is_not_set_any_more() {
    let full = kept(
        json!({"ntpSources": ["198.51.100.1"], "ignitionConfigOverride": "{\"ignition\":{\"version\":\"3.2.0\"}}"}),
    );
    let less = kept(json!({})).unwrap();
    let full = full.unwrap();
    assert!(!full.settings.ignition_config_override.is_empty());
    let outcome = infra_env::replace(&full, less.settings.clone(), None, at(9)).unwrap();
    assert!(outcome.changed);
    assert_eq!(outcome.infra_env.settings, less.settings);
    assert_eq!(outcome.infra_env.id, full.id);
    let again = infra_env::replace(&outcome.infra_env, less.settings, None, at(12)).unwrap();
    assert!(!again.changed && again.events.is_empty());
}

#[test]
fn architecture_and_cluster_stay_what_they_are() {
    let found = kept(json!({})).unwrap();
    let secret = pull_secret();
    let mut world = World {
        require_host_keys: false,
        pull_secret: &secret,
        cluster: None,
        networks: &[],
        newest_version: None,
    };
    let other = desired("hw", &spec(json!({"cpuArchitecture": "arm64"})), &world).unwrap();
    let refused = check_unchangeable(&found, &other, false).unwrap_err();
    assert!(refused.reason.contains("from x86_64 to arm64"), "{refused}");

    let cluster = Cluster {
        id: ClusterId::random(),
        kube: None,
        mirror: None,
        version: 1,
        created_at: at(0),
        updated_at: at(0),
        data: ClusterData {
            openshift_version: "4.19.1".into(),
            ..ClusterData::default()
        },
    };
    world.cluster = Some(&cluster);
    let bound = desired("hw", &spec(json!({})), &world).unwrap();
    assert_eq!(bound.openshift_version.as_deref(), Some("4.19.1"));
    assert_eq!(
        check_unchangeable(&found, &bound, false).unwrap_err().field,
        "cluster_id"
    );
    assert_eq!(check_unchangeable(&found, &bound, true), Ok(()));
}

#[test]
fn network_configurations_have_a_condition_while_there_are_some() {
    let links = links("iso");
    let some = Networks {
        accepted: vec![Default::default()],
        unapplied: vec![("ib".to_owned(), "interface ib0: infiniband".to_owned())],
        ..Networks::default()
    };
    let first = status("hw", None, &available(&links, &some), at(0));
    let told = condition(&first, "StaticNetworkApplied").unwrap();
    assert_eq!(
        (told.status.as_str(), told.reason.as_deref()),
        ("False", Some("NotSupportedByImage"))
    );
    assert!(
        first
            .debug_info
            .as_ref()
            .unwrap()
            .static_network_download_url
            .is_some()
    );

    let refused = |index: usize| (format!("config-{index:02}"), "spec.interfaces: twice".to_owned());
    let bad = Networks {
        accepted: Vec::new(),
        unapplied: Vec::new(),
        refused: (0..12).map(refused).collect(),
        ..Networks::default()
    };
    let second = status("hw", Some(&first), &available(&links, &bad), at(1));
    let told = condition(&second, "StaticNetworkApplied").unwrap();
    assert_eq!(told.reason.as_deref(), Some("InvalidNMStateConfig"));
    let message = told.message.as_deref().unwrap();
    assert!(message.contains("config-00: spec.interfaces: twice"), "{message}");
    assert!(
        !message.contains("config-10") && message.contains("and 2 more"),
        "{message}"
    );
    assert_eq!(condition(&second, "ImageCreated").unwrap().status, "True");

    let good = Networks {
        accepted: vec![Default::default()],
        ..Networks::default()
    };
    let applied = status("hw", Some(&second), &available(&links, &good), at(2));
    let told = condition(&applied, "StaticNetworkApplied").unwrap();
    assert_eq!(
        (told.status.as_str(), told.reason.as_deref()),
        ("True", Some("NMStateConfigsInImage"))
    );
    assert_eq!(
        told.message.as_deref(),
        Some("1 NMStateConfig(s) match, and the image applies them")
    );

    let by_place = Networks {
        by_place: vec![("config-01".to_owned(), "eno3, enp1s0".to_owned())],
        ..good
    };
    let applied = status("hw", Some(&second), &available(&links, &by_place), at(2));
    let message = condition(&applied, "StaticNetworkApplied")
        .unwrap()
        .message
        .as_deref();
    assert!(
        message.is_some_and(|message| message.ends_with("under these names: config-01: eno3, enp1s0")),
        "{message:?}"
    );

    let none = Networks::default();
    let third = status("hw", Some(&second), &available(&links, &none), at(2));
    assert_eq!(condition(&third, "StaticNetworkApplied"), None);
    assert_eq!(third.debug_info.unwrap().static_network_download_url, None);
}

#[test]
fn a_deletion_that_waits_says_for_whom_and_leaves_the_image() {
    let (links, networks) = (links("iso"), Networks::default());
    let first = status("hw", None, &available(&links, &networks), at(0));
    let host = (HostId::random(), HostStatus::Known);
    let second = status("hw", Some(&first), &Outcome::Blocked(&[host]), at(1));
    let told = condition(&second, "DeletionBlocked").unwrap();
    assert_eq!(told.status, "True");
    let message = told.message.as_deref().unwrap();
    assert!(message.contains(&format!("{} (known)", host.0)), "{message}");
    assert_eq!(second.iso_download_url, first.iso_download_url);
}

#[test]
fn the_recorded_object_is_read_without_loss() {
    let mut object = recorded();
    object["status"] = json!({});
    let read: InfraEnv = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), object);
}

#[test]
fn a_mirror_says_everything_that_its_record_is() {
    let asked = json!({
        "name": "My Lab", "pull_secret": pull_secret().reveal(), "additional_ntp_sources": "198.51.100.1,198.51.100.2",
        "additional_trust_bundle": "", "cpu_architecture": "x86_64", "image_type": "minimal-iso",
        "ignition_config_override": r#"{"ignition":{"version":"3.1.0"}}"#, "openshift_version": "4.20",
        "kernel_arguments": [{"operation": "append", "value": "quiet"}], "network_discovery_delay_seconds": 5,
        "proxy": {"http_proxy": "http://198.51.100.4:3128", "no_proxy": "example.com"},
        "static_network_config": [{
            "network_yaml": "interfaces:\n- {name: nic, type: ethernet, state: up}\n",
            "mac_interface_map": [{"mac_address": "02:00:00:00:00:01", "logical_nic_name": "nic"}],
        }],
    });
    let made = serde_json::from_value(asked).unwrap();
    let mut record = infra_env::create(made, InfraEnvId::random(), "b".repeat(22), at(0)).unwrap();
    let mut resource = resource(&KubeRef::new("muster-rest", "my-lab"), &record, None);
    resource.metadata.uid = Some("uid".into());
    let objects = network_objects(&resource, &record.settings.static_network_config);
    assert_eq!(objects[0].metadata.labels, selector(&resource).match_labels);
    let networks = sorted_out(objects);
    assert_eq!(networks.refused, []);
    let secret = pull_secret();
    let world = World {
        require_host_keys: false,
        pull_secret: &secret,
        cluster: None,
        networks: &networks.accepted,
        newest_version: Some("4.21"),
    };
    let said = desired("My Lab", &resource.spec, &world).unwrap();
    let said = infra_env::create(said, record.id, record.boot_id.clone(), at(0)).unwrap();
    let yaml = said.settings.static_network_config[0]
        .network_yaml
        .clone()
        .unwrap();
    assert!(yaml.contains(r#""name":"nic""#), "the same, as JSON: {yaml}");
    record.settings.static_network_config[0].network_yaml = Some(yaml);
    assert!(said.settings == record.settings, "{:?}", said.settings);
}

#[test]
fn labels_that_no_agent_could_have_are_the_infra_envs_mistake() {
    let checked = |name: &str, labels: Value| {
        let spec = spec(json!({"agentLabels": labels}));
        check_labels(name, &spec)
            .map_err(|invalid| format!("{}: {}", spec_field(&invalid.field), invalid.reason))
    };
    assert_eq!(
        checked("hw", json!({"rack": "a-1", "example.com/row": ""})),
        Ok(())
    );
    let wrong = checked("hw", json!({"rack": "a b"})).unwrap_err();
    assert!(
        wrong.starts_with("spec.agentLabels: the value \"a b\""),
        "{wrong}"
    );
    assert!(checked("hw", json!({"a b": "x"})).is_err());
    let long = checked(&"x".repeat(64), json!({})).unwrap_err();
    assert!(
        long.starts_with("metadata.name: ") && long.contains("63 characters"),
        "{long}"
    );
}
