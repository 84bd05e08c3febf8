//! Reads the clocks. Decisions get the time as a parameter.

use std::time::{Duration, Instant};

use muster_api::time::Timestamp;

/// The clocks of a computer.
pub trait Clock: Send + Sync {
    /// The time of day. It may be set forward and back.
    fn wall(&self) -> Timestamp;

    /// Time since some beginning. It is never set, and on Linux stands still while the computer is suspended: then it differs from
    /// the time of day.
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

/// The present time in whole microseconds, which is what the database keeps.
pub fn now() -> Timestamp {
    whole_micros(chrono::Utc::now())
}

/// `time` in whole microseconds.
pub(crate) fn whole_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time)
}
