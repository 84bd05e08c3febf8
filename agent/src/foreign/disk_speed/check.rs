//! Runs the check on a disk or an open file.

use std::fs::File;
use std::time::{Duration, Instant};

use super::{Load, Outcome, SpeedError, Stop, blank, load, target};
use crate::root::Root;

/// What part of the given time may be spent writing; the rest is for making the region zero again.
const WRITING_PART: f64 = 0.8;

/// Measures the disk at `path` (any name of its device), within `limit`, unless `stop` says so earlier. Blocks.
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
    let file = match target::claim(&disk) {
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
    // Whatever happened between the first look and the claim.
    if let Some(reason) = target::in_use(&root, &disk) {
        return Ok(Outcome::NotMeasured(reason));
    }
    measure(path, &file, disk.size, &Load::STANDARD, until, stop)
}

/// The same on an open file or device of `size` bytes that nobody else uses.
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
