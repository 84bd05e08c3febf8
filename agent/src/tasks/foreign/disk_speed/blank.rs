//! Proves that a disk is blank: every byte that a check may write, and every place with a signature of
//! content, is zero.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

const MIB: u64 = 1 << 20;
/// Read as a whole. It holds the tables of MBR and GPT, LVM's label, LUKS with its backup headers, md 1.1 and 1.2,
/// swap, the superblocks of ext, xfs, f2fs, NTFS, ISO 9660 (32 KiB), VMFS (1 and 2 MiB), ZFS's first labels, and btrfs's
/// first two (64 KiB, 64 MiB).
const HEAD: u64 = 68 * MIB;
/// Read as a whole. It holds GPT's backup, md 0.90 and 1.0, the metadata of firmware RAIDs (DDF, IMSM and the like),
/// ZFS's last labels and DRBD's.
const TAIL: u64 = 4 * MIB;
/// btrfs's third superblock.
const FAR: (u64, u64) = (256 << 30, 64 << 10);
/// Below this, head and tail are most of the disk.
const SMALLEST: u64 = 128 * MIB;
const CHUNK: usize = 1 << 20;

/// The reason that the disk is not blank; `None` if it is. `end` is the end of the region to be written.
pub(super) fn first_byte_in_the_way(file: &File, size: u64, end: u64) -> io::Result<Option<String>> {
    if size < SMALLEST.max(end) {
        return Ok(Some(format!("{size} bytes are too few to measure on")));
    }
    let tail = size - TAIL;
    let places = [(0, HEAD.max(end)), FAR, (tail, size - tail)];
    for (offset, length) in places {
        let length = length.min(size.saturating_sub(offset));
        if let Some(at) = first_byte(file, offset, length)? {
            return Ok(Some(format!("it has content (a byte at {at} is not zero)")));
        }
    }
    Ok(None)
}

/// The offset of the first byte that is not zero, read from the device and not from the page cache.
pub(super) fn first_byte(file: &File, offset: u64, length: u64) -> io::Result<Option<u64>> {
    forget(file, offset, length);
    let mut buffer = vec![0_u8; CHUNK];
    let mut at = offset;
    while at < offset + length {
        let part = usize::try_from(offset + length - at).map_or(CHUNK, |left| left.min(CHUNK));
        file.read_exact_at(&mut buffer[..part], at)?;
        if let Some(index) = buffer[..part].iter().position(|byte| *byte != 0) {
            return Ok(Some(at + index as u64));
        }
        at += part as u64;
    }
    Ok(None)
}

/// Drops the page cache's clean pages. This is advice to the kernel; a failure costs only freshness.
fn forget(file: &File, offset: u64, length: u64) {
    if let (Ok(offset), Ok(length)) = (i64::try_from(offset), i64::try_from(length)) {
        let _ = posix_fadvise(file, offset, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
}
