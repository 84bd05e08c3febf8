//! Finds the file system labelled `boot` on a written disk, as coreos-installer does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::gpt::{Partition, Table};
use crate::install::image::buffer::Buffer;

/// Label of the file system, and name of the partition on images without labels.
const LABEL: &str = "boot";
/// Bytes at the beginning of a file system that hold its kind and label.
pub const SUPERBLOCKS: usize = 8192;

/// A kind of file system that a boot partition may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    Ext4,
    Xfs,
}

impl FileSystem {
    /// The name for mount(2), which is also its module's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// Options for mount(2): a broken file system stops no kernel, whatever it has as its own setting, and two disks with one image may be
    /// mounted at the same time. Sources: ext4(5), xfs(5).
    pub fn options(self) -> &'static str {
        match self {
            Self::Ext4 => "errors=remount-ro",
            Self::Xfs => "nouuid",
        }
    }
}

/// The boot partition, and its file system.
///
/// # Errors
/// Fails if the disk cannot be read; `NotFound` with the reason if it has no boot partition.
pub fn find(disk: &File, table: &Table) -> io::Result<(Partition, FileSystem)> {
    let mut by_name = None;
    for partition in &table.partitions {
        let mut superblocks = Buffer::new(SUPERBLOCKS);
        if partition.size < SUPERBLOCKS as u64 {
            continue;
        }
        disk.read_exact_at(superblocks.bytes_mut(), partition.start)?;
        let Some((kind, label)) = probe(superblocks.bytes()) else {
            continue;
        };
        if label == LABEL {
            return Ok((partition.clone(), kind));
        }
        if partition.name == LABEL {
            by_name = Some((partition.clone(), kind));
        }
    }
    by_name.ok_or_else(|| {
        let names: Vec<&str> = table.partitions.iter().map(|partition| partition.name.as_str()).collect();
        io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "the image has no file system labelled `{LABEL}` (ext4 or xfs), where the ignition belongs; its partitions are {}",
                names.join(", ")
            ),
        )
    })
}

/// Kind and label of a file system, from its first bytes.
pub fn probe(bytes: &[u8]) -> Option<(FileSystem, String)> {
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
    };
    if bytes.get(1024 + 56..1024 + 58)? == [0x53, 0xef] {
        return Some((FileSystem::Ext4, text(bytes.get(1024 + 120..1024 + 136)?)));
    }
    if bytes.starts_with(b"XFSB") {
        return Some((FileSystem::Xfs, text(bytes.get(108..120)?)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_both_kinds_are_read() {
        let mut ext4 = vec![0; SUPERBLOCKS];
        ext4[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
        ext4[1024 + 120..1024 + 124].copy_from_slice(b"boot");
        assert_eq!(probe(&ext4), Some((FileSystem::Ext4, "boot".to_owned())));
        let mut xfs = vec![0; SUPERBLOCKS];
        xfs[..4].copy_from_slice(b"XFSB");
        xfs[108..112].copy_from_slice(b"boot");
        assert_eq!(probe(&xfs), Some((FileSystem::Xfs, "boot".to_owned())));
        assert_eq!(probe(&vec![0; SUPERBLOCKS]), None);
        assert_eq!(probe(b""), None);
    }
}
