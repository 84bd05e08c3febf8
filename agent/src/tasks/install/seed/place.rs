//! Checks that an image can be started here and has room for a seed, and puts the seed on the disk.

use std::io;
use std::os::unix::fs::FileExt;

use uuid::Uuid;

use super::volume;
use crate::gpt::addition::{self, Wanted};
use crate::gpt::{BASIC_DATA, BIOS_BOOT, EFI_SYSTEM};
use crate::install::image::buffer::Buffer;
use crate::install::image::error::ImageError;
use crate::install::image::head::Head;
use crate::install::image::write::Target;

/// Name of the partition.
pub(super) const NAME: &str = "CIDATA";
const SIZE: u64 = volume::SIZE as u64;

/// Checks the beginning of an image for a disk with these sectors and `disk` bytes, before anything is written.
/// `uefi`: this machine was started by UEFI, else by BIOS.
///
/// # Errors
/// [`ImageError::Unfit`]: what the image lacks.
pub fn check(head: &Head, sector: u32, disk: u64, uefi: bool) -> Result<(), ImageError> {
    let unfit = |reason: String| Err(ImageError::Unfit(reason));
    let partitions = &head.table.partitions;
    let has = |kind: [u8; 16]| partitions.iter().any(|partition| partition.kind == kind);
    if !has(EFI_SYSTEM) && !has(BIOS_BOOT) {
        return unfit("it has neither an EFI System Partition nor a BIOS boot partition".to_owned());
    }
    if uefi && !has(EFI_SYSTEM) {
        return unfit("this machine is started by UEFI, and it has no EFI System Partition".to_owned());
    }
    if !uefi && !has(BIOS_BOOT) {
        return unfit("this machine is started by BIOS, and it has no BIOS boot partition".to_owned());
    }
    if partitions
        .iter()
        .any(|partition| partition.name.eq_ignore_ascii_case(NAME))
    {
        return unfit(format!(
            "it has a partition {NAME} of its own, and cloud-init would take either"
        ));
    }
    addition::check(head.bytes.bytes(), sector, disk, SIZE)
        .map_err(|error| ImageError::Unfit(error.to_string()))
}

