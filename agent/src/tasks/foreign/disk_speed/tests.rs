//! Files stand for disks; [`target`] is tested on generated machines.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::*;
use crate::testing::Machine;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 160 * MIB;
/// Small enough for a test, and not a multiple of anything.
const SMALL: Load = Load {
    bytes: 300_000,
    block: 2300,
    writers: 2,
};

fn blank_disk() -> NamedTempFile {
    let disk = NamedTempFile::new().unwrap();
    disk.as_file().set_len(SIZE).unwrap();
    disk
}

fn digest(disk: &NamedTempFile) -> Vec<u8> {
    let mut file = std::fs::File::open(disk.path()).unwrap();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return hash.finalize().to_vec(),
            length => hash.update(&buffer[..length]),
        }
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

fn measured(disk: &NamedTempFile) -> Result<Outcome, SpeedError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(disk.path())
        .unwrap();
    measure("/dev/test", &file, SIZE, &SMALL, soon(), &Stop::default())
}

#[test]
fn a_blank_disk_is_measured_and_is_blank_afterwards() {
    let disk = blank_disk();
    let before = digest(&disk);
    let Outcome::Measured { p99, writes } = measured(&disk).unwrap() else {
        panic!("not measured");
    };
    assert!(p99 > Duration::ZERO);
    assert_eq!(writes, 2 * 300_000 / 2300);
    assert_eq!(digest(&disk), before);
}

/// The place and signature of each kind of content.
const CONTENT: [(u64, &[u8], &str); 19] = [
    (510, b"\x55\xaa", "MBR"),
    (512, b"EFI PART", "GPT"),
    (4096, b"EFI PART", "GPT of a 4K disk"),
    (SIZE - 512, b"EFI PART", "GPT, the backup alone"),
    (512, b"LABELONE", "LVM"),
    (0, b"LUKS\xba\xbe", "LUKS"),
    (16384, b"SKUL\xba\xbe", "LUKS2, the second header alone"),
    (1024 + 56, b"\x53\xef", "ext4"),
    (0, b"XFSB", "xfs"),
    (65536 + 64, b"_BHRfS_M", "btrfs"),
    (64 * MIB + 64, b"_BHRfS_M", "btrfs, the second superblock alone"),
    (32769, b"CD001", "ISO 9660"),
    (4086, b"SWAPSPACE2", "swap"),
    (4096, b"\xfc\x4e\x2b\xa9", "md 1.2"),
    (SIZE - 8192, b"\xfc\x4e\x2b\xa9", "md 1.0"),
    (SIZE - 65536, b"\xfc\x4e\x2b\xa9", "md 0.90"),
    (SIZE - 1024, b"Intel Raid ISM Cfg", "firmware RAID"),
    (2 * MIB, b"\x0d\xd0\x01\xc0", "VMFS"),
    (20 * MIB + 3, b"x", "a lonely byte in the region"),
];

#[test]
fn not_a_byte_of_a_disk_with_content_changes() {
    for (at, bytes, what) in CONTENT {
        let disk = blank_disk();
        disk.as_file().write_all_at(bytes, at).unwrap();
        let before = digest(&disk);
        let outcome = measured(&disk).unwrap();
        let Outcome::NotMeasured(reason) = outcome else {
            panic!("{what} was written over: {outcome:?}");
        };
        assert!(reason.contains("content"), "{what}: {reason}");
        assert_eq!(digest(&disk), before, "{what}");
    }
}

#[test]
fn data_that_comes_while_it_is_measured_survives_and_ends_it() {
    let disk = blank_disk();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(disk.path())
        .unwrap();
    let load = Load {
        bytes: 1_500 * 2300,
        block: 2300,
        writers: 1,
    };
    // After the proof, before the writer gets there.
    let at = MIB + load.bytes - 5000;
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| load::run("/dev/test", &file, &load, soon(), &Stop::default()));
        disk.as_file().write_all_at(b"precious", at).unwrap();
        running.join().unwrap().unwrap()
    });
    assert!(matches!(outcome, Outcome::NotMeasured(reason) if reason.contains("meanwhile")));
    let mut found = [0; 8];
    file.read_exact_at(&mut found, at).unwrap();
    assert_eq!(&found, b"precious");
    disk.as_file().write_all_at(&[0; 8], at).unwrap();
    assert_eq!(digest(&disk), digest(&blank_disk()), "all else is zero again");
}

#[test]
fn a_check_that_is_stopped_or_out_of_time_leaves_the_disk_blank() {
    let disk = blank_disk();
    let stop = Stop::default();
    stop.now();
    let cases = [
        (soon(), stop),
        (Instant::now() + Duration::from_millis(2), Stop::default()),
    ];
    for (until, stop) in cases {
        let ended = load::run("/dev/test", disk.as_file(), &Load::STANDARD, until, &stop);
        assert!(matches!(ended, Err(SpeedError::TooFew { .. })), "{ended:?}");
        assert_eq!(digest(&disk), digest(&blank_disk()));
    }
}

