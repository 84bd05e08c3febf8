//! Adds a partition at the end of a disk to the table of an image, which is made for a smaller disk: the backup of the
//! table moves to the end of the disk. Source: UEFI specification, §5.2.3 and §5.3.

use std::ops::Range;

use flate2::Crc;

use super::{
    HEADER, LARGEST_ENTRY, MOST_ENTRIES, Partition, SIGNATURE, SMALLEST_ENTRY, long, partition, word,
};

/// Partitions begin at multiples of this.
const MIB: u64 = 1 << 20;
/// Offsets in a header.
const HEADER_SIZE: usize = 12;
const HEADER_CRC: usize = 16;
const OWN_SECTOR: usize = 24;
const OTHER_SECTOR: usize = 32;
const FIRST_USABLE: usize = 40;
const LAST_USABLE: usize = 48;
const ENTRIES_SECTOR: usize = 72;
const ENTRY_COUNT: usize = 80;
const ENTRY_SIZE: usize = 84;
const ENTRIES_CRC: usize = 88;
/// Entries of the protective MBR: offset, length, count.
const MBR: (usize, usize, usize) = (446, 16, 4);
/// The kind of a partition that stands for a GUID partition table.
const PROTECTIVE: u8 = 0xee;

/// The partition to add.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// ASCII, 36 bytes at most.
    pub name: &'static str,
    pub kind: [u8; 16],
    pub id: [u8; 16],
    /// Bytes; a multiple of the sector.
    pub size: u64,
}

/// An added partition, and the bytes that belong to the end of the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    pub partition: Partition,
    /// The backup of the table: its entries, then its header.
    pub backup: Vec<u8>,
    /// Bytes from the beginning of the disk.
    pub backup_at: u64,
}

/// A table to which a partition cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdditionError {
    #[error("its partition table is damaged: {0}")]
    Damaged(&'static str),
    #[error("all {0} entries of its partition table are used")]
    Full(u32),
    #[error(
        "the disk of {disk} bytes has no room for {size} more at its end: the partitions of the image end at byte {end}, and the \
         backup of the table follows"
    )]
    NoRoom { disk: u64, size: u64, end: u64 },
}

/// A table as it is stored at the beginning of a disk.
struct Stored {
    /// Bytes.
    sector: u64,
    /// Bytes of the header.
    header: usize,
    /// The place of the entries in the beginning.
    entries: Range<usize>,
    count: u32,
    /// Bytes of an entry.
    entry: usize,
    /// Number of the first sector that a partition may have.
    first_usable: u64,
}

/// The place of an addition.
struct Place {
    /// Number of the partition, from 1.
    number: u32,
    first_sector: u64,
    /// Numbers of sectors of the disk: the last one, and the last one for partitions.
    last: u64,
    last_usable: u64,
}

/// Checks that a partition of `size` bytes can be added to the table in `head`, the beginning of an image, on a disk of
/// `disk` bytes with these sectors.
///
/// # Errors
/// [`AdditionError`]
pub fn check(head: &[u8], sector: u32, disk: u64, size: u64) -> Result<(), AdditionError> {
    let stored = Stored::read(head, sector)?;
    stored.place(head, disk, size).map(drop)
}

/// Adds a partition to the table in `head`, at the end of the disk and with the first free number.
///
/// # Errors
/// [`AdditionError`]; then `head` is unchanged.
pub fn add(head: &mut [u8], sector: u32, disk: u64, wanted: &Wanted) -> Result<Addition, AdditionError> {
    let stored = Stored::read(head, sector)?;
    let place = stored.place(head, disk, wanted.size)?;
    let sectors = wanted.size / stored.sector;
    let at = stored.entries.start + (place.number as usize - 1) * stored.entry;
    let entry = &mut head[at..at + stored.entry];
    entry.fill(0);
    put(entry, 0, &wanted.kind);
    put(entry, 16, &wanted.id);
    put(entry, 32, &place.first_sector.to_le_bytes());
    put(entry, 40, &(place.first_sector + sectors - 1).to_le_bytes());
    for (unit, at) in wanted.name.encode_utf16().take(36).zip((56..).step_by(2)) {
        put(entry, at, &unit.to_le_bytes());
    }
    let added = partition(entry, place.number, stored.sector);
    let added = added.ok_or(AdditionError::Damaged("an entry cannot be made"))?;
    protect(head, place.last);
    Ok(Addition {
        partition: added,
        backup: stored.seal(head, &place),
        backup_at: (place.last - stored.entry_sectors()) * stored.sector,
    })
}

