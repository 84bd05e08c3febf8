//! Metal3's own baremetal-operator, unmodified, with Ironic: a BareMetalHost becomes an Agent by the live ISO that its BMC boots.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc_emulator::{Emulator, Setup};
use muster_tests::artifacts::live_image;
use muster_tests::bmc::BmcMachine;
use muster_tests::kube::Metal3;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB};
use serde_json::{Value, json};

use crate::discovery::MACS;
use crate::kube::Api;
use crate::kube_world::{INFRA_ENV, World};

/// Time limit of a boot by Ironic, which looks at its nodes every now and then, to an Agent.
const BOOT_LIMIT: Duration = Duration::from_secs(420);
/// Time limit of a deprovisioning.
const GONE_LIMIT: Duration = Duration::from_secs(240);

#[test]
#[ignore = "it needs `.ci/kube baremetal-operator` and makes an environment of 110 Python packages"]
fn a_bare_metal_host_becomes_an_agent_by_the_operator_itself_and_goes_with_its_media_ejected() {
    let settings = |settings: muster_tests::service::Settings| {
        settings
            .seen_from_user_networks()
            .boot_seen_from_here()
            .live_image(&live_image())
    };
    let world = World::of(Api::Real.serve_with(settings));
    let kubectl = &world.kubectl;
    let _metal3 = Metal3::start(kubectl);
    world.infra_env(&json!({}));
    // An image is used when it is a minute old.
    let old = json!({"status": {"createdTime": "2026-01-01T00:00:00Z"}}).to_string();
    kubectl.run(&[
        "patch",
        "infraenv",
        INFRA_ENV,
        "--subresource=status",
        "--type",
        "merge",
        "-p",
        &old,
    ]);
    let disk = Disk::new(DiskBus::Virtio, 120 * GIB, "SYSTEM");
    let machine = BmcMachine::on_user_network(("metal3", 8), Firmware::SeaBios, 8192, disk, MACS[0]);
    let machine = Arc::new(machine);
    let emulator = Setup::new(Arc::<BmcMachine>::clone(&machine)).start().unwrap();
    kubectl.apply(&[secret(), bare_metal_host(&emulator)]);

    let host = ["baremetalhost", "node-1"];
    kubectl.await_that("the operator to have booted the ISO", &host, BOOT_LIMIT, |seen| {
        (seen["status"]["provisioning"]["state"] == "provisioned").then_some(())
    });
    let image = emulator.image().unwrap();
    assert!(image.ends_with("/discovery.iso"), "{image}");
    let agent = kubectl.await_that("the Agent", &["agents"], BOOT_LIMIT, |seen| {
        let agent = seen["items"].as_array()?.first()?;
        let is_bound = agent["metadata"]["labels"]["agent-install.openshift.io/bmh"] == "node-1"
            && agent["spec"]["approved"] == true
            && agent["spec"]["hostname"] == "worker-1"
            && agent["status"]["debugInfo"]["state"] == "known-unbound";
        is_bound.then(|| agent.clone())
    });
    let disks = agent["status"]["inventory"]["disks"].as_array().unwrap();
    let chosen = disks
        .iter()
        .find(|disk| disk["id"] == agent["spec"]["installation_disk_id"]);
    assert_eq!(
        chosen.map(|disk| &disk["path"]),
        Some(&json!("/dev/vda")),
        "{agent}"
    );
    kubectl.await_that("its hardware to be told", &host, BOOT_LIMIT, |seen| {
        let hardware = seen["status"]["hardware"]["nics"].as_array()?;
        hardware.iter().any(|nic| nic["mac"] == MACS[0]).then_some(())
    });

    kubectl.run(&["delete", "baremetalhost", "node-1", "--wait=false"]);
    kubectl.await_that("it to be gone", &["baremetalhosts"], GONE_LIMIT, |seen| {
        seen["items"].as_array()?.is_empty().then_some(())
    });
    assert_eq!(emulator.image(), None, "the ISO is still in the drive");
    assert!(!muster_bmc_emulator::Machine::is_on(&*machine), "it is still on");
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "node-1-bmc"},
        "stringData": {"username": "admin", "password": "password"},
    })
}

fn bare_metal_host(emulator: &Emulator) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": "node-1", "labels": {"infraenvs.agent-install.openshift.io": INFRA_ENV},
            "annotations": {"bmac.agent-install.openshift.io/hostname": "worker-1"},
        },
        "spec": {
            "online": true, "bootMACAddress": MACS[0], "bootMode": "legacy", "rootDeviceHints": {"deviceName": "/dev/vda"},
            "bmc": {
                "address": format!("redfish-virtualmedia+{}/redfish/v1/Systems/1", emulator.url()),
                "credentialsName": "node-1-bmc",
            },
        },
    })
}
