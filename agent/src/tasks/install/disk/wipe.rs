//! Clears the places of a disk where partition tables and signatures of RAID, LVM, encryption and file systems are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::device::Disk;
use super::family;
use crate::install::image::buffer::{ALIGNMENT, Buffer};
use crate::install::image::head::HEAD;
use crate::root::Root;

/// Bytes at the beginning of a disk or partition that hold signatures: LUKS 2 has its second header at 4 MiB at most.
const FRONT: u64 = 8 << 20;
/// Bytes at its end: tables, RAID superblocks, ZFS labels.
const BACK: u64 = 1 << 20;

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
}

/// The ranges to clear on a disk of `size` bytes with these partitions; the first one makes it unbootable.
pub fn ranges(size: u64, partitions: &[Range]) -> Vec<Range> {
    let align_down = |at: u64| at / ALIGNMENT as u64 * ALIGNMENT as u64;
    let ends = |whole: Range| {
        [
            Range {
                start: whole.start,
                end: whole.start.saturating_add(FRONT).min(whole.end),
            },
            Range {
                start: whole.end.saturating_sub(BACK).max(whole.start),
                end: whole.end,
            },
        ]
    };
    let disk = Range { start: 0, end: size };
    let first = Range {
        start: 0,
        end: (HEAD as u64).min(size),
    };
    let inside = partitions.iter().map(|partition| Range {
        start: partition.start,
        end: partition.end.min(size),
    });
    std::iter::once(first)
        .chain(ends(disk))
        .chain(inside.flat_map(ends))
        .map(|range| Range {
            start: align_down(range.start),
            // The last bytes of a disk need not be aligned.
            end: if range.end == size {
                size
            } else {
                range.end.next_multiple_of(ALIGNMENT as u64).min(size)
            },
        })
        .filter(|range| range.start < range.end)
        .collect()
}

/// The places of the partitions that the kernel knows.
pub fn partitions(root: &Root, disk: &str) -> Vec<Range> {
    let number = |name: &str, file: &str| {
        let text = root.text(&format!("/sys/class/block/{name}/{file}")).ok()?;
        text.parse::<u64>().ok()?.checked_mul(512)
    };
    family::partitions(root, disk)
        .iter()
        .filter_map(|name| {
            let start = number(name, "start")?;
            Some(Range {
                start,
                end: start.checked_add(number(name, "size")?)?,
            })
        })
        .collect()
}

/// Clears the ranges, in their order, and waits until the disk has them.
///
/// # Errors
/// Fails if a write to the disk does.
pub fn clear(file: &File, ranges: &[Range]) -> io::Result<()> {
    let zeros = Buffer::new(1 << 20);
    for range in ranges {
        in_pieces(*range, &zeros, |bytes, at| file.write_all_at(bytes, at))?;
        file.sync_all()?;
    }
    Ok(())
}

/// Passes a range piece by piece to `write`: the zeros, and the offset where they belong.
///
/// # Errors
/// The first of `write`.
pub fn in_pieces<E>(
    range: Range,
    zeros: &Buffer,
    mut write: impl FnMut(&[u8], u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = range.start;
    while at < range.end {
        let length = usize::try_from(range.end - at)
            .unwrap_or(usize::MAX)
            .min(zeros.bytes().len());
        write(&zeros.bytes()[..length], at)?;
        at += length as u64;
    }
    Ok(())
}

/// Clears the first mebibyte, so that the disk does not boot. For the end of an installation that failed.
///
/// # Errors
/// Fails if a write to the disk does.
pub fn unboot(file: &File, disk: &Disk) -> io::Result<()> {
    clear(file, &ranges(disk.size, &[])[..1])
}

/// Clears the first sector of a disk that is to be formatted, as services request it.
///
/// # Errors
/// Fails if a write to the disk does.
pub fn format(disk: &Disk) -> io::Result<()> {
    let file = disk.claim()?;
    let zeros = Buffer::new(ALIGNMENT);
    let length = (disk.sector as usize).clamp(512, ALIGNMENT);
    file.write_all_at(&zeros.bytes()[..length], 0)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn both_ends_of_the_disk_and_of_each_partition_are_cleared_and_the_boot_sector_first() {
        let partitions = [
            Range {
                start: MIB,
                end: 3 * MIB,
            },
            Range {
                start: 100 * MIB,
                end: 200 * MIB,
            },
        ];
        let found: Vec<(u64, u64)> = ranges(300 * MIB, &partitions)
            .iter()
            .map(|range| (range.start / MIB, range.end / MIB))
            .collect();
        assert_eq!(
            found,
            [(0, 1), (0, 8), (299, 300), (1, 3), (2, 3), (100, 108), (199, 200)]
        );
    }

    #[test]
    fn nothing_outside_of_the_disk_is_cleared_whatever_the_partitions_say() {
        let size = 3 * MIB + 512;
        let strange = [
            Range {
                start: 2 * MIB + 512,
                end: 2 * MIB + 1024,
            },
            Range {
                start: 5 * MIB,
                end: 9 * MIB,
            },
            Range { start: 9, end: 3 },
        ];
        for range in ranges(size, &strange) {
            assert!(range.start < range.end && range.end <= size, "{range:?}");
            assert_eq!(range.start % 4096, 0, "{range:?}");
            assert!(range.end % 4096 == 0 || range.end == size, "{range:?}");
        }
    }
}