impl Stored {
    fn read(head: &[u8], sector: u32) -> Result<Self, AdditionError> {
        let damaged = |what| Err(AdditionError::Damaged(what));
        let at = sector as usize;
        let Some(fixed) = head.get(at..at + HEADER) else {
            return damaged("it is not there");
        };
        if !fixed.starts_with(SIGNATURE) {
            return damaged("it has no signature");
        }
        let header = word(fixed, HEADER_SIZE) as usize;
        let Some(whole) = head.get(at..at.saturating_add(header)) else {
            return damaged("its header has a wrong size");
        };
        if !(HEADER..=at).contains(&header) {
            return damaged("its header has a wrong size");
        }
        if header_crc(whole) != word(fixed, HEADER_CRC) {
            return damaged("the checksum of its header is wrong");
        }
        let (count, entry) = (word(fixed, ENTRY_COUNT), word(fixed, ENTRY_SIZE));
        if !(1..=MOST_ENTRIES).contains(&count) || !(SMALLEST_ENTRY..=LARGEST_ENTRY).contains(&entry) {
            return damaged("number or size of its entries is wrong");
        }
        let length = (count * entry) as usize;
        let start = long(fixed, ENTRIES_SECTOR).checked_mul(u64::from(sector));
        let start = start.and_then(|start| usize::try_from(start).ok());
        let entries = start.and_then(|start| Some(start..start.checked_add(length)?));
        let Some((entries, bytes)) = entries.and_then(|entries| Some((entries.clone(), head.get(entries)?)))
        else {
            return damaged("its entries are not at the beginning");
        };
        if crc(bytes) != word(fixed, ENTRIES_CRC) {
            return damaged("the checksum of its entries is wrong");
        }
        Ok(Self {
            sector: u64::from(sector),
            header,
            entries,
            count,
            entry: entry as usize,
            first_usable: long(fixed, FIRST_USABLE),
        })
    }

    /// Sectors of the entries.
    fn entry_sectors(&self) -> u64 {
        (self.entries.len() as u64).div_ceil(self.sector)
    }

    fn place(&self, head: &[u8], disk: u64, size: u64) -> Result<Place, AdditionError> {
        let entries = head[self.entries.clone()].chunks_exact(self.entry);
        let free = entries.clone().zip(1..).find(|(entry, _)| entry[..16] == [0; 16]);
        let Some((_, number)) = free else {
            return Err(AdditionError::Full(self.count));
        };
        let used = entries.filter_map(|entry| partition(entry, 0, self.sector));
        let ends = used.map(|used| used.start.saturating_add(used.size));
        let end = ends.max().unwrap_or(0);
        let no_room = AdditionError::NoRoom { disk, size, end };
        // Sectors at the end: the entries and the header.
        let last = (disk / self.sector).checked_sub(1);
        let usable = last.and_then(|last| Some((last, last.checked_sub(self.entry_sectors() + 1)?)));
        let Some((last, last_usable)) = usable else {
            return Err(no_room);
        };
        let start = ((last_usable + 1) * self.sector).checked_sub(size);
        let start = start.map_or(0, |start| start / MIB * MIB);
        let least = end
            .max(head.len() as u64)
            .max(self.first_usable.saturating_mul(self.sector));
        if start < least {
            return Err(no_room);
        }
        Ok(Place {
            number,
            first_sector: start / self.sector,
            last,
            last_usable,
        })
    }

    /// Makes the header fit to the entries and the disk; returns the backup.
    fn seal(&self, head: &mut [u8], place: &Place) -> Vec<u8> {
        let entries = head[self.entries.clone()].to_vec();
        let at = usize::try_from(self.sector).unwrap_or_default();
        let header = &mut head[at..at + self.header];
        put(header, OTHER_SECTOR, &place.last.to_le_bytes());
        put(header, LAST_USABLE, &place.last_usable.to_le_bytes());
        put(header, ENTRIES_CRC, &crc(&entries).to_le_bytes());
        let sum = header_crc(header);
        put(header, HEADER_CRC, &sum.to_le_bytes());
        let mut other = header.to_vec();
        put(&mut other, OTHER_SECTOR, &long(header, OWN_SECTOR).to_le_bytes());
        put(&mut other, OWN_SECTOR, &place.last.to_le_bytes());
        put(
            &mut other,
            ENTRIES_SECTOR,
            &(place.last - self.entry_sectors()).to_le_bytes(),
        );
        let sum = header_crc(&other);
        put(&mut other, HEADER_CRC, &sum.to_le_bytes());
        let mut backup = entries;
        backup.resize(backup.len().next_multiple_of(at), 0);
        let header_at = backup.len();
        backup.extend(other);
        backup.resize(header_at + at, 0);
        backup
    }
}

