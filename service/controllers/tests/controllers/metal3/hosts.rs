//! BareMetalHosts from their creation to their deletion: docs/protocol/kube-controllers.md#7, docs/protocol/metal3.md#2.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;
use muster_metal3::Flow;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use muster_resources::{Agent, ClusterDeployment, InfraEnv};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{World, url};
use crate::backend::eventually;

const OLD: Duration = Duration::from_secs(600);
/// Longer than a reconcile takes, to see that nothing happens.
const A_WHILE: Duration = Duration::from_millis(400);
const DETACHED: &str = "baremetalhost.metal3.io/detached";
const HARDWARE: &str = "inspect.metal3.io/hardwaredetails";
const REMOVE: &str = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete";
const DRAIN_TIMEOUT: &str = "bmac.agent-install.openshift.io/drain-timeout";
const FINALIZER: &str = "bmac.agent-install.openshift.io/deprovision";
const THEIRS: &str = "baremetalhost.metal3.io";

async fn agent(world: &World, name: &str, mac: &str) {
    agent_of(world, "hw", name, mac).await;
}

async fn agent_of(world: &World, infra_env: &str, name: &str, mac: &str) {
    let condition = |type_: &str, status: &str, reason: &str| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-24T10:00:00Z", "lastHeartbeatTime": null,
        })
    };
    world
        .create::<Agent>(json!({
            "metadata": {
                "name": name, "labels": {"infraenvs.agent-install.openshift.io": infra_env},
                "finalizers": ["agent.agent-install.openshift.io/ai-deprovision"],
            },
            "spec": {"approved": false, "role": ""},
        }))
        .await;
    world
        .patch_status::<Agent>(
            name,
            json!({
                "inventory": {
                    "hostname": "node-1",
                    "interfaces": [{
                        "name": "eth0", "macAddress": mac, "ipV4Addresses": ["192.0.2.7/24"], "ipV6Addresses": [], "flags": [],
                    }],
                    "disks": [{
                        "id": "/dev/disk/by-id/x", "path": "/dev/sda", "driveType": "HDD",
                        "installationEligibility": {"eligible": true, "notEligibleReasons": []},
                    }],
                },
                "debugInfo": {"state": "known-unbound"},
                "conditions": [condition("Connected", "True", "AgentIsConnected"), condition("Bound", "False", "Unbound")],
            }),
        )
        .await;
}

