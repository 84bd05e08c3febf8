//! The system's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

/// No machine that runs this program lives before this: 2026-11-01T00:00:00Z. An earlier clock was never set.
pub const EARLIEST: Duration = Duration::from_secs(1_793_491_200);

/// Seconds since 1970 by the host's clock; 0 when it is before that.
pub fn now() -> u64 {
    since_epoch().as_secs()
}

/// Whether the clock was plainly never set.
pub fn is_unset() -> bool {
    since_epoch() < EARLIEST
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Steps the clock by `offset` seconds.
///
/// # Errors
/// Not allowed, or a time that no clock can show.
pub fn step(offset: f64) -> Result<(), String> {
    let target = since_epoch().as_secs_f64() + offset;
    let target = Duration::try_from_secs_f64(target).map_err(|error| error.to_string())?;
    set(target)
}

/// Sets the clock, seconds since 1970.
///
/// # Errors
/// Not allowed, or a time that no clock can show.
pub fn set(since_epoch: Duration) -> Result<(), String> {
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::from_duration(since_epoch))
        .map_err(|error| format!("the clock cannot be set: {error}"))
}
