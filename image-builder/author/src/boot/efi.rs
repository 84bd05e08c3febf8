//! Makes the EFI system partition, a FAT image with shim, the signed GRUB and MokManager.

use std::io::{Cursor, Write as _};

use anyhow::{Context, Result};
use fatfs::{Date, DateTime, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};

use crate::packages::deb;
use crate::packages::gather::Ingredients;

const SECTOR: u64 = 512;
const CLUSTER: u32 = 2048;
/// Room for the boot sector, both tables, the root directory and the folders.
const OVERHEAD: u64 = 64 * 1024;

/// The serial number of the FAT volume; any fixed number.
const VOLUME_ID: u32 = 0x4d55_5354;

/// Every time in the image is FAT's own epoch: the image must not know when it was made.
#[derive(Debug)]
struct Epoch;

impl TimeProvider for Epoch {
    fn get_current_date(&self) -> Date {
        Date {
            year: 1980,
            month: 1,
            day: 1,
        }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime {
            date: self.get_current_date(),
            time: Time {
                hour: 0,
                min: 0,
                sec: 0,
                millis: 0,
            },
        }
    }
}

static EPOCH: Epoch = Epoch;

/// # Errors
/// When a package lacks its file.
pub fn image(ingredients: &Ingredients) -> Result<Vec<u8>> {
    let mut files = Vec::new();
    for (package, member, name) in ingredients.architecture.efi_programs() {
        files.push((*name, deb::read_file(&ingredients.deb(package)?, member)?));
    }
    format(&files).context("cannot make the EFI system partition")
}

fn format(files: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let content: u64 = files
        .iter()
        .map(|(_, bytes)| (bytes.len() as u64).next_multiple_of(u64::from(CLUSTER)))
        .sum();
    let size = (content + OVERHEAD).next_multiple_of(u64::from(CLUSTER));
    let mut disk = Cursor::new(vec![0_u8; usize::try_from(size)?]);
    let options = FormatVolumeOptions::new()
        .bytes_per_cluster(CLUSTER)
        .total_sectors(u32::try_from(size / SECTOR)?)
        .volume_id(VOLUME_ID)
        .volume_label(*b"MUSTER EFI ");
    fatfs::format_volume(&mut disk, options)?;
    let file_system = FileSystem::new(
        &mut disk,
        FsOptions::new().time_provider(&EPOCH).update_accessed_date(false),
    )?;
    let folder = file_system.root_dir().create_dir("EFI")?.create_dir("BOOT")?;
    for (name, bytes) in files {
        folder.create_file(name)?.write_all(bytes)?;
    }
    drop(folder);
    file_system.unmount()?;
    Ok(disk.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn files_are_read_back_from_the_image() {
        let shim = vec![1; 100_000];
        let image = format(&[("BOOTX64.EFI", shim.clone()), ("grubx64.efi", vec![2; 5])]).unwrap();
        let file_system = FileSystem::new(Cursor::new(image), FsOptions::new()).unwrap();
        let mut read = Vec::new();
        file_system
            .root_dir()
            .open_file("EFI/BOOT/BOOTX64.EFI")
            .unwrap()
            .read_to_end(&mut read)
            .unwrap();
        assert_eq!(read, shim);
        assert!(file_system.root_dir().open_file("efi/boot/GRUBX64.EFI").is_ok());
    }

    #[test]
    fn equal_files_give_equal_images() {
        let files = [("BOOTX64.EFI", vec![3; 70_000])];
        assert_eq!(format(&files).unwrap(), format(&files).unwrap());
    }
}
