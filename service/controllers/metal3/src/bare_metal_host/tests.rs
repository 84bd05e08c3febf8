//! Tests decisions about BareMetalHosts: docs/protocol/metal3.md#2.3 to §2.7, each trap once.

mod following;

use muster_api::time::Timestamp;
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use muster_resources::{Agent, InfraEnv};
use serde_json::{Value, json};

use super::decision::decide;
use super::deletion;
use super::seen::{Seen, Step};
use crate::flow::Flow;

const URL: &str = "http://muster.example.test:8091/boot/abc/discovery.iso";
const MAC: &str = "52:54:00:AA:00:01";
const FINALIZER: &str = "bmac.agent-install.openshift.io/deprovision";
const REMOVE: &str = "bmac.agent-install.openshift.io/remove-agent-and-node-on-delete";
const DETACHED: &str = "baremetalhost.metal3.io/detached";

fn now() -> Timestamp {
    "2026-11-24T12:00:00Z".parse().unwrap()
}

fn merge(object: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        if value.is_object() && object[key].is_object() {
            merge(&mut object[key], value);
        } else if value.is_null() {
            object.as_object_mut().unwrap().remove(key);
        } else {
            object[key] = value.clone();
        }
    }
}

/// A host that needs nothing but the boot, with `more` of it.
fn host(state: &str, more: Value) -> BareMetalHost {
    let mut host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": "h", "namespace": "lab", "resourceVersion": "7",
            "labels": {"infraenvs.agent-install.openshift.io": "hw", "cluster.open-cluster-management.io/backup": "true"},
            "annotations": {"inspect.metal3.io": "disabled"},
        },
        "spec": {"online": false, "bootMACAddress": MAC, "automatedCleaningMode": "disabled"},
        "status": {"provisioning": {"state": state}},
    });
    merge(&mut host, &more);
    serde_json::from_value(host).unwrap()
}

fn booted() -> Value {
    json!({"spec": {"online": true, "image": {"url": URL, "format": "live-iso"}}})
}

fn infra_env(age: u64) -> InfraEnv {
    let created = now() - std::time::Duration::from_secs(age);
    serde_json::from_value(json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": "hw", "namespace": "lab"}, "spec": {"pullSecretRef": {"name": "p"}},
        "status": {"isoDownloadURL": URL, "createdTime": created.format("%Y-%m-%dT%H:%M:%SZ").to_string()},
    }))
    .unwrap()
}

fn agent(more: Value) -> Agent {
    let mut agent = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
        "metadata": {"name": "a", "namespace": "lab", "resourceVersion": "9"},
        "spec": {"approved": true, "role": ""}, "status": {},
    });
    merge(&mut agent, &more);
    serde_json::from_value(agent).unwrap()
}

fn at_stage(stage: &str) -> Agent {
    agent(json!({"status": {"progress": {"currentStage": stage}}}))
}

/// An Agent that left its cluster at noon, and waits for a boot.
fn awaits_boot(at: &str) -> Agent {
    agent(json!({"status": {"conditions": [{
        "type": "Bound", "status": "False", "reason": "UnbindingPendingUserAction", "lastTransitionTime": at,
    }]}}))
}

fn step(host: &BareMetalHost, infra_env: Option<&InfraEnv>, agent: Option<&Agent>) -> Step {
    let seen = Seen {
        host,
        infra_env,
        agent,
        image: None,
        now: now(),
    };
    decide(&seen, Flow::LiveIso)
}

fn patch(host: &BareMetalHost, agent: Option<&Agent>) -> Option<Value> {
    step(host, Some(&infra_env(60)), agent).edits.patch(host)
}

fn image(reason: &str) -> PreprovisioningImage {
    let status = if reason == "InfraEnvAvailable" {
        "True"
    } else {
        "False"
    };
    serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
        "metadata": {"name": "h", "namespace": "lab"}, "spec": {},
        "status": {"conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-24T12:00:00Z",
        }]},
    }))
    .unwrap()
}

