//! BareMetalHosts and PreprovisioningImages of Metal3. The baremetal-operator is simulated with kubectl, the host over
//! REST; the BMC is an emulated one.

use std::sync::Arc;

use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{InMemory, Setup};
use muster_tests::condition::await_condition;
use muster_tests::kube::Kubectl;
use serde_json::{Value, json};

use crate::kube::bmcs::bmcs_are_here;
use muster_tests::database::{host_id, known_host, register};
use muster_tests::hosts::clusters::report;
use muster_tests::kube::world::{INFRA_ENV, NAMESPACE, SOON, World, imported_cluster, is};
use muster_tests::kube::{Api, on_each_api};

on_each_api!(
    a_bare_metal_host_becomes_an_agent_and_is_detached_before_its_disk_boots,
    a_preprovisioning_image_is_an_iso_or_kernel_and_initramfs,
);

const CLUSTER: &str = "edge";
const DETACHED: &str = "baremetalhost.metal3.io/detached";

/// Metal3's definitions, as far as they are needed here. A real API server gets them while the service runs, which
/// waits for them.
fn make_metal3(kubectl: &Kubectl) {
    for (plural, definition) in [
        (
            "baremetalhosts",
            include_str!("../../../api-spec/crds/builtin/metal3.io_baremetalhosts.yaml"),
        ),
        (
            "preprovisioningimages",
            include_str!("../../../api-spec/crds/builtin/metal3.io_preprovisioningimages.yaml"),
        ),
    ] {
        let name = format!("{plural}.metal3.io");
        if !kubectl.try_run(&["get", plural]).succeeded {
            kubectl.run_with(&["apply", "-f", "-"], definition);
            kubectl.run(&[
                "wait",
                "--for=condition=Established",
                &format!("crd/{name}"),
                "--timeout=120s",
            ]);
        }
    }
}

/// A service with an InfraEnv whose image counts as an hour old; returns it with the InfraEnv's path in REST, and the
/// image.
fn world(api: Api) -> (World, String, String) {
    let world = World::of(api.serve_with(bmcs_are_here));
    make_metal3(&world.kubectl);
    let path = world.infra_env(&json!({}));
    patch_status(
        &world.kubectl,
        "infraenv",
        INFRA_ENV,
        &json!({"createdTime": "2026-01-01T00:00:00Z"}),
    );
    let infra_env = world.kubectl.get(&["infraenv", INFRA_ENV]);
    let image = infra_env["status"]["isoDownloadURL"].as_str().unwrap().to_owned();
    (world, path, image)
}

fn patch_status(kubectl: &Kubectl, kind: &str, name: &str, status: &Value) {
    let patch = json!({ "status": status }).to_string();
    kubectl.run(&[
        "patch",
        kind,
        name,
        "--subresource=status",
        "--type",
        "merge",
        "-p",
        &patch,
    ]);
}

/// The baremetal-operator reports that the host is in this state.
fn in_state(kubectl: &Kubectl, state: &str) {
    reports(kubectl, state, "OK");
}

fn reports(kubectl: &Kubectl, state: &str, operational: &str) {
    let status = json!({
        "operationalStatus": operational, "errorMessage": "", "errorCount": 0, "poweredOn": true,
        "provisioning": {"ID": "1", "state": state},
    });
    patch_status(kubectl, "baremetalhost", "node-1", &status);
}

/// A BareMetalHost with its BMC at that URL.
fn bare_metal_host(bmc: &str) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": "node-1", "labels": {"infraenvs.agent-install.openshift.io": INFRA_ENV},
            "annotations": {
                "bmac.agent-install.openshift.io/hostname": "worker-1",
                "bmac.agent-install.openshift.io/role": "worker",
                "bmac.agent-install.openshift.io/cluster-reference": format!("{NAMESPACE}/{CLUSTER}"),
            },
        },
        "spec": {
            "online": false, "bootMACAddress": "02:00:00:00:00:01", "rootDeviceHints": {"deviceName": "/dev/sda"},
            "bmc": {
                "address": format!("redfish-virtualmedia+{bmc}/redfish/v1/Systems/1"), "credentialsName": "bmc",
            },
        },
    })
}

