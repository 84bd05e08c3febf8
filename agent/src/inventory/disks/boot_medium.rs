//! Detects a Muster live image on a disk. The live system mounts no medium, so no mount shows a USB stick
//! with the image. Source: ECMA-119, §8.4 and §9.1; docs/live-image.md names the folder.

use crate::root::ProbeError;

const SECTOR: u64 = 2048;
/// Offset of the primary volume descriptor.
const DESCRIPTOR_AT: u64 = 16 * SECTOR;
const SIGNATURE: &[u8] = b"\x01CD001\x01";
/// The root folder's record in the descriptor: its first sector and its length are at 2 and 10 of it.
const ROOT_RECORD: usize = 156;
/// Root folders of live images have a handful of entries.
const MAX_FOLDER_BYTES: u32 = 32 << 10;
/// The folder that every Muster live image has.
const FOLDER: &[u8] = b"MUSTER";

/// `read` returns bytes at an offset of the disk.
pub(super) fn is_live_image(
    read: impl Fn(u64, usize) -> Result<Vec<u8>, ProbeError>,
) -> Result<bool, ProbeError> {
    let descriptor = read(DESCRIPTOR_AT, SECTOR as usize)?;
    if !descriptor.starts_with(SIGNATURE) {
        return Ok(false);
    }
    let number = |at: usize| u32::from_le_bytes(descriptor[at..at + 4].try_into().expect("four bytes"));
    let (first, length) = (number(ROOT_RECORD + 2), number(ROOT_RECORD + 10));
    let folder = read(u64::from(first) * SECTOR, length.min(MAX_FOLDER_BYTES) as usize)?;
    Ok(folder
        .chunks(SECTOR as usize)
        .any(|sector| names(sector).any(|name| name.eq_ignore_ascii_case(FOLDER))))
}

/// Names in one sector of a folder: records do not cross sectors, and a length of zero ends the sector.
fn names(sector: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = sector;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.first()?);
        let (record, tail) = rest.split_at_checked(length).filter(|_| length > 33)?;
        rest = tail;
        let name_length = usize::from(record[32]);
        Some(record.get(33..33 + name_length).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(folders: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 20 * SECTOR as usize];
        let at = DESCRIPTOR_AT as usize;
        bytes[at..at + 7].copy_from_slice(SIGNATURE);
        bytes[at + ROOT_RECORD + 2..at + ROOT_RECORD + 6].copy_from_slice(&19_u32.to_le_bytes());
        bytes[at + ROOT_RECORD + 10..at + ROOT_RECORD + 14].copy_from_slice(&2048_u32.to_le_bytes());
        let mut place = 19 * SECTOR as usize;
        for name in folders {
            let length = (33 + name.len()).next_multiple_of(2);
            bytes[place] = length as u8;
            bytes[place + 32] = name.len() as u8;
            bytes[place + 33..place + 33 + name.len()].copy_from_slice(name.as_bytes());
            place += length;
        }
        bytes
    }

    fn check(bytes: &[u8]) -> Result<bool, ProbeError> {
        is_live_image(|offset, length| {
            let start = offset as usize;
            bytes
                .get(start..start + length)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| ProbeError::value("short"))
        })
    }

    #[test]
    fn an_image_with_our_folder_is_ours_and_others_are_not() {
        assert_eq!(check(&image(&["\0", "\u{1}", "BOOT", "MUSTER"])), Ok(true));
        assert_eq!(check(&image(&["\0", "\u{1}", "BOOT", "MUSTERED"])), Ok(false));
        assert_eq!(check(&image(&[])), Ok(false));
        assert_eq!(check(&vec![0; 1 << 16]), Ok(false));
    }

    #[test]
    fn a_broken_image_is_an_error_or_not_ours_never_a_panic() {
        let mut bytes = image(&["MUSTER"]);
        let at = DESCRIPTOR_AT as usize + ROOT_RECORD + 2;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(check(&bytes).is_err());
        for value in 0..=255 {
            let mut bytes = image(&["MUSTER"]);
            bytes[19 * SECTOR as usize] = value;
            let _ = check(&bytes);
            bytes[19 * SECTOR as usize + 32] = value;
            let _ = check(&bytes);
        }
    }
}
