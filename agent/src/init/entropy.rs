//! Random numbers soon after power-on.
//!
//! A processor without a random number instruction leaves the kernel's generator unready. The kernel makes itself
//! ready within about a second, but only for somebody who waits in `getrandom(2)`; a static program's libraries
//! find that call by name at run time, do not find it, and wait on `/dev/random` instead, which wakes nobody. So
//! one thread makes the call at the very start.
#![expect(
    unsafe_code,
    reason = "the standard library has no call that waits for the kernel's generator"
)]

use tracing::{info, warn};

/// Starts the kernel's own gathering.
pub fn gather() {
    let started = std::thread::Builder::new().name("entropy".to_owned()).spawn(|| {
        let mut byte = 0u8;
        // SAFETY: one byte of room is given, which lives until the call returns.
        let given = unsafe { libc::getrandom((&raw mut byte).cast(), 1, 0) };
        info!(ready = given == 1, "random numbers");
    });
    if let Err(error) = started {
        warn!("random numbers may come late: {error}");
    }
}