#[test]
fn a_slow_disk_is_rated_by_the_writes_that_it_completed() {
    let disk = blank_disk();
    let until = Instant::now() + Duration::from_secs(8);
    let load = Load {
        bytes: 60 * MIB,
        ..Load::STANDARD
    };
    let outcome = load::run("/dev/test", disk.as_file(), &load, until, &Stop::default()).unwrap();
    let Outcome::Measured { writes, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(writes >= 400, "{writes}");
}

#[test]
fn a_disk_that_cannot_be_written_is_an_error() {
    let disk = blank_disk();
    let file = OpenOptions::new().read(true).open(disk.path()).unwrap();
    let ended = measure("/dev/test", &file, SIZE, &SMALL, soon(), &Stop::default());
    assert!(matches!(ended, Err(SpeedError::Unwritable { .. })), "{ended:?}");
}

#[test]
fn a_small_disk_is_not_measured() {
    let disk = blank_disk();
    let ended = measure(
        "/dev/test",
        disk.as_file(),
        100 * MIB,
        &SMALL,
        soon(),
        &Stop::default(),
    );
    assert!(matches!(ended, Ok(Outcome::NotMeasured(reason)) if reason.contains("too few")));
}

#[test]
fn the_percentile_is_the_nearest_rank() {
    let of = |count: u64| load::percentile_99((1..=count).map(Duration::from_millis).collect());
    assert_eq!(of(100), Duration::from_millis(99));
    assert_eq!(of(1000), Duration::from_millis(990));
    assert_eq!(of(1), Duration::from_millis(1));
    assert_eq!(of(0), Duration::ZERO);
}

fn machine() -> Machine {
    Machine::new()
        .file("/dev/sda", "")
        .link("/dev/disk/by-id/wwn-0x1", "../../sda")
        .file("/sys/class/block/sda/dev", "8:0\n")
        .file("/sys/class/block/sda/size", "204800\n")
        .file("/sys/class/block/sda/removable", "0\n")
        .file("/sys/class/block/sda/ro", "0\n")
        .file("/proc/1/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n")
        .file("/proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n")
        .file("/proc/swaps", "Filename Type Size Used Priority\n")
}

fn verdict(machine: &Machine) -> Option<String> {
    let root = machine.root();
    target::in_use(&root, &target::find(&root, "/dev/disk/by-id/wwn-0x1").unwrap())
}

#[test]
fn a_disk_is_found_by_any_of_its_names() {
    let machine = machine();
    let root = machine.root();
    for path in ["/dev/sda", "/dev/disk/by-id/wwn-0x1"] {
        let found = target::find(&root, path).unwrap();
        assert_eq!((found.name.as_str(), found.size), ("sda", 100 * MIB));
    }
    assert_eq!(verdict(&machine), None);
}

#[test]
fn whatever_uses_a_disk_keeps_it_from_being_written() {
    let mount = "30 1 8:0 / /var rw - xfs /dev/sda rw\n";
    for (machine, word) in [
        (
            machine().file("/sys/class/block/sda/removable", "1\n"),
            "removable",
        ),
        (machine().file("/sys/class/block/sda/ro", "1\n"), "read-only"),
        (
            machine().file("/sys/class/block/sda/sda1/partition", "1\n"),
            "partitions",
        ),
        (machine().file("/sys/class/block/sda/holders/dm-0", ""), "dm-0"),
        (machine().file("/sys/class/block/sda/slaves/sdb", ""), "sdb"),
        (machine().file("/proc/1/mountinfo", mount), "mounted at /var"),
        (machine().file("/proc/self/mountinfo", mount), "mounted at /var"),
        (
            machine().file(
                "/proc/swaps",
                "Filename Type Size Used Priority\n/dev/sda partition 1 0 -2\n",
            ),
            "swap",
        ),
    ] {
        let reason = verdict(&machine).expect("it may not be written");
        assert!(reason.contains(word), "{reason}");
    }
}

#[test]
fn what_is_no_disk_is_refused() {
    let machine = machine()
        .file("/dev/sda1", "")
        .file("/dev/null", "")
        .file("/sys/class/block/sda1/dev", "8:1\n")
        .file("/sys/class/block/sda1/partition", "1\n");
    let root = machine.root();
    for (path, word) in [
        ("/dev/sdz", "no disk"),
        ("/dev/sda1", "partition"),
        ("/dev/null", "no block device"),
        ("sda", "under /dev"),
        ("/etc/passwd", "under /dev"),
    ] {
        let error = target::find(&root, path).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