fn converged(host: &BareMetalHost, agent: Option<&Agent>, image: Option<&PreprovisioningImage>) -> Step {
    let ready = infra_env(60);
    let seen = Seen {
        host,
        infra_env: Some(&ready),
        agent,
        image,
        now: now(),
    };
    decide(&seen, Flow::Converged)
}

#[test]
fn a_new_host_is_prepared_in_one_patch_that_fails_when_another_wrote() {
    let bare = host(
        "",
        json!({
            "metadata": {"annotations": null, "labels": {"cluster.open-cluster-management.io/backup": null}},
            "spec": {"automatedCleaningMode": "metadata"},
        }),
    );
    assert_eq!(
        patch(&bare, None),
        Some(json!({
            "metadata": {
                "resourceVersion": "7", "annotations": {"inspect.metal3.io": "disabled"},
                "labels": {"cluster.open-cluster-management.io/backup": "true"},
            },
            "spec": {"automatedCleaningMode": "disabled"},
        }))
    );
    assert_eq!(
        step(&bare, Some(&infra_env(60)), None).wait.unwrap().reason,
        "WaitingForMetal3"
    );
}

#[test]
fn inspection_is_disabled_in_one_place_only_and_not_without_a_boot_mac() {
    for mode in ["disabled", "agent", "fast"] {
        let said = host(
            "available",
            json!({"metadata": {"annotations": null}, "spec": {"inspectionMode": mode}}),
        );
        let patch = patch(&said, None).unwrap();
        assert_eq!(
            patch["metadata"].get("annotations"),
            None,
            "the webhook refuses a contradiction: {patch}"
        );
    }
    let nameless = host(
        "available",
        json!({"metadata": {"annotations": null}, "spec": {"bootMACAddress": null}}),
    );
    let step = step(&nameless, Some(&infra_env(60)), None);
    assert_eq!(step.edits.patch(&nameless), None);
    assert_eq!(step.wait.unwrap().reason, "BootMACAddressMissing");
}

#[test]
fn an_available_host_gets_the_iso_and_power_at_once() {
    for state in ["available", "ready"] {
        let patch = patch(&host(state, json!({})), None).unwrap();
        assert_eq!(
            patch["spec"],
            json!({"image": {"url": URL, "format": "live-iso", "checksum": null, "checksumType": null}, "online": true})
        );
    }
    for state in ["", "registering", "inspecting", "preparing", "deprovisioning"] {
        let host = host(state, json!({}));
        let step = step(&host, Some(&infra_env(60)), None);
        assert_eq!(step.edits.patch(&host), None, "{state}");
        assert_eq!(step.wait.unwrap().reason, "WaitingForMetal3");
    }
    let mut off = booted();
    off["spec"]["online"] = json!(false);
    assert_eq!(
        patch(&host("provisioned", off), None),
        None,
        "a person switched it off"
    );
    let done = host("provisioned", booted());
    assert_eq!(
        step(&done, Some(&infra_env(60)), None),
        Step::default(),
        "nothing is written when it is so"
    );
}

#[test]
fn an_image_cools_down_for_a_minute() {
    let host = host("available", json!({}));
    let step = step(&host, Some(&infra_env(20)), None);
    assert_eq!(step.again, Some(std::time::Duration::from_secs(40)));
    assert_eq!(step.edits.patch(&host), None);
    assert_eq!(step.wait.unwrap().reason, "WaitingForImageToCoolDown");
}

#[test]
fn another_url_goes_by_way_of_no_image_unless_the_host_is_available() {
    let old = |state: &str| {
        host(
            state,
            json!({"spec": {"online": true, "image": {"url": "http://x/old.iso", "format": "live-iso"}}}),
        )
    };
    let first = patch(&old("provisioned"), None).unwrap();
    assert_eq!(first["spec"], json!({"image": null}));
    let direct = patch(&old("available"), None).unwrap();
    assert_eq!(direct["spec"]["image"]["url"], URL);
}

