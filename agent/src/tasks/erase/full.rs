//! Erases all sectors of a disk: tries the ways of its plan in their order.

use muster_api::steps::ErasureMethod;
use tracing::{info, warn};

use super::commands::{Commands, Kind};
use super::error::EraseError;
use super::mark::{Left, Marks};
use super::methods::{ata, nvme};
use super::plan::{Attempt, Plan};
use super::progress::Progress;
use super::{discard, overwrite};
use crate::install::disk::wipe::Range;

/// A disk that is erased.
#[derive(Debug, PartialEq, Eq)]
pub struct Erased {
    /// Sectors that were read back.
    pub samples: u64,
    /// Why earlier ways were not possible; empty if none was.
    pub notes: String,
}

/// # Errors
/// [`EraseError`]: all ways, and the reason of each.
pub fn erase(disk: &mut dyn Commands, zeros: bool, progress: &Progress) -> Result<Erased, EraseError> {
    let mut earlier = None;
    match disk.kind() {
        Kind::Nvme(_) => {
            if nvme::wait_for_running(disk, progress)? && !zeros {
                match nvme::check_readable(disk, progress) {
                    Ok(samples) => {
                        let notes =
                            "a sanitize ran already, and was waited for; that the samples can be read is all that they show"
                                .to_owned();
                        return Ok(Erased { samples, notes });
                    }
                    Err(EraseError::Stopped) => return Err(EraseError::Stopped),
                    Err(EraseError::Failed(reason)) => {
                        earlier = Some(format!("a sanitize that ran already: {reason}"));
                    }
                }
            }
        }
        Kind::Ata => ata::recover(disk),
        Kind::Plain => {}
    }
    let plan = Plan::of(disk, zeros);
    let mut notes: Vec<String> = earlier.into_iter().chain(plan.notes).collect();
    let mut may_be_locked = false;
    for attempt in plan.attempts {
        progress.go_on()?;
        info!(?attempt, "erasing");
        match carry_out(disk, attempt, progress) {
            Ok(samples) => {
                if may_be_locked {
                    ata::check_open(disk)?;
                }
                let notes = notes.join("; ");
                return Ok(Erased { samples, notes });
            }
            Err(EraseError::Stopped) => return Err(EraseError::Stopped),
            Err(EraseError::Failed(reason)) => {
                warn!(?attempt, "not erased: {reason}");
                notes.push(reason);
                may_be_locked |= matches!(attempt, Attempt::Ata(_));
            }
        }
    }
    Err(EraseError::Failed(notes.join("; ")))
}

/// Returns the number of samples.
fn carry_out(disk: &mut dyn Commands, attempt: Attempt, progress: &Progress) -> Result<u64, EraseError> {
    let range = Range {
        start: 0,
        end: disk.size(),
    };
    match attempt {
        Attempt::Sanitize(action) => nvme::sanitize(disk, action, progress),
        Attempt::Format(namespace, word) => nvme::format(disk, namespace, word, progress),
        Attempt::Ata(security) => ata::erase(disk, &security, progress),
        Attempt::Discard => {
            progress.method(ErasureMethod::Discard);
            discard::range(disk, range, 0, progress)
        }
        Attempt::Overwrite => {
            progress.method(ErasureMethod::Overwrite);
            let marks = Marks::write(disk, range, progress)?;
            overwrite::zeros(disk, range, 0, progress)?;
            marks
                .check(disk, Left::Zeros, progress)
                .map_err(|error| error.during("overwriting"))
        }
    }
}

#[cfg(test)]
#[path = "full_tests.rs"]
mod tests;