fn a_bare_metal_host_becomes_an_agent_and_is_detached_before_its_disk_boots(api: Api) {
    let (world, path, image) = world(api);
    let (kubectl, client, agent) = (&world.kubectl, world.client(), host_id(1));
    kubectl.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bootstrap"},
        "stringData": {"ignition": json!({"ignition": {"version": "3.4.0"}}).to_string()},
    })]);
    kubectl.apply(&imported_cluster(CLUSTER));
    let bmc = Setup::new(Arc::new(InMemory::running(Hardware::example(1))));
    let bmc = bmc.account("operator", "canary-of-metal3").start().unwrap();
    kubectl.apply(&[
        bare_metal_host(&bmc.url()),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc"},
            "stringData": {"username": "operator", "password": "canary-of-metal3"},
        }),
    ]);
    let host = ["baremetalhost", "node-1"];
    kubectl.await_that("it to be prepared", &host, SOON, |seen| {
        let is_inspected = seen["metadata"]["annotations"]["inspect.metal3.io"] != "disabled";
        (!is_inspected && seen["spec"]["automatedCleaningMode"] == "disabled").then_some(())
    });
    in_state(kubectl, "available");
    kubectl.await_that("it to have the ISO", &host, SOON, |seen| {
        let spec = &seen["spec"];
        (spec["image"] == json!({"url": image, "format": "live-iso"}) && spec["online"] == true).then_some(())
    });
    // Metal3 has inserted its copy of the ISO.
    bmc.occupy("Cd", "http://ironic.example/redfish/boot-1.iso");
    in_state(kubectl, "provisioned");

    known_host(&client, &path, 1);
    kubectl.await_that("the Agent to follow", &["agent", &agent], SOON, |seen| {
        let spec = &seen["spec"];
        let is_it = seen["metadata"]["labels"]["agent-install.openshift.io/bmh"] == "node-1"
            && spec["approved"] == true
            && spec["hostname"] == "worker-1"
            && spec["role"] == "worker"
            && spec["clusterDeploymentName"]["name"] == CLUSTER
            && spec["installation_disk_id"] == "/dev/disk/by-id/wwn-sda";
        is_it.then_some(())
    });
    kubectl.await_that("its hardware to be told", &host, SOON, |seen| {
        let details = seen["metadata"]["annotations"]["inspect.metal3.io/hardwaredetails"].as_str()?;
        details.contains("198.51.100.11").then_some(())
    });

    world.patch_agent(
        &agent,
        &json!({"ignitionEndpointTokenReference": {"name": "bootstrap", "namespace": NAMESPACE}}),
    );
    world.await_agent(&agent, "SpecSynced", "True", "SyncOK");
    register(&client, &path, 1);
    report(&client, &format!("{path}/hosts/{agent}"), 1);
    kubectl.await_that("the installation", &["agent", &agent], SOON, |seen| {
        (seen["status"]["debugInfo"]["state"] == "installing").then_some(())
    });
    let progress = |stage: &str| {
        let body = json!({"current_stage": stage, "progress_info": ""});
        client
            .put(&format!("{path}/hosts/{agent}/progress"), &body)
            .expect(200);
    };
    progress("Starting installation");
    progress("Installing");
    progress("Writing image to disk");
    let writing = kubectl.get(&host);
    assert_eq!(writing["metadata"]["annotations"][DETACHED], Value::Null);
    progress("Rebooting");
    kubectl.await_that("it to be detached", &host, SOON, |seen| {
        (seen["metadata"]["annotations"][DETACHED] == "assisted-service-controller").then_some(())
    });

    // Only one program may use a BMC: the drive is emptied after Metal3 has released it.
    assert!(bmc.image().is_some());
    assert_eq!(bmc.requests().len(), 0);
    reports(kubectl, "provisioned", "detached");
    await_condition("the ISO to be taken out", SOON, || {
        bmc.image().map_or(Ok(()), Err)
    });
    kubectl.await_that("that to be noted", &host, SOON, |seen| {
        (seen["metadata"]["annotations"]["muster.dev/media"] == "ejected").then_some(())
    });
    let told = kubectl.run(&["get", "baremetalhosts,events", "-o", "yaml"]);
    assert!(!told.contains("canary-of-metal3") && !world.service.log().contains("canary-of-metal3"));
}

fn a_preprovisioning_image_is_an_iso_or_kernel_and_initramfs(api: Api) {
    let (world, _, image) = world(api);
    let asked = |name: &str, formats: Value| {
        world.kubectl.apply(&[json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage",
            "metadata": {
                "name": name, "labels": {"infraenvs.agent-install.openshift.io": INFRA_ENV},
                "finalizers": ["baremetalhost.metal3.io/preprovisioningImage"],
            },
            "spec": {"acceptFormats": formats, "architecture": "x86_64"},
        })]);
        let object = ["preprovisioningimage", name];
        world
            .kubectl
            .await_that("an image to be offered", &object, SOON, |seen| {
                is(seen, "Ready", "True", "InfraEnvAvailable").then(|| seen["status"].clone())
            })
    };
    let iso = asked("virtual-media", json!(["iso", "initrd"]));
    assert_eq!(iso["imageUrl"], json!(image));
    assert_eq!(iso["format"], "iso");
    let initrd = asked("network", json!(["initrd"]));
    assert_eq!(initrd["format"], "initrd");
    assert!(initrd["imageUrl"].as_str().unwrap().ends_with("/initrd.img"));
    assert!(initrd["kernelUrl"].as_str().unwrap().ends_with("/vmlinuz"));
    assert!(
        !initrd["extraKernelParams"].as_str().unwrap().is_empty(),
        "{initrd}"
    );

    // Settings of the baremetal-operator are not removed by us.
    world.kubectl.run(&[
        "patch",
        "preprovisioningimage",
        "network",
        "--type",
        "merge",
        "-p",
        r#"{"metadata":{"labels":{"infraenvs.agent-install.openshift.io":null}}}"#,
    ]);
    let released = ["preprovisioningimage", "network"];
    world
        .kubectl
        .await_that("our finalizer to go", &released, SOON, |seen| {
            let theirs = json!(["baremetalhost.metal3.io/preprovisioningImage"]);
            (seen["metadata"]["finalizers"] == theirs).then_some(())
        });
}