#[test]
fn a_machine_that_is_being_installed_keeps_its_image() {
    let old = host(
        "provisioned",
        json!({"spec": {"online": true, "image": {"url": "http://x/old.iso", "format": "live-iso"}}}),
    );
    for stage in ["Starting installation", "Writing image to disk"] {
        assert_eq!(patch(&old, Some(&at_stage(stage))), None, "{stage}");
    }
    let preparing = agent(json!({"status": {"debugInfo": {"state": "preparing-for-installation"}}}));
    assert_eq!(patch(&old, Some(&preparing)), None);
}

#[test]
fn a_host_is_detached_when_its_disk_is_written_and_before_it_boots_the_iso_again() {
    let host = host("provisioned", booted());
    for stage in ["Failed", "Rebooting", "Joined", "Done"] {
        let patch = patch(&host, Some(&at_stage(stage))).unwrap();
        assert_eq!(
            patch,
            json!({"metadata": {"resourceVersion": "7", "annotations": {DETACHED: "assisted-service-controller"}}}),
            "{stage}"
        );
    }
    assert_eq!(patch(&host, Some(&at_stage("Writing image to disk"))), None);
    // A failed host stays at the stage in which it failed.
    let failed = json!({"status": {"debugInfo": {"state": "error"}, "progress": {"currentStage": "Writing image to disk"}}});
    let detaching = patch(&host, Some(&agent(failed))).unwrap();
    assert_eq!(
        detaching["metadata"]["annotations"][DETACHED],
        "assisted-service-controller"
    );
    // "provisioned" means that the power call was accepted, not that anything is installed.
    assert_eq!(patch(&host, None), None);
}

#[test]
fn an_installed_machine_that_comes_late_gets_no_image() {
    let host = host("available", json!({}));
    let patch = patch(&host, Some(&at_stage("Done"))).unwrap();
    assert_eq!(patch.get("spec"), None, "{patch}");
}

#[test]
fn a_host_that_is_detached_paused_or_another_systems_is_not_touched() {
    for by in [DETACHED, "baremetalhost.metal3.io/paused"] {
        let left = host(
            "provisioned",
            json!({
                "metadata": {"annotations": {by: "a person"}, "labels": {"cluster.open-cluster-management.io/backup": null}},
                "spec": {"image": {"url": "http://x/old.iso", "format": "live-iso"}},
            }),
        );
        for agent in [
            None,
            Some(at_stage("Done")),
            Some(awaits_boot("2026-11-24T11:00:00Z")),
        ] {
            assert_eq!(patch(&left, agent.as_ref()), None, "{by}");
        }
    }
    for external in [
        host("externally provisioned", json!({})),
        host("available", json!({"spec": {"externallyProvisioned": true}})),
    ] {
        assert_eq!(patch(&external, None), None);
    }
}

#[test]
fn a_host_comes_back_attached_and_without_its_iso_in_one_patch() {
    let mut more = booted();
    merge(
        &mut more,
        &json!({"metadata": {"annotations": {
            DETACHED: "assisted-service-controller", "inspect.metal3.io/hardwaredetails": "{}",
            "bmac.agent-install.openshift.io/spoke-bmh-machine-created": "x",
        }}}),
    );
    let detached = host("provisioned", more);
    let patch_of = patch(&detached, Some(&awaits_boot("2026-11-24T11:00:00Z"))).unwrap();
    assert_eq!(
        patch_of,
        json!({
            "metadata": {"resourceVersion": "7", "annotations": {
                DETACHED: null, "inspect.metal3.io/hardwaredetails": null,
                "bmac.agent-install.openshift.io/spoke-bmh-machine-created": null,
            }},
            "spec": {"image": null},
        }),
        "Ironic cannot adopt a host with a live ISO"
    );
    // The host is deprovisioned next, and then booted as a new one, though the Agent still waits for that.
    let waiting = awaits_boot("2026-11-24T11:00:00Z");
    let deprovisioning = host("deprovisioning", json!({}));
    assert_eq!(patch(&deprovisioning, Some(&waiting)), None);
    let available = host("available", json!({}));
    assert_eq!(
        patch(&available, Some(&waiting)).unwrap()["spec"]["image"]["url"],
        URL
    );
    // The boot is not undone while the agent has not reported.
    let end = json!({"status": {"operationHistory": {"provision": {"end": "2026-11-24T11:30:00Z"}}}});
    let mut again = booted();
    merge(&mut again, &end);
    assert_eq!(patch(&host("provisioned", again), Some(&waiting)), None);
}

