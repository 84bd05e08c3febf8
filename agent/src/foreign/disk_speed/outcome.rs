//! The result of a disk-speed check.

use std::io;
use std::time::Duration;

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
