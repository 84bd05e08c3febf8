//! A node that leaves its cluster is erased before it is available again: the tables of the disk that was installed to are gone, the Agent
//! has the evidence, and a disk that was not installed to has the same SHA-256.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use muster_tests::install::partitions;
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, MACHINE_LIMIT, Slots};
use muster_tests::walk::{Host, Hub, NodePoolWalk};
use sha2::{Digest as _, Sha256};

/// The numbers of the parts of the machine that are its disks: the network card is between them.
const SYSTEM_DISK: usize = 0;
const OTHER_DISK: usize = 2;
/// A sector of the emulated disks.
const SECTOR: u64 = 512;
/// The beginning of a partition table (UEFI 2.10, 5.3.2).
const TABLE: &[u8] = b"EFI PART";

#[test]
fn a_node_that_returns_is_erased_and_its_other_disk_is_not() {
    let slots = Slots::one();
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::built_in(Hub::settings());
    let story = hub.story();
    let canary = folder.path().join("canary");
    std::fs::write(&canary, pattern()).unwrap();
    let other = Disk::new(DiskBus::Sata, GIB / 4, "OTHER").content(&canary);
    let mut hosts = [Host::switch_on(
        "erased",
        Firmware::Ovmf,
        &hub.iso(),
        vec![other],
        slots.with(),
    )];
    let before = digest(&hosts[0].machine.disk(OTHER_DISK));
    let walk = NodePoolWalk::begin(hub);
    walk.announce("one");
    walk.hub.approve(&mut hosts);
    walk.publish("one");
    walk.scale(1);
    let done = walk.await_done(&mut hosts, 1);
    walk.assert_nodes(&done, "one");
    let system = hosts[0].machine.disk(SYSTEM_DISK);
    partitions::assert_tables(&system);
    story.tell("one node");

    walk.scale(0);
    walk.await_empty(&mut hosts);
    story.tell("it is available again");
    assert!(!has_table_at(&system, 1), "the partition table is still there");
    assert!(
        !has_table_at(&system, last_sector(&system)),
        "its copy is still there"
    );
    assert_eq!(
        digest(&hosts[0].machine.disk(OTHER_DISK)),
        before,
        "the other disk has changed"
    );
    walk.hub
        .api
        .await_in("the evidence", &Hub::agents_path(), MACHINE_LIMIT, |agents| {
            let cleaning = &agents[0]["status"]["cleaning"];
            let disk = &cleaning["disks"][0];
            let is_whole = cleaning["state"] == "Erased"
                && disk["state"] == "erased"
                && disk["method"] == "metadata"
                && disk["samples"].as_i64() > Some(0);
            is_whole.then_some(()).ok_or_else(|| cleaning.to_string())
        });
}

/// Bytes that are unique at each place, with what looks like a partition table.
fn pattern() -> Vec<u8> {
    let mut content = vec![0; 8 << 20];
    for (at, chunk) in content.chunks_mut(32).enumerate() {
        chunk.copy_from_slice(&Sha256::digest(at.to_le_bytes()));
    }
    content[512..520].copy_from_slice(TABLE);
    content
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

fn digest(disk: &Path) -> String {
    hex::encode(Sha256::digest(std::fs::read(disk).unwrap()))
}
