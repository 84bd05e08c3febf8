//! `kubectl scale nodepool` makes a node of a blank machine and a machine of the node, on the built-in API: real
//! installations, real kubelets. Along the way the service is killed while it installs, a disk that was not chosen
//! stays unchanged, `muster-agent self-check` on a node reports the same as udev, lsblk and dmidecode, and the node's
//! disk and its keys are erased before the host is available again, with evidence in the Agent. By name also: new bootstrap data is rolled out onto a spare machine with another firmware. (Several nodes at once, without
//! machines: `cluster_api::fleet`.)

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use muster_tests::artifacts::agent_program;
use muster_tests::install::{partitions, sectors};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT, Slots};
use muster_tests::walk::{Host, Hub, NodePoolWalk, Story};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The numbers of the parts of a machine that are its disks: the network card is between them.
const SYSTEM_DISK: usize = 0;
const OTHER_DISK: usize = 2;
/// A sector of the emulated disks.
const SECTOR: u64 = 512;
/// Where the keys of a node are (docs/erasing.md, "Metadata").
const KEY_FILES: [&str; 5] = [
    "/etc/kubernetes/lab.key",
    "/etc/ssh/ssh_host_lab_key",
    "/var/lib/kubelet/pki/lab.key",
    "/var/lib/kubelet/lab-kubeconfig",
    "/var/lib/cloud/lab",
];
const KEY: &str = "canary-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
/// The beginning of a partition table (UEFI 2.10, 5.3.2).
const TABLE: &[u8] = b"EFI PART";
/// The serial number of the disk that holds the agent.
const AGENT_DISK: &str = "AGENT";
/// Bytes of that disk: an emulated processor copies all of them.
const AGENT_DISK_SIZE: u64 = 16 << 20;

#[test]
fn kubectl_scale_makes_a_node_of_a_host_and_a_host_of_the_node() {
    let slots = Slots::one();
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::built_in(Hub::settings());
    let story = hub.story();
    let other = folder.path().join("other-disk");
    std::fs::write(&other, other_content()).unwrap();
    let disk = Disk::new(DiskBus::Sata, GIB / 4, "OTHER").content(&other);
    let agent = Disk::new(DiskBus::Virtio, AGENT_DISK_SIZE, AGENT_DISK).content(&agent_program());
    let disks = vec![disk, agent];
    let mut hosts = [Host::switch_on(
        "uefi",
        Firmware::Ovmf,
        &hub.iso(),
        disks,
        slots.with(),
    )];
    let before = digest_of_other(&hosts[0]);
    let mut walk = NodePoolWalk::begin(hub);
    walk.announce("one");
    walk.hub.approve(&mut hosts);
    walk.publish_with("one", [self_check(), keys()]);
    walk.scale(1);
    kill_the_service_while_it_writes(&mut walk, &mut hosts, &story);
    let done = walk.await_done(&mut hosts, 1);
    walk.assert_nodes(&done, "one");
    story.tell("one node");
    assert_self_check(&mut hosts[0]);
    story.tell("self-check knows this machine as udev, lsblk and dmidecode do");
    let system = hosts[0].machine.disk(SYSTEM_DISK);
    partitions::assert_tables(&system);
    hosts[0].machine.await_serial("(keys are written)");
    assert_eq!(
        sectors::texts(&system, KEY).len(),
        KEY_FILES.len(),
        "keys of the node"
    );

    walk.scale(0);
    walk.await_empty(&mut hosts);
    story.tell("it is available again");
    assert!(!has_table_at(&system, 1), "the partition table is still there");
    assert!(
        !has_table_at(&system, last_sector(&system)),
        "its copy is still there"
    );
    assert_eq!(
        sectors::texts(&system, KEY),
        Vec::<String>::new(),
        "keys of the node"
    );
    assert_evidence(&walk.hub);
    assert_eq!(
        digest_of_other(&hosts[0]),
        before,
        "the disk that nobody chose has changed"
    );
}

