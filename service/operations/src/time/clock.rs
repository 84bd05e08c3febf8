//! Reads the clocks. Decisions get the time as a parameter.

use std::time::{Duration, Instant};

use muster_api::time::{Timestamp, now};

/// The clocks of a computer.
pub trait Clock: Send + Sync {
    /// The time of day. It may be set forward and back.
    fn wall(&self) -> Timestamp;

    /// Time since some beginning. It is never set, and stops on Linux while the computer is suspended: then it differs
    /// from the time of day.
    fn monotonic(&self) -> Duration;
}

/// The clocks of this computer.
#[derive(Debug)]
pub struct SystemClock {
    began: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        now()
    }

    fn monotonic(&self) -> Duration {
        self.began.elapsed()
    }
}