#[test]
fn a_host_that_was_never_detached_comes_back_once_too() {
    let mut more = booted();
    merge(
        &mut more,
        &json!({"status": {"operationHistory": {"provision": {"end": "2026-11-24T10:00:00Z"}}}}),
    );
    let host = host("provisioned", more);
    let patch = patch(&host, Some(&awaits_boot("2026-11-24T11:00:00Z"))).unwrap();
    assert_eq!(patch["spec"], json!({"image": null}));
}

#[test]
fn hardware_is_told_once_and_not_over_what_metal3_knows() {
    let known = agent(json!({"status": {"inventory": {
        "hostname": "n", "interfaces": [{"macAddress": MAC, "ipV4Addresses": [], "ipV6Addresses": [], "flags": []}],
    }}}));
    let key = "inspect.metal3.io/hardwaredetails";
    let told = patch(&host("provisioned", booted()), Some(&known)).unwrap();
    let details = told["metadata"]["annotations"][key].as_str().unwrap();
    assert!(details.contains("\"hostname\":\"n\""), "{details}");
    let nameless = agent(json!({"status": {"inventory": {"hostname": ""}}}));
    assert_eq!(patch(&host("provisioned", booted()), Some(&nameless)), None);
    for more in [
        json!({"metadata": {"annotations": {key: "{}"}}}),
        json!({"status": {"hardware": {"hostname": "n"}}}),
    ] {
        let mut host_of = booted();
        merge(&mut host_of, &more);
        assert_eq!(patch(&host("provisioned", host_of), Some(&known)), None);
    }
}

#[test]
fn custom_deployment_waits_for_the_image_of_metal3() {
    let host = host("available", json!({"metadata": {"annotations": null}}));
    assert_eq!(
        converged(&host, None, None).wait.unwrap().reason,
        "WaitingForMetal3"
    );
    let cooling = image("WaitingForInfraEnvImageToCoolDown");
    let waits = converged(&host, None, Some(&cooling));
    assert_eq!(waits.wait.clone().unwrap().reason, "WaitingForImage");
    assert_eq!(waits.edits.patch(&host), None);
    let ready = converged(&host, None, Some(&image("InfraEnvAvailable")));
    assert_eq!(
        ready.edits.patch(&host).unwrap(),
        json!({
            "metadata": {"resourceVersion": "7"},
            "spec": {"customDeploy": {"method": "start_assisted_install"}, "online": true},
        }),
        "inspection stays on"
    );
    let installed = converged(&host, Some(&at_stage("Done")), Some(&image("InfraEnvAvailable")));
    assert_eq!(installed.edits.patch(&host), None);
}

