//! Discards a range of a disk. A discard is advice to the disk: only what is read back shows that it was followed.

use std::time::Duration;

use super::commands::Commands;
use super::error::EraseError;
use super::mark::{Left, Marks};
use super::progress::Progress;
use crate::install::disk::wipe::Range;

/// Bytes of one request to the kernel, so that there is progress, and an end when the erasure is stopped.
const PIECE: u64 = 8 << 30;
/// Limit of one request: the kernel splits it into commands of 30 s each at most, and SSDs need milliseconds for each.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Discards the range; the samples are read back as zeros, and their number is returned.
///
/// # Errors
/// Fails if the disk knows no discard, keeps data, or the erasure is to end.
pub fn range(
    disk: &mut dyn Commands,
    range: Range,
    before: u64,
    progress: &Progress,
) -> Result<u64, EraseError> {
    let marks = Marks::write(disk, range, progress)?;
    let mut at = range.start;
    while at < range.end {
        progress.go_on()?;
        let length = PIECE.min(range.end - at);
        progress.expect(LIMIT);
        disk.discard(at, length)
            .map_err(|error| EraseError::of("discard", error))?;
        at += length;
        progress.done(before + at - range.start);
    }
    progress.expect(LIMIT);
    disk.flush().map_err(|error| EraseError::of("discard", error))?;
    marks
        .check(disk, Left::Zeros, progress)
        .map_err(|error| error.during("discard"))
}
