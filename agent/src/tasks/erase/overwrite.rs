//! Overwrites a range of a disk with zeros.

use std::sync::LazyLock;
use std::time::Duration;

use super::commands::Commands;
use super::error::EraseError;
use super::progress::Progress;
use crate::install::disk::wipe::{self, Range};
use crate::install::image::buffer::Buffer;

/// Bytes of one write.
const PIECE: usize = 4 << 20;
/// Limit of one write: the slowest disks need a second, and the kernel repeats a failing one for minutes.
const LIMIT: Duration = Duration::from_secs(5 * 60);
/// Limit of the last flush: a disk may hold a gibibyte in its cache.
const FLUSH: Duration = Duration::from_secs(10 * 60);
/// Bytes in a second. A disk that is slower is sick: at twice that, one of 20 TB takes eleven days.
const SLOWEST: u64 = 10 << 20;
/// Time in which a disk may be slow.
const START: Duration = Duration::from_secs(10 * 60);

/// One for all disks, since many are erased at once.
static ZEROS: LazyLock<Buffer> = LazyLock::new(|| Buffer::new(PIECE));

/// Writes zeros and waits until the disk has stored them. `before`: bytes that count as done at the start.
///
/// # Errors
/// Fails if a write does, if the disk is too slow, or if the erasure is to end.
pub fn zeros(
    disk: &mut dyn Commands,
    range: Range,
    before: u64,
    progress: &Progress,
) -> Result<(), EraseError> {
    let began = disk.elapsed();
    wipe::in_pieces(range, &ZEROS, |bytes, at| {
        progress.go_on()?;
        let written = at - range.start;
        let allowed = START.saturating_add(Duration::from_secs(written / SLOWEST));
        if disk.elapsed().saturating_sub(began) > allowed {
            return Err(EraseError::Failed(format!(
                "the disk is too slow to be overwritten: {written} bytes in {} s",
                allowed.as_secs()
            )));
        }
        progress.expect(LIMIT);
        disk.write(at, bytes)
            .map_err(|error| EraseError::of(&format!("zeros cannot be written at byte {at}"), error))?;
        progress.done(before + written + bytes.len() as u64);
        Ok(())
    })?;
    progress.expect(FLUSH);
    disk.flush()
        .map_err(|error| EraseError::of("the disk does not store the zeros", error))
}
