//! Erasures of loop devices. NVMe, SATA and virtio disks of QEMU are erased by the scenarios.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use muster_agent::erase::progress::Progress;
use muster_agent::erase::{Erased, by_name};
use muster_api::steps::{DiskErasure, ErasureDepth, ErasureMethod};
use tokio_util::sync::CancellationToken;

use crate::install::disk::{self, Disk, MIB};

const BLOCK: usize = 4096;
const ROOT_AT: usize = 4 * MIB;
/// More than is cleared whole.
const ROOT: usize = 2049 * MIB;

fn erase(node: &str, depth: ErasureDepth, overwrite: bool) -> (Erased, DiskErasure) {
    let progress = Progress::new(node.to_owned(), CancellationToken::new());
    let erased = by_name(node, depth, overwrite, &progress).unwrap();
    (erased, progress.shown())
}

#[test]
fn no_byte_of_a_disk_is_left_with_the_depth_full() {
    if !disk::available() {
        return;
    }
    for overwrite in [true, false] {
        let disk = Disk::new(24 * MIB + 512);
        let (erased, shown) = erase(&disk.node(), ErasureDepth::Full, overwrite);
        assert!(disk.bytes().iter().all(|byte| *byte == 0), "{shown:?}");
        assert_eq!((erased.samples, shown.bytes_done), (1024, 24 * MIB as i64 + 512));
        let expected = [ErasureMethod::Overwrite, ErasureMethod::Discard];
        assert!(
            expected[..if overwrite { 1 } else { 2 }].contains(&shown.method.unwrap()),
            "{shown:?}"
        );
    }
}

/// A disk with a root file system that has keys and other files, and the places of the first blocks of two files.
fn node_disk() -> (Disk, [usize; 2]) {
    let tree = tempfile::tempdir().unwrap();
    for path in ["etc/kubernetes/kubelet.conf", "home/core/keep"] {
        let place = tree.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, vec![0xca; 2 * BLOCK]).unwrap();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let size = (ROOT_AT + ROOT + 4 * MIB) as u64;
    file.as_file().set_len(size).unwrap();
    let table = disk::table(&[("root", [8; 16], ROOT_AT, ROOT)]);
    file.as_file().write_all_at(&table, 0).unwrap();
    let made = Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-b", &BLOCK.to_string(), "-d"])
        .arg(tree.path())
        .args(["-E", &format!("offset={ROOT_AT}")])
        .arg(file.path())
        .arg(format!("{}k", ROOT / 1024))
        .status()
        .unwrap();
    assert!(made.success());
    file.as_file().set_len(size).unwrap();
    let places = ["/etc/kubernetes/kubelet.conf", "/home/core/keep"];
    let places = places.map(|path| first_block(file.path(), path));
    (Disk::over(file), places)
}

fn first_block(image: &Path, path: &str) -> usize {
    let output = Command::new("debugfs")
        .args(["-R", &format!("bmap {path} 0")])
        .arg(format!("{}?offset={ROOT_AT}", image.display()))
        .output()
        .unwrap();
    let block: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(block > 0, "{path} has a block");
    ROOT_AT + block * BLOCK
}

fn read(disk: &Disk, at: usize) -> Vec<u8> {
    let device = File::open(disk.node()).unwrap();
    let mut bytes = vec![1; BLOCK];
    device.read_exact_at(&mut bytes, at as u64).unwrap();
    bytes
}

#[test]
fn keys_in_a_root_file_system_go_with_the_depth_metadata_and_other_files_stay() {
    if !disk::available() {
        return;
    }
    let (disk, [key, other]) = node_disk();
    assert_eq!(read(&disk, key), [0xca; BLOCK]);
    let (erased, shown) = erase(&disk.node(), ErasureDepth::Metadata, false);
    assert!(
        !erased.notes.contains("cannot be removed one by one"),
        "the file system was mounted: {}",
        erased.notes
    );
    assert_eq!(shown.method, Some(ErasureMethod::Metadata));
    assert_eq!(read(&disk, key), [0; BLOCK], "the key");
    assert_eq!(
        read(&disk, other),
        [0xca; BLOCK],
        "a file that the page does not name"
    );
    assert_eq!(read(&disk, 0), [0; BLOCK], "the partition table");
    assert_eq!(read(&disk, ROOT_AT), [0; BLOCK], "the file system's superblock");
}
