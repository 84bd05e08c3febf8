//! Formats timestamps in the two forms of the protocol.

use chrono::{DateTime, SecondsFormat, Utc};

/// A time, always UTC.
pub type Timestamp = DateTime<Utc>;

/// The present time in whole microseconds.
pub fn now() -> Timestamp {
    whole_micros(Utc::now())
}

/// `time` in whole microseconds.
pub fn whole_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time)
}

/// "Never" in `date-time` fields (clients test for year 1).
pub const NEVER_MILLIS: &str = "0001-01-01T00:00:00.000Z";

/// "Never" in `created_at` and `updated_at`.
pub const NEVER: &str = "0001-01-01T00:00:00Z";

/// `2026-11-21T14:00:00.123Z`, or the zero date: the form of most date fields.
pub fn millis(moment: Option<Timestamp>) -> String {
    moment.map_or_else(
        || NEVER_MILLIS.into(),
        |t| t.to_rfc3339_opts(SecondsFormat::Millis, true),
    )
}

/// With microseconds, or the zero date: the form of `created_at` and `updated_at`.
pub fn micros(moment: Option<Timestamp>) -> String {
    moment.map_or_else(
        || NEVER.into(),
        |t| t.to_rfc3339_opts(SecondsFormat::Micros, true),
    )
}
