//! Finds the boot loader on the EFI System Partition, read through a FAT library: nothing is mounted.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use fatfs::{FileSystem, FsOptions};

use crate::gpt::Partition;

/// Folders of vendors, and their names in boot entries. Upstream looks at the first two.
const VENDORS: &[(&str, &str)] = &[
    ("redhat", "Red Hat Enterprise Linux"),
    ("centos", "Red Hat Enterprise Linux"),
    ("fedora", "Fedora CoreOS"),
    ("muster", "Muster node"),
];

/// The program for a boot entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loader {
    /// Name of the boot entry.
    pub label: &'static str,
    /// With backslashes.
    pub path: String,
}

/// The loaders that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Those of vendors, then the fallback.
    All,
    /// The fallback, `\EFI\BOOT`, which every image for any machine has.
    Fallback,
}

/// Names of the loaders of an architecture, by `std::env::consts::ARCH`: the vendor's and the fallback.
fn names(architecture: &str) -> Option<(&'static str, &'static str)> {
    match architecture {
        "x86_64" => Some(("shimx64.efi", "BOOTX64.EFI")),
        "aarch64" => Some(("shimaa64.efi", "BOOTAA64.EFI")),
        _ => None,
    }
}

/// The loader on the partition; none if no known one is there.
///
/// # Errors
/// Fails if it is not a FAT file system, or cannot be read.
pub fn loader(disk: &File, partition: &Partition, among: Among) -> io::Result<Option<Loader>> {
    let Some((shim, fallback)) = names(std::env::consts::ARCH) else {
        return Ok(None);
    };
    let part = Part {
        disk: disk.try_clone()?,
        start: partition.start,
        size: partition.size,
        at: 0,
    };
    let files = FileSystem::new(part, FsOptions::new())?;
    let root = files.root_dir();
    let vendors = match among {
        Among::All => VENDORS,
        Among::Fallback => &[],
    };
    for &(vendor, label) in vendors {
        if root.open_file(&format!("EFI/{vendor}/{shim}")).is_ok() {
            return Ok(Some(Loader {
                label,
                path: format!(r"\EFI\{vendor}\{shim}"),
            }));
        }
    }
    let fallback_is_there = root.open_file(&format!("EFI/BOOT/{fallback}")).is_ok();
    Ok(fallback_is_there.then(|| Loader {
        label: "Installed system",
        path: format!(r"\EFI\BOOT\{fallback}"),
    }))
}

/// A part of a disk, for reading.
struct Part {
    disk: File,
    start: u64,
    size: u64,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let length = to.len().min(left);
        let count = self.disk.read_at(&mut to[..length], self.start + self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Part {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loader_of(paths: &[&str]) -> Option<Loader> {
        loader_among(paths, Among::All)
    }

    fn loader_among(paths: &[&str], among: Among) -> Option<Loader> {
        const START: u64 = 1 << 20;
        const SIZE: u64 = 4 << 20;
        let image = tempfile::NamedTempFile::new().unwrap();
        let mut volume = io::Cursor::new(vec![0; SIZE as usize]);
        fatfs::format_volume(&mut volume, fatfs::FormatVolumeOptions::new()).unwrap();
        {
            let files = FileSystem::new(&mut volume, FsOptions::new()).unwrap();
            for path in paths {
                let mut folder = files.root_dir();
                let (folders, name) = path.rsplit_once('/').unwrap();
                for part in folders.split('/') {
                    folder = folder.create_dir(part).unwrap();
                }
                folder.create_file(name).unwrap().write_all(b"MZ").unwrap();
            }
        }
        image.as_file().write_all_at(volume.get_ref(), START).unwrap();
        let partition = Partition {
            number: 2,
            name: "EFI-SYSTEM".into(),
            kind: [0; 16],
            id: [0; 16],
            first_sector: START / 512,
            sectors: SIZE / 512,
            start: START,
            size: SIZE,
        };
        loader(image.as_file(), &partition, among).unwrap()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_vendors_loader_is_preferred_to_the_fallback() {
        let both = loader_of(&["EFI/BOOT/BOOTX64.EFI", "EFI/fedora/SHIMX64.EFI"]).unwrap();
        assert_eq!(
            (both.label, both.path.as_str()),
            ("Fedora CoreOS", r"\EFI\fedora\shimx64.efi")
        );
        assert_eq!(
            loader_of(&["EFI/BOOT/BOOTX64.EFI"]).unwrap().path,
            r"\EFI\BOOT\BOOTX64.EFI"
        );
        assert_eq!(loader_of(&["EFI/debian/GRUBX64.EFI"]), None);
        let images_own = loader_among(
            &["EFI/BOOT/BOOTX64.EFI", "EFI/fedora/SHIMX64.EFI"],
            Among::Fallback,
        );
        assert_eq!(images_own.unwrap().path, r"\EFI\BOOT\BOOTX64.EFI");
    }
}
