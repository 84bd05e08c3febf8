//! Shows that an erasure reached a disk: a pattern is written to places all over it before, and must be gone after.

use std::io;
use std::time::Duration;

use super::commands::Commands;
use super::error::EraseError;
use super::progress::Progress;
use crate::install::disk::wipe::Range;
use crate::install::image::buffer::{ALIGNMENT, Buffer};

/// Places on a disk. On one with moving heads, writing and reading so many takes half a minute.
const PLACES: u64 = 1024;
/// Limit of a read or write of one place: ten times what the slowest disks take that are well, with the kernel's repetitions.
const LIMIT: Duration = Duration::from_secs(5 * 60);
const BLOCK: u64 = ALIGNMENT as u64;

/// The state in which a method leaves sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Zeros,
    /// Another content than before, which the maker of the disk chose.
    Changed,
}

/// The marks on a disk, or on a part of one.
#[derive(Debug)]
pub struct Marks {
    places: Vec<u64>,
    /// False for places whose former content is not known.
    written: bool,
}

impl Marks {
    /// Writes the pattern to places all over the range, the first and the last block among them.
    ///
    /// # Errors
    /// Fails if none can be written, or the erasure is to end.
    pub fn write(disk: &mut dyn Commands, range: Range, progress: &Progress) -> Result<Self, EraseError> {
        let (mut written, mut problem) = (Vec::new(), None);
        let places = places(range, rand::random());
        let all = places.len();
        for at in places {
            progress.go_on()?;
            progress.expect(LIMIT);
            match disk.write(at, pattern(at).bytes()) {
                Ok(()) => written.push(at),
                Err(error) => problem = Some(error),
            }
        }
        // Places that cannot be written any more are for the method to erase; most must take the pattern, though.
        if let Some(error) = problem.filter(|_| written.len() * 2 < all) {
            return Err(EraseError::of("samples cannot be written", error));
        }
        progress.expect(LIMIT);
        disk.flush()
            .map_err(|error| EraseError::of("samples cannot be written", error))?;
        Ok(Self {
            places: written,
            written: true,
        })
    }

    /// The places of a disk that takes no writes at present.
    pub fn unwritten(range: Range) -> Self {
        Self {
            places: places(range, rand::random()),
            written: false,
        }
    }

    /// Reads the places back; returns their number.
    ///
    /// # Errors
    /// The place that is not as the method leaves it, or that cannot be read.
    pub fn check(&self, disk: &mut dyn Commands, left: Left, progress: &Progress) -> Result<u64, EraseError> {
        let mut found = Buffer::new(ALIGNMENT);
        for at in &self.places {
            progress.go_on()?;
            progress.expect(LIMIT);
            disk.read(*at, found.bytes_mut())
                .map_err(|error| EraseError::of(&format!("the sample at {at} cannot be read back"), error))?;
            let good = match left {
                Left::Zeros => is_zero(found.bytes()),
                Left::Changed => !self.written || differs(found.bytes(), *at),
            };
            if !good {
                return Err(EraseError::Failed(format!(
                    "data was left: the sample at byte {at} is not as an erased one"
                )));
            }
        }
        Ok(self.places.len() as u64)
    }
}

/// Reads the first and the last block of a range that is zero now; returns the number of blocks.
///
/// # Errors
/// Fails if one cannot be read, or is not zero.
pub fn check_zeros(disk: &mut dyn Commands, range: Range) -> io::Result<u64> {
    let length = usize::try_from(range.end.saturating_sub(range.start))
        .unwrap_or(usize::MAX)
        .min(ALIGNMENT);
    let mut found = Buffer::new(ALIGNMENT);
    let places = [range.start, range.end - length as u64];
    for at in places {
        let found = &mut found.bytes_mut()[..length];
        disk.read(at, found)?;
        if !is_zero(found) {
            return Err(io::Error::other(format!("the bytes at {at} are not zero")));
        }
    }
    Ok(places.len() as u64)
}

