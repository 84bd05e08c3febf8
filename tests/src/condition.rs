//! Waiting for something that cannot wake us: asked again and again, until a deadline.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Asks `look` until it answers `Ok`, and returns that.
///
/// # Panics
/// After `limit`, with `what` and the last thing that `look` saw instead.
#[track_caller]
pub fn await_condition<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + limit;
    loop {
        match look() {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= end => {
                panic!("waited {} s for {what}; last seen: {seen}", limit.as_secs())
            }
            Err(_) => std::thread::sleep(INTERVAL),
        }
    }
}
