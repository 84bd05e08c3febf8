//! Reads and sets the system's clock.

use std::time::{Duration, SystemTime, TryFromFloatSecsError, UNIX_EPOCH};

use muster_api::time::Timestamp;
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_settime};

/// 2026-11-01T00:00:00Z, before this program was released: an earlier clock was never set.
const EARLIEST: Duration = Duration::from_secs(1_793_491_200);

/// A clock that was not set.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The time is one that no clock can show.
    #[error(transparent)]
    Time(TryFromFloatSecsError),
    #[error("the clock cannot be set: {0}")]
    Refused(Errno),
}

/// Seconds since 1970 by the host's clock; 0 when it is before that.
pub fn now() -> u64 {
    since_epoch().as_secs()
}

/// True when the clock was never set.
pub fn is_unset() -> bool {
    since_epoch() < EARLIEST
}

/// The earliest time that a right clock can show, since 1970. `said`: the creation time of something on this host, such as the
/// configuration in its image.
pub fn earliest(said: Option<Timestamp>) -> Duration {
    let said = said.and_then(|time| u64::try_from(time.timestamp()).ok());
    EARLIEST.max(said.map_or(Duration::ZERO, Duration::from_secs))
}

/// The time since 1970 by the host's clock.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Steps the clock by `offset` seconds.
///
/// # Errors
/// [`ClockError`]
pub fn step(offset: f64) -> Result<(), ClockError> {
    let target = since_epoch().as_secs_f64() + offset;
    let target = Duration::try_from_secs_f64(target).map_err(ClockError::Time)?;
    set(target)
}

/// Sets the clock, seconds since 1970.
///
/// # Errors
/// [`ClockError`]
pub fn set(since_epoch: Duration) -> Result<(), ClockError> {
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::from_duration(since_epoch)).map_err(ClockError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_right_clock_is_before_this_program_nor_before_what_its_image_was_made_of() {
        let year = Duration::from_secs(365 * 24 * 3600);
        let at = |time: Duration| Timestamp::UNIX_EPOCH + time;
        assert_eq!(earliest(None), EARLIEST);
        assert_eq!(earliest(Some(at(EARLIEST + year))), EARLIEST + year);
        // A service with a wrong clock lowers nothing.
        assert_eq!(earliest(Some(at(EARLIEST - year))), EARLIEST);
        assert_eq!(earliest(Some(Timestamp::MIN_UTC)), EARLIEST);
    }
}
