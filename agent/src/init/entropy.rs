//! Makes random numbers available soon after power-on.
//!
//! Without a random number instruction in the processor the kernel's generator starts unready. The kernel
//! gathers entropy within about a second, but only while a process waits in `getrandom(2)`; a static
//! program's libraries search for that call by name at run time, do not find it, and wait on `/dev/random`
//! instead, which starts nothing. So one thread makes the call at the very start.
#![expect(
    unsafe_code,
    reason = "the standard library has no call that waits for the kernel's generator"
)]

use tracing::{info, warn};

/// Starts the kernel's entropy gathering.
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
