//! A NodePool of type InPlace upgrades the two nodes that it has, without a third machine: names and hosts stay the same, and the disk
//! that was not chosen stays unchanged. Along the way the service is killed while a node leaves and while it is written. (Without
//! machines, with budgets and failures: `cluster_api::in_place`, and service/controllers/tests/controllers/nodepool/in_place.rs.)

use std::collections::BTreeSet;

use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT, Slots};
use muster_tests::walk::{Host, Hub, NodePoolWalk};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The number of the part of a machine that is its other disk: after the system's disk and the network card.
const OTHER_DISK: usize = 2;

#[test]
#[ignore = "four installations, two of them one after the other: half an hour on two cores"]
fn two_nodes_are_upgraded_in_place_without_a_third_machine() {
    let slots = Slots::one();
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::built_in(Hub::settings());
    let story = hub.story();
    let iso = hub.iso();
    let other = folder.path().join("other-disk");
    std::fs::write(&other, other_content()).unwrap();
    let mut hosts = [("bios", Firmware::SeaBios), ("uefi", Firmware::Ovmf)].map(|(name, firmware)| {
        let disk = Disk::new(DiskBus::Sata, GIB / 4, "OTHER").content(&other);
        Host::switch_on(name, firmware, &iso, vec![disk], slots.with())
    });
    let mut walk = NodePoolWalk::begin(hub);
    walk.upgrade_in_place(1);
    walk.announce("one");
    walk.hub.approve(&mut hosts);
    walk.publish("one");
    walk.scale(2);
    let names = walk.await_done(&mut hosts, 2);
    walk.assert_nodes(&names, "one");
    let before = (ids(&walk), hosts.each_ref().map(digest_of_other));
    story.tell("two nodes");

    walk.announce("two");
    walk.publish("two");
    walk.hub.service.kill();
    walk.hub.service.start_again();
    walk.hub.await_writing(&mut hosts, 2 * MACHINE_LIMIT);
    story.tell("the first is written again; the service is killed");
    walk.hub.service.kill();
    walk.hub.service.start_again();
    walk.await_upgraded(&mut hosts, &names, "two", |nodes| {
        let ready = nodes.iter().filter(|node| is_ready(node)).count();
        assert!(ready >= 1, "one node takes pods at any time: {nodes:?}");
    });
    story.tell("both are upgraded");
    let after = (ids(&walk), hosts.each_ref().map(digest_of_other));
    assert_eq!(after, before, "hosts, and the disks that nobody chose");

    walk.scale(0);
    walk.await_empty(&mut hosts);
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// The ids of the hosts.
fn ids(walk: &NodePoolWalk) -> BTreeSet<String> {
    let agents = walk.hub.api.list(&Hub::agents_path()).unwrap();
    let name = |agent: &Value| agent["metadata"]["name"].as_str().unwrap().to_owned();
    agents.iter().map(name).collect()
}

/// A file system's beginning, and unique bytes.
fn other_content() -> Vec<u8> {
    let mut content = vec![0; 8 << 20];
    content[0x438] = 0x53;
    content[0x439] = 0xef;
    for (at, chunk) in content[4096..].chunks_mut(32).enumerate() {
        chunk.copy_from_slice(&Sha256::digest(at.to_le_bytes()));
    }
    content
}

fn digest_of_other(host: &Host) -> String {
    let content = std::fs::read(host.machine.disk(OTHER_DISK)).unwrap();
    hex::encode(Sha256::digest(content))
}
