//! Waits for conditions without notification: they are checked repeatedly, until a deadline that only a hang reaches.

use std::time::{Duration, Instant};

/// The shortest limit of a wait: shorter limits are extended to it. Machines and compilers may share the computer with
/// a test, so a limit of seconds would test them; durations are measured by `make bench`.
pub const LEAST_LIMIT: Duration = Duration::from_secs(120);

const CHECK_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_CHECK_INTERVAL: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The time between two checks, after so long a wait: a twentieth of it, from 50 to 500 ms, and twice the duration of
/// the last check (a run of `kubectl` keeps a processor busy for a quarter of a second) up to a second. Slow events are
/// seen a little late; they get the processors that the checks would use.
fn interval_after(waited: Duration, took: Duration) -> Duration {
    let rest = (took * 2).min(LONGEST_REST);
    (waited / 20)
        .clamp(CHECK_INTERVAL, LONGEST_CHECK_INTERVAL)
        .max(rest)
}

/// Calls `check` until it returns `Ok`, and returns that. Up to a second passes between two checks.
///
/// # Panics
/// After `limit`, or [`LEAST_LIMIT`] if that is longer, with `what` and the last thing that `check` saw instead.
#[track_caller]
pub fn await_condition<T>(what: &str, limit: Duration, check: impl FnMut() -> Result<T, String>) -> T {
    await_with(interval_after, what, limit, check)
}

/// The same with this interval between two checks, or [longer](without_load): for expensive checks.
///
/// # Panics
/// As [`await_condition`].
#[track_caller]
pub fn await_every<T>(
    interval: Duration,
    what: &str,
    limit: Duration,
    check: impl FnMut() -> Result<T, String>,
) -> T {
    await_with(|_, took| without_load(interval, took), what, limit, check)
}

/// A check that was delayed by a minute does not predict those that follow.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The time between two checks of this duration: at least `interval`, and so long that checks take no more than a tenth
/// of the observed time, but a minute at most.
pub fn without_load(interval: Duration, took: Duration) -> Duration {
    interval.max(LONGEST_PAUSE.min(took * 9))
}

#[track_caller]
fn await_with<T>(
    pause: impl Fn(Duration, Duration) -> Duration,
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> Result<T, String>,
) -> T {
    let limit = limit.max(LEAST_LIMIT);
    let start = Instant::now();
    let end = start + limit;
    loop {
        let began = Instant::now();
        match check() {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= end => {
                panic!("waited {} s for {what}; last seen: {seen}", limit.as_secs())
            }
            Err(_) => std::thread::sleep(pause(start.elapsed(), began.elapsed())),
        }
    }
}

/// Checks for this time that something does not happen. If a condition can prove it, wait for that instead: a window
/// that is too short for a slow computer proves nothing.
///
/// # Panics
/// As soon as `check` returns an error, with `what` and that error.
#[track_caller]
pub fn assert_throughout(what: &str, window: Duration, check: impl FnMut() -> Result<(), String>) {
    assert_every(CHECK_INTERVAL, what, window, check);
}

/// The same with this interval between two checks: for expensive checks.
///
/// # Panics
/// As soon as `check` returns an error, with `what` and that error.
#[track_caller]
pub fn assert_every(
    interval: Duration,
    what: &str,
    window: Duration,
    mut check: impl FnMut() -> Result<(), String>,
) {
    let end = Instant::now() + window;
    loop {
        if let Err(seen) = check() {
            panic!("{what} did not hold for {} s: {seen}", window.as_secs());
        }
        if Instant::now() >= end {
            return;
        }
        std::thread::sleep(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_no_time_is_reached_by_a_hang_alone() {
        let mut checks = 0;
        await_condition("the third check", Duration::ZERO, || {
            checks += 1;
            (checks == 3).then_some(()).ok_or_else(|| checks.to_string())
        });
    }
}
