//! Parses GUID partition tables, of disks and of images, and adds partitions. Source: UEFI specification, §5.3.

pub mod addition;

use crate::root::ProbeError;

const SIGNATURE: &[u8] = b"EFI PART";
const HEADER: usize = 92;
/// Linux's limit.
const MOST_ENTRIES: u32 = 1024;
const SMALLEST_ENTRY: u32 = 128;
const LARGEST_ENTRY: u32 = 4096;
/// Sizes of logical sectors.
const SECTORS: [u32; 2] = [512, 4096];

/// C12A7328-F81F-11D2-BA4B-00A0C93EC93B, as stored.
pub const EFI_SYSTEM: [u8; 16] = [
    0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b,
];

/// 21686148-6449-6E6F-744E-656564454649, as stored: room for GRUB on machines that are started by BIOS.
pub const BIOS_BOOT: [u8; 16] = *b"Hah!IdontNeedEFI";

/// EBD0A0A2-B9E5-4433-87C0-68B6B72699C7, as stored: a file system of any kind.
pub const BASIC_DATA: [u8; 16] = [
    0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7,
];

/// A partition table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Bytes of the logical sectors that it is made for.
    pub sector: u32,
    pub partitions: Vec<Partition>,
}

impl Table {
    /// Bytes from the beginning of the disk to the end of its last partition.
    pub fn end(&self) -> u64 {
        let ends = self
            .partitions
            .iter()
            .map(|partition| partition.start.saturating_add(partition.size));
        ends.max().unwrap_or(0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    pub number: u32,
    pub name: String,
    pub kind: [u8; 16],
    pub id: [u8; 16],
    pub first_sector: u64,
    pub sectors: u64,
    /// Bytes from the beginning of the disk.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// The table at the beginning of a disk, whatever its sectors; none if it has none, or a broken one.
pub fn at_beginning(head: &[u8]) -> Option<Table> {
    let read = |at: u64, length: usize| {
        let start = usize::try_from(at).ok();
        let bytes = start.and_then(|start| head.get(start..start.checked_add(length)?));
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| ProbeError::value("the table is not at the beginning"))
    };
    SECTORS
        .into_iter()
        .find_map(|sector| table(sector, read).ok().flatten())
}

/// The table of a disk with sectors of so many bytes; none if it has none. `read` returns bytes at an offset.
///
/// # Errors
/// Fails if the table is broken or cannot be read.
pub fn table(
    sector: u32,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, ProbeError>,
) -> Result<Option<Table>, ProbeError> {
    let header = read(u64::from(sector), HEADER)?;
    if !header.starts_with(SIGNATURE) {
        return Ok(None);
    }
    let (count, size) = (word(&header, 80).min(MOST_ENTRIES), word(&header, 84));
    if !(SMALLEST_ENTRY..=LARGEST_ENTRY).contains(&size) {
        return Err(ProbeError::value(format!("partition entries of {size} bytes")));
    }
    let start = long(&header, 72)
        .checked_mul(u64::from(sector))
        .ok_or_else(|| ProbeError::value("partition entries beyond any disk"))?;
    let entries = read(start, (count * size) as usize)?;
    let partitions = entries
        .chunks_exact(size as usize)
        .zip(1..)
        .filter_map(|(entry, number)| partition(entry, number, u64::from(sector)))
        .collect();
    Ok(Some(Table { sector, partitions }))
}

fn partition(entry: &[u8], number: u32, sector: u64) -> Option<Partition> {
    let kind: [u8; 16] = entry[..16].try_into().ok()?;
    let (first, last) = (long(entry, 32), long(entry, 40));
    if kind == [0; 16] || last < first {
        return None;
    }
    let sectors = last - first + 1;
    Some(Partition {
        number,
        name: name(&entry[56..128]),
        kind,
        id: entry[16..32].try_into().ok()?,
        first_sector: first,
        sectors,
        start: first.checked_mul(sector)?,
        size: sectors.checked_mul(sector)?,
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn name(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The first mebibyte of a disk with these partitions: name, kind, first and last sector.
    pub(crate) fn head(sector: usize, partitions: &[(&str, [u8; 16], u64, u64)]) -> Vec<u8> {
        let mut head = vec![0; 1 << 20];
        head[510..512].copy_from_slice(&[0x55, 0xaa]);
        head[sector..sector + 8].copy_from_slice(SIGNATURE);
        head[sector + 72..sector + 80].copy_from_slice(&2_u64.to_le_bytes());
        head[sector + 80..sector + 84].copy_from_slice(&128_u32.to_le_bytes());
        head[sector + 84..sector + 88].copy_from_slice(&128_u32.to_le_bytes());
        for (i, (name, kind, first, last)) in partitions.iter().enumerate() {
            let at = 2 * sector + i * 128;
            head[at..at + 16].copy_from_slice(kind);
            head[at + 16..at + 32].copy_from_slice(&[i as u8 + 1; 16]);
            head[at + 32..at + 40].copy_from_slice(&first.to_le_bytes());
            head[at + 40..at + 48].copy_from_slice(&last.to_le_bytes());
            for (j, unit) in name.encode_utf16().enumerate() {
                head[at + 56 + 2 * j..at + 58 + 2 * j].copy_from_slice(&unit.to_le_bytes());
            }
        }
        head
    }

    #[test]
    fn partitions_have_their_places_in_bytes() {
        for sector in [512, 4096] {
            let found = at_beginning(&head(
                sector,
                &[
                    ("EFI-SYSTEM", EFI_SYSTEM, 2048, 4095),
                    ("boot", [7; 16], 4096, 8191),
                ],
            ))
            .unwrap();
            assert_eq!(found.sector as usize, sector);
            let boot = &found.partitions[1];
            assert_eq!((boot.number, boot.name.as_str()), (2, "boot"));
            assert_eq!(
                (boot.start, boot.size),
                (4096 * sector as u64, 4096 * sector as u64)
            );
            assert_eq!(found.partitions[0].kind, EFI_SYSTEM);
        }
    }

    #[test]
    fn a_broken_table_is_told_from_none() {
        let of = |bytes: &[u8]| {
            table(512, |at, length| {
                let start = usize::try_from(at).unwrap();
                let bytes = start.checked_add(length).and_then(|end| bytes.get(start..end));
                bytes
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| ProbeError::value("short"))
            })
        };
        assert_eq!(of(&[0; 4096]), Ok(None));
        for (at, value) in [(84, u64::from(u32::MAX)), (72, u64::MAX)] {
            let mut head = head(512, &[("x", [7; 16], 4096, 8191)]);
            head[512 + at..512 + at + 8].copy_from_slice(&value.to_le_bytes());
            assert!(of(&head).is_err(), "{at}");
        }
    }

    #[test]
    fn broken_tables_are_none_and_never_a_panic() {
        assert_eq!(at_beginning(&vec![0; 1 << 20]), None);
        assert_eq!(at_beginning(b"short"), None);
        for at in 0..92 {
            for value in [0, 1, 0x7f, 0xff] {
                let mut head = head(512, &[("boot", [7; 16], 4096, 8191)]);
                head[512 + at] = value;
                let _ = at_beginning(&head);
            }
        }
        let mut head = head(512, &[("boot", [7; 16], u64::MAX - 5, u64::MAX - 1)]);
        assert_eq!(at_beginning(&head).unwrap().partitions, []);
        head[512 + 72..512 + 80].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(at_beginning(&head), None);
    }
}