#[test]
fn in_the_converged_flow_a_provisioned_host_is_detached_as_its_annotations_say() {
    let deployed = |annotations: Value| {
        host(
            "provisioned",
            json!({
                "metadata": {"annotations": annotations, "finalizers": [FINALIZER]},
                "spec": {"online": true, "customDeploy": {"method": "start_assisted_install"}},
            }),
        )
    };
    let detached = |annotations: Value| {
        let host = deployed(annotations);
        let patch = converged(&host, None, None).edits.patch(&host)?;
        patch["metadata"]["annotations"][DETACHED]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(
        detached(json!({})).as_deref(),
        Some("assisted-service-controller")
    );
    assert_eq!(
        detached(json!({REMOVE: "true"})).as_deref(),
        Some(r#"{"deleteAction":"delay"}"#)
    );
    assert_eq!(
        detached(json!({"bmac.agent-install.openshift.io/allow-provisioned-host-management": ""})),
        None
    );
    // The annotation for the deletion was set when the host was detached already.
    assert_eq!(
        detached(json!({REMOVE: "true", DETACHED: "assisted-service-controller"})).as_deref(),
        Some(r#"{"deleteAction":"delay"}"#)
    );
    let mut provisioning = deployed(json!({}));
    provisioning.status.as_mut().unwrap().provisioning.state = "provisioning".into();
    assert!(
        converged(&provisioning, None, None)
            .edits
            .patch(&provisioning)
            .unwrap()["metadata"]["annotations"]
            .is_null()
    );
}

#[test]
fn in_the_converged_flow_a_host_comes_back_by_taking_its_deployment_away() {
    let host = host(
        "provisioned",
        json!({
            "metadata": {"annotations": {DETACHED: "assisted-service-controller"}},
            "spec": {"online": true, "customDeploy": {"method": "start_assisted_install"}},
        }),
    );
    let step = converged(&host, Some(&awaits_boot("2026-11-24T11:00:00Z")), None);
    let patch = step.edits.patch(&host).unwrap();
    assert_eq!(patch["spec"], json!({"customDeploy": null}));
    assert_eq!(patch["metadata"]["annotations"][DETACHED], Value::Null);
}

#[test]
fn a_host_with_a_live_iso_stays_in_that_flow() {
    let host = host("provisioned", booted());
    assert_eq!(
        converged(&host, None, Some(&image("InfraEnvAvailable")))
            .edits
            .patch(&host),
        None
    );
}

#[test]
fn our_finalizer_is_there_while_the_agent_is_to_go_with_the_host_and_theirs_always() {
    let theirs = "baremetalhost.metal3.io";
    let wanted = host(
        "provisioned",
        json!({"metadata": {"finalizers": [theirs], "annotations": {REMOVE: "true", DETACHED: "x"}}}),
    );
    assert_eq!(
        patch(&wanted, None).unwrap()["metadata"]["finalizers"],
        json!([theirs, FINALIZER])
    );
    let unwanted = host(
        "provisioned",
        json!({"metadata": {"finalizers": [theirs, FINALIZER], "annotations": {DETACHED: "x"}}}),
    );
    assert_eq!(
        patch(&unwanted, None).unwrap()["metadata"]["finalizers"],
        json!([theirs])
    );
}

#[test]
fn a_deleted_host_is_attached_only_where_metal3_can_deprovision_it() {
    let leaving = |value: &str, spec: Value| {
        host(
            "provisioned",
            json!({
                "metadata": {"finalizers": ["baremetalhost.metal3.io", FINALIZER], "annotations": {DETACHED: value}},
                "spec": spec,
            }),
        )
    };
    let patch = |host: &BareMetalHost| deletion::release(host).patch(host).unwrap();
    let deployed = leaving(
        r#"{"deleteAction":"delay"}"#,
        json!({"customDeploy": {"method": "x"}}),
    );
    assert_eq!(
        patch(&deployed)["metadata"],
        json!({
            "resourceVersion": "7", "finalizers": ["baremetalhost.metal3.io"], "annotations": {DETACHED: null},
        })
    );
    // Attached again, a host with a live ISO could never be deleted.
    let live = leaving("assisted-service-controller", booted()["spec"].clone());
    assert_eq!(
        patch(&live)["metadata"],
        json!({"resourceVersion": "7", "finalizers": ["baremetalhost.metal3.io"]})
    );
}
