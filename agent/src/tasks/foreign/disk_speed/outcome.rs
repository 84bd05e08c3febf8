//! The result of a disk-speed check.

use std::io;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The worse writer's 99th percentile of a synchronous write, and the number of writes that it is from.
    Measured {
        /// 99 of 100 took no longer.
        p99: Duration,
        /// Writes of both writers.
        writes: usize,
    },
    /// The disk is or may be in use, or has content. Nothing was written.
    NotMeasured(String),
}

/// A check that failed. Each text names the disk.
#[derive(Debug, thiserror::Error)]
pub enum SpeedError {
    #[error("{path} is no disk of this host: {reason}")]
    NoDisk {
        path: String,
        /// The kind of file that it is instead.
        reason: String,
    },
    /// The disk cannot be read, so its content is unknown.
    #[error("{path} cannot be read, so nothing was written to it")]
    Unreadable { path: String, source: io::Error },
    #[error("{path} does not take writes; it is as blank as before")]
    Unwritable { path: String, source: io::Error },
    /// Too few writes in the given time, or an early stop.
    #[error(
        "{path}: {writes} synchronous writes when time was up, too few to judge by; it is as blank as before"
    )]
    TooFew { path: String, writes: usize },
    #[error(
        "{path} was blank and could not be made so again: the first 64 MiB hold test data; wipe it before use"
    )]
    NotRestored { path: String, source: io::Error },
}