async fn stage(world: &World, agent: &str, stage: &str) {
    let progress = json!({"progress": {"currentStage": stage}});
    world.patch_status::<Agent>(agent, progress).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_that_only_report_its_mac_are_not_approved_for_it() {
    let world = discovered(Flow::LiveIso, json!({}), json!({})).await;
    let follows = async |role: &str| {
        eventually("the Agent to follow", async || {
            let agent: Agent = world.get("a").await;
            (agent.spec.approved && agent.spec.role == role).then_some(())
        })
        .await;
    };
    follows("").await;
    world.infra_env("low-trust", OLD).await;
    let mac = "52:54:00:aa:00:01";
    agent_of(&world, "low-trust", "stranger", mac).await;
    agent_of(&world, "hw", "newcomer", mac).await;
    let role = json!({"metadata": {"annotations": {"bmac.agent-install.openshift.io/role": "worker"}}});
    world.patch::<BareMetalHost>("h", role).await;
    follows("worker").await;
    for name in ["stranger", "newcomer"] {
        let agent: Agent = world.get(name).await;
        assert!(!agent.spec.approved && agent.spec.role.is_empty(), "{agent:?}");
        assert!(!agent.labels().contains_key("agent-install.openshift.io/bmh"));
    }
}

fn image_url(host: &BareMetalHost) -> Option<&str> {
    host.spec.image.as_ref().map(|image| image.url.as_str())
}

/// A host that runs the discovery image, with its Agent.
async fn discovered(flow: Flow, metadata: Value, spec: Value) -> World {
    let world = World::start(flow).await;
    world.infra_env("hw", OLD).await;
    world.host("h", metadata, spec, "available").await;
    world
        .await_host("h", "to have the ISO", |host| {
            image_url(host) == Some(&url("hw")) && host.spec.online
        })
        .await;
    world.in_state("h", "provisioned").await;
    agent(&world, "a", "52:54:00:aa:00:01").await;
    world
        .await_host("h", "to have its hardware told", |host| {
            host.annotations().contains_key(HARDWARE)
        })
        .await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_boots_the_iso_its_agent_is_found_and_it_is_detached_before_the_reboot() {
    let world = discovered(
        Flow::LiveIso,
        json!({"annotations": {
            "bmac.agent-install.openshift.io/role": "worker",
            "bmac.agent-install.openshift.io/hostname": "node-1",
            "bmac.agent-install.openshift.io.node-label.rack": "7",
        }}),
        json!({"rootDeviceHints": {"deviceName": "/dev/sda"}, "userData": {"name": "theirs"}}),
    )
    .await;
    let whole = world.whole::<BareMetalHost>("h").await;
    assert_eq!(whole["spec"]["image"]["format"], "live-iso");
    assert_eq!(whole["spec"]["automatedCleaningMode"], "disabled");
    assert_eq!(whole["metadata"]["annotations"]["inspect.metal3.io"], "disabled");
    assert_eq!(
        whole["metadata"]["labels"]["cluster.open-cluster-management.io/backup"],
        "true"
    );
    assert_eq!(
        whole["spec"]["userData"],
        json!({"name": "theirs"}),
        "members that no type here has stay"
    );
    assert_eq!(whole["status"]["newerMember"], json!({"kept": true}));
    assert_eq!(
        whole["metadata"].get("finalizers"),
        None,
        "nothing is held without being asked to"
    );

    let agent = eventually("the Agent to follow", async || {
        let agent: Agent = world.get("a").await;
        agent.spec.approved.then_some(agent)
    })
    .await;
    assert_eq!(agent.labels()["agent-install.openshift.io/bmh"], "h");
    assert_eq!(agent.spec.role, "worker");
    assert_eq!(agent.spec.hostname.as_deref(), Some("node-1"));
    assert_eq!(agent.spec.node_labels["rack"], "7");
    assert_eq!(
        agent.spec.installation_disk_id.as_deref(),
        Some("/dev/disk/by-id/x")
    );

    // The BareMetalHost has precedence.
    world
        .patch::<Agent>("a", json!({"spec": {"role": "master", "approved": false}}))
        .await;
    eventually("an edit by hand to be undone", async || {
        let agent: Agent = world.get("a").await;
        (agent.spec.approved && agent.spec.role == "worker").then_some(())
    })
    .await;

    stage(&world, "a", "Writing image to disk").await;
    sleep(A_WHILE).await;
    assert_eq!(world.annotation("h", DETACHED).await, None);
    stage(&world, "a", "Rebooting").await;
    let host = world
        .await_host("h", "to be detached", |host| {
            host.annotations().contains_key(DETACHED)
        })
        .await;
    assert_eq!(host.annotations()[DETACHED], "assisted-service-controller");
    assert_eq!(image_url(&host), Some(url("hw").as_str()));

    // From now on the host is not changed, whatever happens to the image.
    let before = world.whole::<BareMetalHost>("h").await;
    world.image_of("hw", "http://x/new.iso", OLD).await;
    stage(&world, "a", "Done").await;
    sleep(A_WHILE).await;
    let after = world.whole::<BareMetalHost>("h").await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn drives_are_emptied_when_metal3_has_let_go_and_not_noted_when_they_are_not() {
    let world = discovered(Flow::LiveIso, json!({}), json!({})).await;
    world
        .create::<Secret>(json!({
            "metadata": {"name": "bmc"}, "stringData": {"username": "admin", "password": "hunter2"},
        }))
        .await;
    stage(&world, "a", "Rebooting").await;
    world
        .await_host("h", "to be detached", |host| {
            host.annotations().contains_key(DETACHED)
        })
        .await;
    sleep(A_WHILE).await;
    assert!(world.emptied().is_empty(), "Metal3 has not let go of it");
    world
        .patch_status::<BareMetalHost>("h", json!({"operationalStatus": "detached"}))
        .await;
    let asked = eventually("the BMC to be asked", async || world.emptied().pop()).await;
    assert!(asked.ends_with("as admin"), "{asked}");
    // Tried again in minutes, not at once.
    sleep(A_WHILE).await;
    assert_eq!(world.emptied().len(), 1);
    assert_eq!(world.annotation("h", "muster.dev/media").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_image_cools_down_and_goes_by_way_of_none() {
    let world = World::start(Flow::LiveIso).await;
    world.infra_env("hw", Duration::ZERO).await;
    world.host("h", json!({}), json!({}), "available").await;
    world
        .await_host("h", "to be prepared", |host| {
            host.annotations().contains_key("inspect.metal3.io")
        })
        .await;
    assert_eq!(
        image_url(&world.get_host("h").await),
        None,
        "the image is too new"
    );
    // The image is used when it is a minute old, although nothing changes then.
    world.image_of("hw", &url("hw"), Duration::from_secs(57)).await;
    world
        .await_host("h", "to have the ISO", |host| image_url(host) == Some(&url("hw")))
        .await;
    world.in_state("h", "provisioned").await;
    world.image_of("hw", "http://x/new.iso", OLD).await;
    world
        .await_host("h", "to lose the old ISO", |host| image_url(host).is_none())
        .await;
    world.in_state("h", "deprovisioning").await;
    sleep(A_WHILE).await;
    assert_eq!(image_url(&world.get_host("h").await), None);
    world.in_state("h", "available").await;
    world
        .await_host("h", "to have the new ISO", |host| {
            image_url(host) == Some("http://x/new.iso")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_left_its_cluster_is_attached_without_its_iso_and_booted_anew() {
    let world = discovered(Flow::LiveIso, json!({}), json!({})).await;
    stage(&world, "a", "Done").await;
    world
        .await_host("h", "to be detached", |host| {
            host.annotations().contains_key(DETACHED)
        })
        .await;
    world
        .patch_status::<Agent>(
            "a",
            json!({"progress": null, "conditions": [{
                "type": "Bound", "status": "False", "reason": "UnbindingPendingUserAction", "message": "",
                "lastTransitionTime": "2026-11-24T10:00:00Z", "lastHeartbeatTime": null,
            }]}),
        )
        .await;
    // The first change after the detachment holds both: the image is gone when Metal3 sees the host again.
    let host = world
        .await_host("h", "to be attached", |host| {
            !host.annotations().contains_key(DETACHED)
        })
        .await;
    assert_eq!(image_url(&host), None);
    world.in_state("h", "available").await;
    world
        .await_host("h", "to have the ISO", |host| image_url(host) == Some(&url("hw")))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_goes_before_its_host_where_that_is_asked_for() {
    let world = discovered(
        Flow::LiveIso,
        json!({"finalizers": [THEIRS], "annotations": {REMOVE: "true"}}),
        json!({}),
    )
    .await;
    let host = world.get_host("h").await;
    assert_eq!(host.finalizers(), [THEIRS, FINALIZER]);
    stage(&world, "a", "Done").await;
    world
        .await_host("h", "to be detached", |host| {
            host.annotations().contains_key(DETACHED)
        })
        .await;
    world.delete::<BareMetalHost>("h").await;
    eventually("the Agent to be deleted", async || {
        let agent: Agent = world.get("a").await;
        agent.metadata.deletion_timestamp.is_some().then_some(())
    })
    .await;
    assert!(
        world
            .get_host("h")
            .await
            .finalizers()
            .contains(&FINALIZER.to_owned())
    );
    // The Agent's own controller takes the node out of the cluster, and releases it.
    world
        .patch::<Agent>("a", json!({"metadata": {"finalizers": null}}))
        .await;
    let host = world
        .await_host("h", "to be released", |host| {
            !host.finalizers().contains(&FINALIZER.to_owned())
        })
        .await;
    assert_eq!(host.finalizers(), [THEIRS], "the baremetal-operator's is its own");
    assert_eq!(
        host.annotations()[DETACHED],
        "assisted-service-controller",
        "attached, a host with a live ISO cannot be deleted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_answer_holds_up_a_deletion_only_for_the_time_of_a_drain() {
    let world = discovered(
        Flow::LiveIso,
        json!({"annotations": {
            REMOVE: "true",
            DRAIN_TIMEOUT: "1h",
            "bmac.agent-install.openshift.io/cluster-reference": "hardware/gone",
        }}),
        json!({}),
    )
    .await;
    world
        .create::<ClusterDeployment>(json!({
            "metadata": {"name": "gone"},
            "spec": {
                "baseDomain": "example.test", "clusterName": "gone", "installed": true,
                "platform": {"agentBareMetal": {"agentSelector": {}}},
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall", "name": "gone",
                },
            },
        }))
        .await;
    stage(&world, "a", "Done").await;
    world
        .await_host("h", "to be detached", |host| {
            host.annotations().contains_key(DETACHED)
        })
        .await;
    world.delete::<BareMetalHost>("h").await;
    let status = "bmac.agent-install.openshift.io/drain-status";
    world
        .await_host("h", "to say that it drains", |host| {
            host.annotations().get(status).map(String::as_str) == Some("draining")
        })
        .await;
    assert!(
        world
            .get::<Agent>("a")
            .await
            .metadata
            .deletion_timestamp
            .is_none()
    );
    let no_time = json!({"metadata": {"annotations": {DRAIN_TIMEOUT: "0s"}}});
    world.patch::<BareMetalHost>("h", no_time).await;
    world
        .await_host("h", "to give up", |host| {
            host.annotations().get(status).map(String::as_str) == Some("timed out")
        })
        .await;
    eventually("the Agent to be deleted", async || {
        let agent: Agent = world.get("a").await;
        agent.metadata.deletion_timestamp.is_some().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_the_label_is_let_go() {
    let world = discovered(Flow::LiveIso, json!({"annotations": {REMOVE: "true"}}), json!({})).await;
    let labels = json!({"metadata": {"labels": {"infraenvs.agent-install.openshift.io": null}}});
    world.patch::<BareMetalHost>("h", labels).await;
    world
        .await_host("h", "to be released", |host| host.finalizers().is_empty())
        .await;
    world.image_of("hw", "http://x/new.iso", OLD).await;
    sleep(A_WHILE).await;
    assert_eq!(
        image_url(&world.get_host("h").await),
        Some(url("hw").as_str()),
        "and left alone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_converged_flow_the_image_of_metal3_comes_first() {
    let world = World::start(Flow::Converged).await;
    world
        .create::<InfraEnv>(json!({
            "metadata": {"name": "hw"}, "spec": {"pullSecretRef": {"name": "pull"}, "cpuArchitecture": "x86_64"},
        }))
        .await;
    world
        .host(
            "h",
            json!({"annotations": {REMOVE: "true"}}),
            json!({}),
            "available",
        )
        .await;
    let spec = json!({"architecture": "x86_64", "acceptFormats": ["iso"]});
    world.asks_for_image("h", "hw", spec).await;
    world.await_image("h", "WaitingForInfraEnvImageToBeCreated").await;
    sleep(A_WHILE).await;
    assert!(world.get_host("h").await.spec.custom_deploy.is_none());
    world.image_of("hw", &url("hw"), OLD).await;
    let host = world
        .await_host("h", "to be deployed", |host| host.spec.custom_deploy.is_some())
        .await;
    assert_eq!(host.spec.custom_deploy.unwrap().method, "start_assisted_install");
    assert!(host.spec.online && host.spec.image.is_none());
    world.in_state("h", "provisioned").await;
    world
        .await_host("h", "to be detached until it is deprovisioned", |host| {
            host.annotations().get(DETACHED).map(String::as_str) == Some(r#"{"deleteAction":"delay"}"#)
        })
        .await;
    world
        .patch::<BareMetalHost>("h", json!({"metadata": {"finalizers": [THEIRS, FINALIZER]}}))
        .await;
    world.delete::<BareMetalHost>("h").await;
    let host = world
        .await_host("h", "to be released", |host| host.finalizers() == [THEIRS])
        .await;
    assert!(
        !host.annotations().contains_key(DETACHED),
        "now Metal3 deprovisions it"
    );
    assert!(world.find::<PreprovisioningImage>("h").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn fencing_credentials_are_made_of_those_of_the_management_controller() {
    let world = discovered(
        Flow::LiveIso,
        json!({"annotations": {"bmac.agent-install.openshift.io/create-fencing-credentials-secret": ""}}),
        json!({}),
    )
    .await;
    world
        .create::<Secret>(json!({
            "metadata": {"name": "bmc"}, "stringData": {"username": "admin", "password": "hunter2"},
        }))
        .await;
    // The Secret was created after the search for it, which is repeated every ten seconds.
    let secret = eventually("the Secret to be made", async || {
        world.find::<Secret>("a-fencing-credentials").await
    })
    .await;
    let data = secret.data.clone().unwrap();
    assert_eq!(data["username"].0, b"admin");
    assert_eq!(data["password"].0, b"hunter2");
    assert_eq!(data["certificateVerification"].0, b"Enabled");
    assert!(data["address"].0.starts_with(b"redfish-virtualmedia+http://"));
    assert_eq!(secret.owner_references()[0].kind, "Agent");
    eventually("the Agent to refer to it", async || {
        let agent: Agent = world.get("a").await;
        (agent.spec.fencing_credentials_secret_ref.as_deref() == Some("a-fencing-credentials")).then_some(())
    })
    .await;
    let events = world.api::<Event>().list(&ListParams::default()).await.unwrap();
    let text = serde_json::to_string(&events.items).unwrap();
    assert!(!text.contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_somebody_else_is_not_made_one_for_fencing() {
    let world = discovered(Flow::LiveIso, json!({}), json!({})).await;
    for (name, password) in [("bmc", "hunter2"), ("a-fencing-credentials", "theirs")] {
        world
            .create::<Secret>(json!({
                "metadata": {"name": name}, "stringData": {"username": "root", "password": password},
            }))
            .await;
    }
    world
        .patch::<BareMetalHost>(
            "h",
            json!({"metadata": {"annotations": {
                "bmac.agent-install.openshift.io/create-fencing-credentials-secret": "",
                "bmac.agent-install.openshift.io/role": "worker",
            }}}),
        )
        .await;
    eventually("the Agent to follow", async || {
        let agent: Agent = world.get("a").await;
        (agent.spec.role == "worker").then_some(())
    })
    .await;
    let secret: Secret = world.get("a-fencing-credentials").await;
    let data = secret.data.clone().unwrap();
    assert_eq!(data["password"].0, b"theirs");
    assert!(!data.contains_key("address") && secret.owner_references().is_empty());
}
