//! Disks made of files and loop devices, and images to write to them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use muster_agent::gpt::EFI_SYSTEM;
use muster_agent::install::loop_device::LoopDevice;

pub const MIB: usize = 1 << 20;
/// Size of the image, bytes.
pub const IMAGE: usize = 24 * MIB;
const EFI_AT: usize = MIB;
const EFI: usize = 4 * MIB;
/// Offset of the boot partition, bytes.
pub const BOOT_AT: usize = 8 * MIB;
pub const BOOT: usize = 8 * MIB;

/// False, with a message, if this machine has no loop devices for the tests.
pub fn available() -> bool {
    let there = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !there {
        eprintln!("SKIPPED: needs root and loop devices");
    }
    there
}

/// A disk of so many bytes, each of them 0xdd at first.
pub struct Disk {
    device: LoopDevice,
    file: tempfile::NamedTempFile,
}

impl Disk {
    pub fn new(size: usize) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![0xdd; size]).unwrap();
        Self::over(file)
    }

    /// A disk with room for the image of [`image`].
    pub fn roomy() -> Self {
        Self::new(IMAGE + 8 * MIB)
    }

    pub fn over(file: tempfile::NamedTempFile) -> Self {
        let device = LoopDevice::over(file.as_file(), 0, 0).unwrap();
        Self { device, file }
    }

    /// A disk with another content in the place of this one: the same node. None if the kernel gave it another node.
    pub fn exchanged(self) -> Option<Self> {
        let (node, size) = (self.node(), self.file.as_file().metadata().unwrap().len());
        drop(self);
        let other = Self::new(usize::try_from(size).unwrap());
        (other.node() == node).then_some(other)
    }

    pub fn node(&self) -> String {
        self.device.node().display().to_string()
    }

    /// The bytes as another machine would find them.
    pub fn bytes(&self) -> Vec<u8> {
        File::open(self.device.node()).unwrap().sync_all().unwrap();
        std::fs::read(self.file.path()).unwrap()
    }

    pub fn boots(&self) -> bool {
        let mut sector = [0; 512];
        File::open(self.device.node())
            .unwrap()
            .read_exact_at(&mut sector, 0)
            .unwrap();
        sector[510..] == [0x55, 0xaa]
    }

    /// A file of its boot partition.
    pub fn boot_file(&self, path: &str) -> String {
        drop(self.bytes());
        let output = Command::new("debugfs")
            .args(["-R", &format!("cat {path}")])
            .arg(format!("{}?offset={BOOT_AT}", self.file.path().display()))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// An image like CoreOS's: EFI-SYSTEM, boot, root.
pub fn image() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let entries = folder.path().join("tree/loader/entries");
    std::fs::create_dir_all(&entries).unwrap();
    std::fs::write(
        entries.join("os.conf"),
        "title OS\noptions root=LABEL=root quiet\nlinux /vmlinuz\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("tree/ignition.firstboot"), "").unwrap();
    let place = folder.path().join("image");
    // Bytes that are not zero, so that every one of them counts, and that still compress.
    let mut bytes: Vec<u8> = (0..IMAGE).map(|at| (at / 7 % 251) as u8).collect();
    bytes[BOOT_AT..BOOT_AT + BOOT].fill(0);
    bytes[..MIB].copy_from_slice(&head());
    std::fs::write(&place, bytes).unwrap();
    let made = Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-b", "1024", "-L", "boot", "-d"])
        .arg(folder.path().join("tree"))
        .args(["-E", &format!("offset={BOOT_AT}")])
        .arg(&place)
        .arg(format!("{}k", BOOT / 1024))
        .status()
        .unwrap();
    assert!(made.success());
    let mut bytes = std::fs::read(&place).unwrap();
    bytes.truncate(IMAGE);
    bytes
}

fn head() -> Vec<u8> {
    table(&[
        ("EFI-SYSTEM", EFI_SYSTEM, EFI_AT, EFI),
        ("boot", [7; 16], BOOT_AT, BOOT),
        ("root", [8; 16], BOOT_AT + BOOT, 6 * MIB),
    ])
}

/// The first mebibyte of a disk with these partitions: name, kind, offset and bytes.
pub fn table(partitions: &[(&str, [u8; 16], usize, usize)]) -> Vec<u8> {
    let mut head = vec![0; MIB];
    head[..440].fill(0x90);
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    head[512..520].copy_from_slice(b"EFI PART");
    head[512 + 72..512 + 80].copy_from_slice(&2_u64.to_le_bytes());
    head[512 + 80..512 + 84].copy_from_slice(&128_u32.to_le_bytes());
    head[512 + 84..512 + 88].copy_from_slice(&128_u32.to_le_bytes());
    for (i, &(name, kind, start, size)) in partitions.iter().enumerate() {
        let entry = &mut head[1024 + i * 128..1024 + (i + 1) * 128];
        entry[..16].copy_from_slice(&kind);
        entry[16..32].fill(i as u8 + 1);
        entry[32..40].copy_from_slice(&((start / 512) as u64).to_le_bytes());
        entry[40..48].copy_from_slice(&(((start + size) / 512 - 1) as u64).to_le_bytes());
        for (j, unit) in name.encode_utf16().enumerate() {
            entry[56 + 2 * j..58 + 2 * j].copy_from_slice(&unit.to_le_bytes());
        }
    }
    head
}
