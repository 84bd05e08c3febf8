//! Reads the clock. Decisions get the time as a parameter.

use muster_api::time::Timestamp;

/// The present time in whole microseconds, which is what the database keeps.
pub fn now() -> Timestamp {
    let now = chrono::Utc::now();
    Timestamp::from_timestamp_micros(now.timestamp_micros()).unwrap_or(now)
}