#[test]
#[ignore = "two installations one after the other: twenty minutes on two cores"]
fn new_bootstrap_data_is_rolled_out_onto_a_spare_machine() {
    let slots = Slots::one();
    let hub = Hub::built_in(Hub::settings());
    let story = hub.story();
    let iso = hub.iso();
    let mut hosts = [("bios", Firmware::SeaBios), ("uefi", Firmware::Ovmf)]
        .map(|(name, firmware)| Host::switch_on(name, firmware, &iso, Vec::new(), slots.with()));
    let walk = NodePoolWalk::begin(hub);
    walk.announce("one");
    walk.hub.approve(&mut hosts);
    walk.publish("one");
    walk.scale(1);
    let done = walk.await_done(&mut hosts, 1);
    walk.assert_nodes(&done, "one");
    story.tell("one node");

    walk.announce("two");
    walk.publish("two");
    walk.await_rolled_out(&mut hosts, "two");
    story.tell("rolled out onto the spare host");

    walk.scale(0);
    walk.await_empty(&mut hosts);
    story.tell("both are available again");
}

/// The unit that runs the check on a node with the agent's disk, and prints the result on the console.
fn self_check() -> Value {
    let disk = format!("/dev/disk/by-id/virtio-{AGENT_DISK}");
    let unit = format!(
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'udevadm settle; test -e {disk} || exit 0; exec > /dev/console 2>&1; \
         cp {disk} /root/muster-agent; chmod +x /root/muster-agent; /root/muster-agent self-check; \
         echo self-check ended with $$?.'\n[Install]\nWantedBy=multi-user.target\n"
    );
    json!({"name": "self-check.service", "enabled": true, "contents": unit})
}

/// The unit that writes what keys are to this test: random, so that neither the unit nor a log has them.
fn keys() -> Value {
    let files = KEY_FILES.join(" ");
    let unit = format!(
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'for file in {files}; do mkdir -p $$(dirname $$file); \
         echo canary-$$(cat /proc/sys/kernel/random/uuid) > $$file; done; sync; echo keys are written > /dev/console'\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    json!({"name": "keys.service", "enabled": true, "contents": unit})
}

/// Each unexplained difference is on the console.
fn assert_self_check(host: &mut Host) {
    let status = host.machine.await_serial(r"self-check ended with (\d+)");
    assert_eq!(status, "0", "{}", host.machine.console().tail());
}

/// A host keeps writing while the service is stopped, and gets no second install step.
fn kill_the_service_while_it_writes(walk: &mut NodePoolWalk, hosts: &mut [Host], story: &Story) {
    walk.hub.await_writing(hosts, MACHINE_LIMIT);
    story.tell("the service is killed");
    walk.hub.service.kill();
    walk.hub.service.start_again();
    story.tell("the service is there again");
}

/// The Agent reports what was erased, by which method, and that samples were read back.
fn assert_evidence(hub: &Hub) {
    let path = Hub::agents_path();
    hub.api
        .await_in("the evidence of the erasure", &path, MACHINE_LIMIT, |agents| {
            let cleaning = &agents[0]["status"]["cleaning"];
            let disk = &cleaning["disks"][0];
            let is_whole = cleaning["state"] == "Erased"
                && disk["state"] == "erased"
                && disk["method"] == "metadata"
                && disk["samples"].as_i64() > Some(0);
            is_whole.then_some(()).ok_or_else(|| cleaning.to_string())
        });
}

fn has_table_at(disk: &Path, sector: u64) -> bool {
    let mut beginning = [0; TABLE.len()];
    let file = File::open(disk).unwrap();
    file.read_exact_at(&mut beginning, sector * SECTOR).unwrap();
    beginning == TABLE
}

fn last_sector(disk: &Path) -> u64 {
    std::fs::metadata(disk).unwrap().len() / SECTOR - 1
}

/// The beginnings of a file system and a partition table, and unique bytes.
fn other_content() -> Vec<u8> {
    let mut content = vec![0; 8 << 20];
    content[0x438] = 0x53;
    content[0x439] = 0xef;
    content[0x200..0x208].copy_from_slice(TABLE);
    for (at, chunk) in content[4096..].chunks_mut(32).enumerate() {
        chunk.copy_from_slice(&Sha256::digest(at.to_le_bytes()));
    }
    content
}

fn digest_of_other(host: &Host) -> String {
    let content = std::fs::read(host.machine.disk(OTHER_DISK)).unwrap();
    hex::encode(Sha256::digest(content))
}
