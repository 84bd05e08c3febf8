//! How long a synchronous write takes on a disk, measured without ever overwriting data.
//!
//! The load is that of the field's agent (docs/protocol/agent-protocol.md#6): two writers at once, 22 MiB each, blocks of 2300
//! bytes through the page cache, `fdatasync` after each; the worse of their 99th percentiles counts. Differences, on
//! purpose:
//! - It is written only where the disk is proven blank: no partitions, holders, mounts or swap; opened exclusively, so
//!   that nobody can begin to use it meanwhile; and under that claim every byte of the region, and of every place where
//!   partition tables, file systems, RAID and volume managers keep their signatures, is read back as zero ([`blank`]).
//!   Each block is read once more right before it is written. Elsewhere nothing is written, and the reason is told.
//! - The first MiB is left alone, and each writer has a region of its own.
//! - Afterwards the region is zero again, and read back to prove it; also after a failure, a panic or an early end.
//!   A loss of power leaves noise on a disk that was blank: the next check then measures nothing and says why.
//! - A disk so slow that the time ends before the load does is judged by the writes that it did.

mod blank;
mod load;
mod stop;
mod target;

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

pub use load::Load;
pub use stop::{Stop, stop_all};

use crate::root::Root;

/// What part of the given time may be spent writing; the rest is for making the region zero again.
const WRITING_PART: f64 = 0.8;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The worse writer's 99th percentile of a synchronous write, and how many writes it is of.
    Measured {
        /// 99 of 100 took no longer.
        p99: Duration,
        /// Writes of both.
        writes: usize,
    },
    /// The disk is or may be in use, or has content. Nothing was written.
    NotMeasured(String),
}

/// Why a check failed. Each text names the disk.
#[derive(Debug, thiserror::Error)]
pub enum SpeedError {
    /// There is no such disk.
    #[error("{path} is no disk of this host: {reason}")]
    NoDisk {
        /// As asked.
        path: String,
        /// What it is instead.
        reason: String,
    },
    /// The disk cannot be read, so nothing is known of it.
    #[error("{path} cannot be read, so nothing was written to it")]
    Unreadable {
        /// As asked.
        path: String,
        /// The kernel's words.
        source: io::Error,
    },
    /// The disk does not take writes.
    #[error("{path} does not take writes; it is as blank as before")]
    Unwritable {
        /// As asked.
        path: String,
        /// The kernel's words.
        source: io::Error,
    },
    /// Too few writes in the time given, or told to stop.
    #[error(
        "{path}: {writes} synchronous writes when time was up, too few to judge by; it is as blank as before"
    )]
    TooFew {
        /// As asked.
        path: String,
        /// Writes done.
        writes: usize,
    },
    /// The region could not be made zero again.
    #[error(
        "{path} was blank and could not be made so again: the first 64 MiB hold test data; wipe it before use"
    )]
    NotRestored {
        /// As asked.
        path: String,
        /// The kernel's words.
        source: io::Error,
    },
}

/// Measures the disk at `path` (any name of its device), within `limit`, unless `stop` says so earlier. Blocks.
///
/// # Errors
/// [`SpeedError`]
pub fn check(path: &str, limit: Duration, stop: &Stop) -> Result<Outcome, SpeedError> {
    let until = Instant::now() + limit.mul_f64(WRITING_PART);
    let root = Root::live();
    let disk = target::find(&root, path)?;
    if let Some(reason) = target::in_use(&root, &disk) {
        return Ok(Outcome::NotMeasured(reason));
    }
    let file = match target::claim(&disk) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Ok(Outcome::NotMeasured("somebody uses it".to_owned()));
        }
        Err(source) => {
            return Err(SpeedError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    };
    // Whatever happened between the first look and the claim.
    if let Some(reason) = target::in_use(&root, &disk) {
        return Ok(Outcome::NotMeasured(reason));
    }
    measure(path, &file, disk.size, &Load::STANDARD, until, stop)
}

/// The same on an open file or device of `size` bytes that nobody else uses.
///
/// # Errors
/// [`SpeedError`]
pub fn measure(
    path: &str,
    file: &File,
    size: u64,
    load: &Load,
    until: Instant,
    stop: &Stop,
) -> Result<Outcome, SpeedError> {
    match blank::first_byte_in_the_way(file, size, load.end()) {
        Ok(None) => {}
        Ok(Some(reason)) => return Ok(Outcome::NotMeasured(reason)),
        Err(source) => {
            return Err(SpeedError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    }
    load::run(path, file, load, until, stop)
}

#[cfg(test)]
mod tests;
