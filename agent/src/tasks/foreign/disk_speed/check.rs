//! Runs the check on a disk or an open file.

use std::fs::File;
use std::time::{Duration, Instant};

use super::{Load, Outcome, SpeedError, Stop, blank, load, target};
use crate::root::Root;

/// The share of the given time for writing; the rest is for zeroing the region again.
const WRITING_PART: f64 = 0.8;

/// Measures the disk at `path` (any name of its device), within `limit`, unless `stop` ends it earlier.
/// Blocks.
///
/// # Errors
/// [`SpeedError`]
pub fn check(path: &str, limit: Duration, stop: &Stop) -> Result<Outcome, SpeedError> {
    let until = Instant::now() + limit.mul_f64(WRITING_PART);
    let root = Root::live();
    let disk = target::find(&root, path)?;
    if let Some(reason) = target::in_use(&root, &disk) {
        return Ok(Outcome::NotMeasured(reason));
    }
    let file = match disk.claim_cached() {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Ok(Outcome::NotMeasured("somebody uses it".to_owned()));
        }
        Err(source) => {
            return Err(SpeedError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    };
    // Again, in case something changed between the first check and the claim.
    if let Some(reason) = target::in_use(&root, &disk) {
        return Ok(Outcome::NotMeasured(reason));
    }
    measure(path, &file, disk.size, &Load::STANDARD, until, stop)
}

/// Measures an open file or device of `size` bytes that no other program uses.
///
/// # Errors
/// [`SpeedError`]
pub fn measure(
    path: &str,
    file: &File,
    size: u64,
    load: &Load,
    until: Instant,
    stop: &Stop,
) -> Result<Outcome, SpeedError> {
    match blank::first_byte_in_the_way(file, size, load.end()) {
        Ok(None) => {}
        Ok(Some(reason)) => return Ok(Outcome::NotMeasured(reason)),
        Err(source) => {
            return Err(SpeedError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    }
    load::run(path, file, load, until, stop)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