/// Writes the partition with the content of `volume` and the backup of the partition table to the end of the disk, waits
/// until the disk has them, and reads them back. `head` becomes that of the disk; writing it is the last act.
///
/// # Errors
/// Fails if the partition cannot be added, the disk cannot be written or read, or gives back other bytes.
pub fn put(target: &Target, head: &mut Head, sector: u32, volume: &[u8]) -> io::Result<()> {
    let wanted = Wanted {
        name: NAME,
        kind: BASIC_DATA,
        id: Uuid::new_v4().to_bytes_le(),
        size: SIZE,
    };
    let added =
        addition::add(head.bytes.bytes_mut(), sector, target.size, &wanted).map_err(io::Error::other)?;
    let pieces = [
        (volume, added.partition.start),
        (added.backup.as_slice(), added.backup_at),
    ];
    for (bytes, at) in pieces {
        let mut piece = Buffer::new(bytes.len());
        piece.bytes_mut().copy_from_slice(bytes);
        target.file.write_all_at(piece.bytes(), at)?;
    }
    target.file.sync_all()?;
    for (bytes, at) in pieces {
        let mut piece = Buffer::new(bytes.len());
        target.file.read_exact_at(piece.bytes_mut(), at)?;
        if piece.bytes() != bytes {
            return Err(io::Error::other(
                "the disk gives back another seed or partition table than was written",
            ));
        }
    }
    head.table.partitions.push(added.partition);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpt;
    use crate::gpt::addition::tests::{by_header, cloud_head};
    use crate::install::image::head::HEAD;
    use crate::install::image::verify;
    use crate::install::seed::volume::tests::{files_of, read, seed};

    const MIB: u64 = 1 << 20;
    const DISK: u64 = 64 * MIB;

    fn head(bytes: &[u8], sector: u32) -> Head {
        let mut buffer = Buffer::new(HEAD);
        buffer.bytes_mut().copy_from_slice(bytes);
        Head::check(buffer, HEAD, None, sector, DISK).unwrap()
    }

    /// The head with the partitions of a kind made into others.
    fn without(sector: u32, kind: [u8; 16]) -> Head {
        let mut head = head(&cloud_head(sector, 20 * MIB), sector);
        for partition in &mut head.table.partitions {
            if partition.kind == kind {
                partition.kind = [9; 16];
            }
        }
        head
    }

    #[test]
    fn a_disk_has_the_image_as_it_is_and_behind_it_the_seed() {
        for sector in [512_u32, 4096] {
            let file = tempfile::tempfile().unwrap();
            let image: Vec<u8> = (0..26 * MIB).map(|at| (at / 7 % 251) as u8).collect();
            file.write_all_at(&image, 0).unwrap();
            file.set_len(DISK).unwrap();
            let mut head = head(&cloud_head(sector, 20 * MIB), sector);
            for uefi in [true, false] {
                check(&head, sector, DISK, uefi).unwrap();
            }
            let target = Target {
                file,
                name: "none".into(),
                size: DISK,
            };
            let made = volume::volume(&seed(), sector).unwrap();
            put(&target, &mut head, sector, &made).unwrap();
            verify::seal(&target, &head.bytes).unwrap();

            let mut disk = vec![0; usize::try_from(DISK).unwrap()];
            target.file.read_exact_at(&mut disk, 0).unwrap();
            let primary = by_header(&disk, sector, 1).unwrap();
            let last = DISK / u64::from(sector) - 1;
            assert_eq!(by_header(&disk, sector, last), Some(primary.clone()));
            assert_eq!(primary, head.table);
            let own = primary.partitions.last().unwrap();
            assert_eq!((own.name.as_str(), own.kind), (NAME, gpt::BASIC_DATA));
            assert_eq!((own.start % MIB, own.size), (0, 4 * MIB));
            assert!(own.start + own.size + 2 * MIB > DISK, "at the end of the disk");
            let start = usize::try_from(own.start).unwrap();
            assert_eq!(
                read(disk[start..start + volume::SIZE].to_vec()),
                (files_of(&seed()), volume::LABEL)
            );
            assert!(disk[HEAD..image.len()] == image[HEAD..], "the image's partitions");
        }
    }

    #[test]
    fn an_image_that_cannot_start_here_or_leaves_no_room_is_refused_with_what_it_lacks() {
        let text = |head: &Head, disk: u64, uefi: bool| check(head, 512, disk, uefi).unwrap_err().to_string();
        let good = head(&cloud_head(512, 20 * MIB), 512);
        assert!(text(&good, 27 * MIB, true).contains("no room for 4194304 more"));
        let mut bare = without(512, EFI_SYSTEM);
        assert!(check(&bare, 512, DISK, false).is_ok());
        assert!(text(&bare, DISK, true).contains("no EFI System Partition"));
        bare.table
            .partitions
            .retain(|partition| partition.kind != BIOS_BOOT);
        assert!(text(&bare, DISK, false).contains("neither an EFI System Partition nor"));
        let uefi_only = without(512, BIOS_BOOT);
        assert!(check(&uefi_only, 512, DISK, true).is_ok());
        assert!(text(&uefi_only, DISK, false).contains("no BIOS boot partition"));
        let mut seeded = head(&cloud_head(512, 20 * MIB), 512);
        seeded.table.partitions[0].name = "cidata".into();
        assert!(text(&seeded, DISK, true).contains("of its own"));
        let mut damaged = head(&cloud_head(512, 20 * MIB), 512);
        damaged.bytes.bytes_mut()[1024 + 40] ^= 1;
        assert!(text(&damaged, DISK, true).contains("checksum of its entries"));
    }
}