/// True if every sector of 512 bytes is another one than the pattern has.
fn differs(found: &[u8], at: u64) -> bool {
    let pattern = pattern(at);
    let mut pairs = found.chunks(512).zip(pattern.bytes().chunks(512));
    pairs.all(|(found, written)| found != written)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Starts of whole blocks in the range, in order: the first, the last, and one in each of equal stripes, by `seed`.
fn places(range: Range, seed: u64) -> Vec<u64> {
    let first = range.start.div_ceil(BLOCK);
    let blocks = (range.end / BLOCK).saturating_sub(first);
    let stripes = PLACES.min(blocks);
    let mut state = seed | 1;
    let mut places: Vec<u64> = (0..stripes)
        .map(|stripe| {
            let bound = |number: u64| (u128::from(blocks) * u128::from(number) / u128::from(stripes)) as u64;
            let (start, end) = (bound(stripe), bound(stripe + 1));
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match stripe {
                0 => start,
                _ if stripe + 1 == stripes => end - 1,
                _ => start + state % (end - start),
            }
        })
        .map(|block| (first + block) * BLOCK)
        .collect();
    places.dedup();
    places
}

/// A block that no erasure leaves, and no two places have.
fn pattern(at: u64) -> Buffer {
    let mut block = Buffer::new(ALIGNMENT);
    let mut state = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for word in block.bytes_mut().chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    block
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::super::played::Played;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn progress() -> Progress {
        Progress::new(String::new(), CancellationToken::new())
    }

    #[test]
    fn places_are_blocks_all_over_the_range_with_its_ends() {
        for seed in [0, 1, u64::MAX] {
            let range = Range {
                start: 512,
                end: 64 * MIB + 512,
            };
            let found = places(range, seed);
            assert_eq!(found.len(), 1024);
            assert_eq!((found[0], found[1023]), (4096, 64 * MIB - 4096));
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(found.iter().all(|at| at % 4096 == 0));
        }
        let of = |start, end| places(Range { start, end }, 7);
        assert_eq!(of(0, 4096), [0]);
        assert_eq!(of(0, 8192), [0, 4096]);
        assert!(of(512, 4096).is_empty());
    }

    #[test]
    fn marks_must_be_gone_and_zeros_are_more_than_that() {
        let mut disk = Played::plain(4 * MIB);
        let range = Range {
            start: 0,
            end: 4 * MIB,
        };
        let marks = Marks::write(&mut disk, range, &progress()).unwrap();
        for left in [Left::Zeros, Left::Changed] {
            let text = marks.check(&mut disk, left, &progress()).unwrap_err().to_string();
            assert!(text.contains("data was left"), "{text}");
        }
        disk.bytes.fill(0xff);
        assert_eq!(marks.check(&mut disk, Left::Changed, &progress()).unwrap(), 1024);
        assert!(marks.check(&mut disk, Left::Zeros, &progress()).is_err());
        disk.bytes.fill(0);
        assert_eq!(marks.check(&mut disk, Left::Zeros, &progress()).unwrap(), 1024);
    }

    #[test]
    fn one_sector_of_a_mark_that_is_left_is_data_that_is_left() {
        let mut disk = Played::plain(4096);
        let range = Range { start: 0, end: 4096 };
        let marks = Marks::write(&mut disk, range, &progress()).unwrap();
        disk.bytes[..3584].fill(0xff);
        assert!(marks.check(&mut disk, Left::Changed, &progress()).is_err());
    }

    #[test]
    fn a_disk_that_takes_no_writes_has_no_marks() {
        let mut disk = Played::plain(MIB);
        disk.read_only = true;
        let range = Range { start: 0, end: MIB };
        let text = Marks::write(&mut disk, range, &progress())
            .unwrap_err()
            .to_string();
        assert!(text.contains("cannot be written"), "{text}");
    }
}
