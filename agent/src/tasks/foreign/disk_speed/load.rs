//! Writes the load, and zeroes the region again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::blank::first_byte;
use super::stop::Writing;
use super::{Outcome, SpeedError, Stop};

const MIB: u64 = 1 << 20;
/// Start of the first writer's region: partition tables and boot sectors are before it.
const START: u64 = MIB;
/// A percentile of fewer writes means little.
const FEWEST: usize = 200;

/// The amount and shape of the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Bytes of each writer.
    pub bytes: u64,
    /// Bytes of one write.
    pub block: usize,
    /// Writers at once.
    pub writers: u64,
}

impl Load {
    /// The load of upstream's agent: `fio --rw=write --ioengine=sync --size=22m -bs=2300 --fdatasync=1`,
    /// twice at once.
    pub const STANDARD: Self = Self {
        bytes: 22 * MIB,
        block: 2300,
        writers: 2,
    };

    /// The first byte after all regions.
    pub fn end(&self) -> u64 {
        START + self.writers * self.stride()
    }

    fn stride(&self) -> u64 {
        self.bytes.next_multiple_of(MIB)
    }
}

/// The reason for which a writer ended before its load was done.
enum Ended {
    Early,
    NotBlank(u64),
    Failed(io::Error),
}

/// One writer's part of the disk. Its written bytes are zeroed when it is dropped, if not before.
struct Region<'a> {
    file: &'a File,
    start: u64,
    /// Bytes from `start` that have been or may have been written.
    touched: AtomicU64,
    _writing: Writing,
}

impl Region<'_> {
    /// Zeroes the written bytes. A disk that refuses zeros but holds them took no writes before either.
    fn restore(&self) -> io::Result<()> {
        let length = self.touched.load(Ordering::SeqCst);
        if length == 0 {
            return Ok(());
        }
        let written = self.write_zeros(length);
        match (first_byte(self.file, self.start, length)?, written) {
            (None, _) => {}
            (Some(_), Err(error)) => return Err(error),
            (Some(at), Ok(())) => {
                return Err(io::Error::other(format!(
                    "zeros were written, and the byte at {at} is not zero"
                )));
            }
        }
        self.touched.store(0, Ordering::SeqCst);
        Ok(())
    }

    fn write_zeros(&self, length: u64) -> io::Result<()> {
        let zeros = vec![0_u8; MIB as usize];
        let mut done = 0;
        while done < length {
            let part = (length - done).min(MIB);
            self.file
                .write_all_at(&zeros[..part as usize], self.start + done)?;
            done += part;
        }
        self.file.sync_data()
    }

    /// Writes until the load is done; returns the duration of each `fdatasync`, and the reason for an early
    /// end.
    fn write(&self, load: &Load, until: Instant, stop: &Stop) -> (Vec<Duration>, Option<Ended>) {
        let blocks = usize::try_from(load.bytes).unwrap_or(usize::MAX) / load.block;
        let mut took = Vec::with_capacity(blocks);
        let mut noise = noise(self.start, load.block);
        let mut present = vec![0_u8; load.block];
        for number in 0..blocks {
            if stop.is_requested() || Instant::now() >= until {
                return (took, Some(Ended::Early));
            }
            let at = self.start + (number * load.block) as u64;
            noise[..8].copy_from_slice(&(number as u64 | 1 << 63).to_le_bytes());
            let written = (|| {
                self.file.read_exact_at(&mut present, at)?;
                if let Some(index) = present.iter().position(|byte| *byte != 0) {
                    return Ok(Err(at + index as u64));
                }
                // Set before the write, since a failed one may have written a part.
                let touched = ((number + 1) * load.block) as u64;
                self.touched.store(touched, Ordering::SeqCst);
                self.file.write_all_at(&noise, at)?;
                let began = Instant::now();
                self.file.sync_data()?;
                Ok(Ok(began.elapsed()))
            })();
            match written {
                Ok(Ok(time)) => took.push(time),
                Ok(Err(at)) => return (took, Some(Ended::NotBlank(at))),
                Err(error) => return (took, Some(Ended::Failed(error))),
            }
        }
        (took, None)
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            tracing::error!("a disk that was blank could not be made so again: {error}");
        }
    }
}

/// Incompressible bytes, the same every time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Writes with all writers at once. The file has been proven blank up to the load's end.
pub(super) fn run(
    path: &str,
    file: &File,
    load: &Load,
    until: Instant,
    stop: &Stop,
) -> Result<Outcome, SpeedError> {
    let regions: Vec<Region<'_>> = (0..load.writers)
        .map(|number| Region {
            file,
            start: START + number * load.stride(),
            touched: AtomicU64::new(0),
            _writing: Writing::begin(),
        })
        .collect();
    let ended: Vec<(Vec<Duration>, Option<Ended>)> = std::thread::scope(|scope| {
        let writers: Vec<_> = regions
            .iter()
            .map(|region| scope.spawn(move || region.write(load, until, stop)))
            .collect();
        writers
            .into_iter()
            .map(|writer| {
                let broke = || Ended::Failed(io::Error::other("a writer broke"));
                writer.join().unwrap_or_else(|_| (Vec::new(), Some(broke())))
            })
            .collect()
    });
    // All are zeroed, even when one fails.
    let restored: Vec<io::Result<()>> = regions.iter().map(Region::restore).collect();
    if let Some(source) = restored.into_iter().find_map(Result::err) {
        return Err(SpeedError::NotRestored {
            path: path.to_owned(),
            source,
        });
    }
    let mut worst = Duration::ZERO;
    let (mut writes, mut fewest) = (0, usize::MAX);
    let mut all_done = true;
    for (took, early) in ended {
        match early {
            None => {}
            Some(Ended::Early) => all_done = false,
            Some(Ended::NotBlank(at)) => {
                return Ok(Outcome::NotMeasured(format!(
                    "somebody wrote to it meanwhile (at {at})"
                )));
            }
            Some(Ended::Failed(source)) => {
                return Err(SpeedError::Unwritable {
                    path: path.to_owned(),
                    source,
                });
            }
        }
        writes += took.len();
        fewest = fewest.min(took.len());
        worst = worst.max(percentile_99(took));
    }
    if !all_done && fewest < FEWEST {
        return Err(SpeedError::TooFew {
            path: path.to_owned(),
            writes,
        });
    }
    Ok(Outcome::Measured { p99: worst, writes })
}

/// The least time that 99 of 100 do not exceed; zero of none.
pub(super) fn percentile_99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    let rank = (took.len() * 99).div_ceil(100);
    rank.checked_sub(1).map_or(Duration::ZERO, |index| took[index])
}