/// Makes the protective entry of the MBR cover the disk, if it is there and stands for the whole disk.
fn protect(head: &mut [u8], last: u64) {
    let (start, length, count) = MBR;
    for number in 0..count {
        let entry = &mut head[start + number * length..start + (number + 1) * length];
        if entry[4] == PROTECTIVE && word(entry, 8) == 1 {
            put(entry, 12, &u32::try_from(last).unwrap_or(u32::MAX).to_le_bytes());
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The checksum of a header, which counts its own place as zeros.
fn header_crc(header: &[u8]) -> u32 {
    let mut header = header.to_vec();
    put(&mut header, HEADER_CRC, &[0; 4]);
    crc(&header)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::gpt::tests::head as unsealed;
    use crate::gpt::{BASIC_DATA, BIOS_BOOT, EFI_SYSTEM, Table, at_beginning, table};
    use crate::root::ProbeError;

    const SIZE: u64 = 4 << 20;
    const WANTED: Wanted = Wanted {
        name: "CIDATA",
        kind: BASIC_DATA,
        id: [0xc1; 16],
        size: SIZE,
    };

    /// The first mebibyte of an image with checksums, laid out as a cloud image: a root of `root` bytes that ends the
    /// image, and before it the room for GRUB and the EFI System Partition, which have numbers behind it.
    pub(crate) fn cloud_head(sector: u32, root: u64) -> Vec<u8> {
        let per_mib = MIB / u64::from(sector);
        let last = 6 * per_mib + root / u64::from(sector) - 1;
        let mut head = unsealed(
            sector as usize,
            &[
                ("root", [7; 16], 6 * per_mib, last),
                ("bios", BIOS_BOOT, per_mib, 2 * per_mib - 1),
                ("efi", EFI_SYSTEM, 2 * per_mib, 6 * per_mib - 1),
            ],
        );
        put(&mut head, 446 + 4, &[PROTECTIVE]);
        put(&mut head, 446 + 8, &1_u32.to_le_bytes());
        sealed(&mut head, sector, last);
        head
    }

    /// Completes the header of a table of 128 entries whose last partition ends with the sector `last`.
    fn sealed(head: &mut [u8], sector: u32, last: u64) {
        let at = sector as usize;
        let entries = crc(&head[2 * at..2 * at + 128 * 128]);
        let header = &mut head[at..at + HEADER];
        put(header, 8, &0x1_0000_u32.to_le_bytes());
        put(header, HEADER_SIZE, &92_u32.to_le_bytes());
        put(header, OWN_SECTOR, &1_u64.to_le_bytes());
        put(header, OTHER_SECTOR, &(last + 33).to_le_bytes());
        put(header, FIRST_USABLE, &34_u64.to_le_bytes());
        put(header, LAST_USABLE, &last.to_le_bytes());
        put(header, ENTRIES_CRC, &entries.to_le_bytes());
        let sum = header_crc(header);
        put(header, HEADER_CRC, &sum.to_le_bytes());
    }

    /// The table that a header of a disk describes, if all checksums are right.
    pub(crate) fn by_header(disk: &[u8], sector: u32, number: u64) -> Option<Table> {
        let at = usize::try_from(number * u64::from(sector)).unwrap();
        let header = disk.get(at..at + HEADER)?;
        let entries_at = usize::try_from(long(header, ENTRIES_SECTOR) * u64::from(sector)).unwrap();
        let entries = disk.get(entries_at..entries_at + 128 * 128)?;
        let is_right = header.starts_with(SIGNATURE)
            && header_crc(header) == word(header, HEADER_CRC)
            && crc(entries) == word(header, ENTRIES_CRC)
            && long(header, OWN_SECTOR) == number;
        // Only the first header is at the place where it is parsed.
        let read = |at: u64, length: usize| {
            let at = if at == u64::from(sector) {
                number * u64::from(sector)
            } else {
                at
            };
            let at = usize::try_from(at).unwrap();
            disk.get(at..at + length)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| ProbeError::value("short"))
        };
        is_right.then(|| table(sector, read).unwrap().unwrap())
    }

    #[test]
    fn the_partition_is_the_last_of_the_disk_and_both_tables_have_it() {
        for sector in [512_u32, 4096] {
            // A disk that does not end at a mebibyte.
            let size = 64 * MIB + 3 * u64::from(sector);
            let mut disk = vec![0x5a; usize::try_from(size).unwrap()];
            let head = cloud_head(sector, 20 * MIB);
            let before = at_beginning(&head).unwrap();
            disk[..head.len()].copy_from_slice(&head);
            assert_eq!(check(&head, sector, size, SIZE), Ok(()));
            let added = add(&mut disk[..MIB as usize], sector, size, &WANTED).unwrap();
            let backup_at = usize::try_from(added.backup_at).unwrap();
            assert_eq!(
                backup_at + added.backup.len(),
                disk.len(),
                "it ends with the disk"
            );
            disk[backup_at..].copy_from_slice(&added.backup);

            let last = size / u64::from(sector) - 1;
            let primary = by_header(&disk, sector, 1).unwrap();
            assert_eq!(by_header(&disk, sector, last), Some(primary.clone()));
            assert_eq!(primary.partitions[..3], before.partitions);
            let seed = &primary.partitions[3];
            assert_eq!(*seed, added.partition);
            assert_eq!((seed.number, seed.name.as_str()), (4, "CIDATA"));
            assert_eq!((seed.kind, seed.id), (BASIC_DATA, [0xc1; 16]));
            assert_eq!((seed.start, seed.size), (59 * MIB, SIZE));
            let header = &disk[sector as usize..];
            assert_eq!(long(header, OTHER_SECTOR), last);
            let entry_sectors = 128 * 128 / u64::from(sector);
            assert_eq!(long(header, LAST_USABLE), last - entry_sectors - 1);
            assert_eq!(u64::from(word(&disk, 446 + 12)), last);
            // The boot code, and the rest of the first mebibyte, are the image's.
            assert_eq!(disk[..446], head[..446]);
            let behind = 2 * sector as usize + 128 * 128;
            assert_eq!(disk[behind..head.len()], head[behind..]);
        }
    }

    #[test]
    fn the_first_free_entry_is_taken() {
        let mut head = cloud_head(512, 20 * MIB);
        head[1024 + 128..1024 + 256].fill(0);
        sealed(&mut head, 512, 26 * 2048 - 1);
        let added = add(&mut head, 512, 64 * MIB, &WANTED).unwrap();
        assert_eq!(added.partition.number, 2);
        assert_eq!(at_beginning(&head).unwrap().partitions[1], added.partition);
    }

    #[test]
    fn a_disk_must_have_room_behind_the_partitions() {
        // 6 MiB before the root, the root, 4 MiB for the partition, and the backup, which takes part of another mebibyte.
        let head = cloud_head(512, 20 * MIB);
        for (disk, fits) in [
            (26 * MIB, false),
            (30 * MIB + 32 * 512, false),
            (30 * MIB + 33 * 512, true),
            (31 * MIB, true),
            (MIB, false),
            (0, false),
        ] {
            let checked = check(&head, 512, disk, SIZE);
            assert_eq!(checked.is_ok(), fits, "{disk}: {checked:?}");
        }
        let why = check(&head, 512, 27 * MIB, SIZE).unwrap_err().to_string();
        assert!(why.contains("end at byte 27262976"), "{why}");
    }

    #[test]
    fn a_table_that_is_full_or_damaged_is_refused_and_stays() {
        let mut full = cloud_head(512, 20 * MIB);
        for at in (1024..1024 + 128 * 128).step_by(128) {
            full[at..at + 16].fill(7);
        }
        sealed(&mut full, 512, 26 * 2048 - 1);
        assert_eq!(check(&full, 512, 64 * MIB, SIZE), Err(AdditionError::Full(128)));
        let good = cloud_head(512, 20 * MIB);
        for at in [
            512,
            512 + 24,
            512 + 72,
            512 + 80,
            512 + 88,
            1024 + 40,
            1024 + 127 * 128,
        ] {
            let mut head = good.clone();
            head[at] ^= 1;
            let spoiled = head.clone();
            let added = add(&mut head, 512, 64 * MIB, &WANTED);
            assert!(matches!(added, Err(AdditionError::Damaged(_))), "{at}: {added:?}");
            assert!(head == spoiled, "{at}");
        }
        assert!(check(b"short", 512, 64 * MIB, SIZE).is_err());
    }
}
