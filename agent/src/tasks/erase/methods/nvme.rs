//! Sanitize and Format of NVMe. Source: NVM Express base specification 2.0: §5.17 (Identify), §5.24 (Sanitize), §5.14 (Format NVM),
//! §5.16.1.19 (Sanitize Status log page).

use std::time::Duration;

use muster_api::steps::ErasureMethod;
use tracing::warn;

use crate::erase::commands::{Commands, NvmeAdmin, Refusal};
use crate::erase::error::EraseError;
use crate::erase::mark::{Left, Marks};
use crate::erase::progress::Progress;
use crate::install::disk::wipe::Range;
use crate::passthrough::{ALL_NAMESPACES, GET_LOG_PAGE};

pub const IDENTIFY: u8 = 0x06;
pub const FORMAT: u8 = 0x80;
pub const SANITIZE: u8 = 0x84;
const OF_NAMESPACE: u32 = 0;
const OF_CONTROLLER: u32 = 1;
const ACTIVE_NAMESPACES: u32 = 2;
const ALLOCATED_NAMESPACES: u32 = 0x10;
const SANITIZE_STATUS: u32 = 0x81;
const IDENTITY: usize = 4096;
const STATUS: usize = 512;
/// "Exit Failure Mode" of Sanitize.
const EXIT_FAILURE: u32 = 1;
/// A sanitize that fails leaves the disk usable ("Allow Unrestricted Sanitize Exit").
const UNRESTRICTED: u32 = 1 << 3;

/// Limit of a command that returns at once: the kernel's own for admin commands.
const SHORT: Duration = Duration::from_secs(60);
/// Limit of a format: controllers give no estimate, and the largest that overwrite their flash need two hours.
const FORMATTING: Duration = Duration::from_secs(6 * 60 * 60);
/// Limit of a sanitize of a controller without an estimate.
const UNKNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// Added to twice the estimate.
const MARGIN: Duration = Duration::from_secs(10 * 60);
const INTERVAL: Duration = Duration::from_secs(5);
/// Requests for the status in a row that may fail: controllers reset themselves.
const MOST_LOST: u32 = 12;

/// The kind of a sanitize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Block = 2,
    Crypto = 4,
}

/// The abilities of a controller, for one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Controller {
    pub sanitize: Option<Action>,
    /// It can format, with this as the command's 10th word.
    pub format: Option<u32>,
    /// A format erases all namespaces.
    pub formats_all: bool,
    /// There is no other namespace.
    pub alone: bool,
}

/// # Errors
/// [`Refusal`]
pub fn controller(disk: &mut dyn Commands, namespace: u32) -> Result<Controller, Refusal> {
    let identity = identify(disk, 0, OF_CONTROLLER)?;
    let of_namespace = identify(disk, namespace, OF_NAMESPACE)?;
    let long =
        |at: usize| u32::from_le_bytes([identity[at], identity[at + 1], identity[at + 2], identity[at + 3]]);
    let optional = u16::from_le_bytes([identity[256], identity[257]]);
    let (attributes, sanitizes) = (identity[524], long(328));
    let mut alone = lists_only(&identify(disk, 0, ACTIVE_NAMESPACES)?, namespace);
    // Namespaces of other controllers, or of none.
    if optional & (1 << 3) != 0 {
        alone &= lists_only(&identify(disk, 0, ALLOCATED_NAMESPACES)?, namespace);
    }
    let sanitize = match sanitizes {
        can if can & 1 != 0 => Some(Action::Crypto),
        can if can & 2 != 0 => Some(Action::Block),
        _ => None,
    };
    let crypto = attributes & (1 << 2) != 0;
    let format = format_word(of_namespace[26], of_namespace[29], if crypto { 2 } else { 1 });
    Ok(Controller {
        sanitize,
        format: (optional & (1 << 1) != 0).then_some(format),
        formats_all: attributes & 0b11 != 0,
        alone,
    })
}

/// The format that the namespace has already, with secure erase settings.
fn format_word(formatted: u8, protection: u8, erase: u32) -> u32 {
    let (formatted, protection) = (u32::from(formatted), u32::from(protection));
    let bits = |from: u32, shift: u32, mask: u32| (from >> shift) & mask;
    bits(formatted, 0, 0xf)
        | bits(formatted, 4, 1) << 4
        | bits(protection, 0, 7) << 5
        | bits(protection, 3, 1) << 8
        | erase << 9
        | bits(formatted, 5, 3) << 12
}

/// True if the list has this namespace and no other.
fn lists_only(list: &[u8], namespace: u32) -> bool {
    let numbers = list
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    numbers.take_while(|number| *number != 0).eq([namespace])
}

fn identify(disk: &mut dyn Commands, namespace: u32, what: u32) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; IDENTITY];
    let command = NvmeAdmin {
        opcode: IDENTIFY,
        namespace,
        cdw10: what,
        limit: SHORT,
    };
    disk.nvme(&command, &mut bytes)?;
    Ok(bytes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Never,
    Done,
    /// The share of 65,536.
    Running(u16),
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    state: State,
    block: Option<Duration>,
    crypto: Option<Duration>,
}

impl Status {
    fn of(page: &[u8; STATUS]) -> Self {
        let estimate =
            |at: usize| match u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]) {
                u32::MAX => None,
                seconds => Some(Duration::from_secs(seconds.into())),
            };
        Self {
            state: match page[2] & 7 {
                0 => State::Never,
                2 => State::Running(u16::from_le_bytes([page[0], page[1]])),
                3 => State::Failed,
                _ => State::Done,
            },
            block: estimate(12),
            crypto: estimate(16),
        }
    }

    /// The limit of an action, or of one that is not known.
    fn limit(&self, action: Option<Action>) -> Duration {
        let estimate = match action {
            Some(Action::Block) => self.block,
            Some(Action::Crypto) => self.crypto,
            None => None,
        };
        estimate.map_or(UNKNOWN, |time| time * 2 + MARGIN)
    }
}

fn status(disk: &mut dyn Commands) -> Result<Status, Refusal> {
    let mut page = [0; STATUS];
    let words = (STATUS / 4 - 1) as u32;
    let command = NvmeAdmin {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        cdw10: SANITIZE_STATUS | words << 16,
        limit: SHORT,
    };
    disk.nvme(&command, &mut page)?;
    Ok(Status::of(&page))
}

/// Waits for a sanitize that runs already, as after a power cut. True if one did, and ended well: nothing could be written meanwhile.
///
/// # Errors
/// Fails if it does not end in time, or the erasure is to end.
pub fn wait_for_running(disk: &mut dyn Commands, progress: &Progress) -> Result<bool, EraseError> {
    // Controllers without sanitize have no such page.
    let Ok(found) = status(disk) else {
        return Ok(false);
    };
    if !matches!(found.state, State::Running(_)) {
        return Ok(false);
    }
    progress.method(ErasureMethod::NvmeSanitize);
    match wait(disk, found.limit(None), progress) {
        Ok(()) => Ok(true),
        Err(EraseError::Stopped) => Err(EraseError::Stopped),
        Err(EraseError::Failed(reason)) => {
            warn!("the sanitize that ran already: {reason}");
            Ok(false)
        }
    }
}

/// Reads samples of a disk whose sanitize was waited for.
///
/// # Errors
/// Fails if one cannot be read.
pub fn check_readable(disk: &mut dyn Commands, progress: &Progress) -> Result<u64, EraseError> {
    let range = whole(disk);
    Marks::unwritten(range).check(disk, Left::Changed, progress)
}

/// Sanitizes the disk; returns the number of samples that were read back.
///
/// # Errors
/// Fails if the controller refuses, fails, does not end in time, or keeps data.
pub fn sanitize(disk: &mut dyn Commands, action: Action, progress: &Progress) -> Result<u64, EraseError> {
    progress.method(ErasureMethod::NvmeSanitize);
    let failed = |refusal: Refusal| EraseError::of("NVMe Sanitize", refusal);
    let before = status(disk).map_err(failed)?;
    let range = whole(disk);
    // After one that failed, the controller takes nothing but another.
    let marks = if before.state == State::Failed {
        Marks::unwritten(range)
    } else {
        Marks::write(disk, range, progress)?
    };
    progress.expect(SHORT);
    match start_sanitize(disk, action as u32 | UNRESTRICTED) {
        Ok(()) => {}
        // One that began restricted can only be followed by another such.
        Err(Refusal::Nvme(_)) if before.state == State::Failed => {
            start_sanitize(disk, action as u32).map_err(failed)?;
        }
        Err(refusal) => return Err(failed(refusal)),
    }
    wait(disk, before.limit(Some(action)), progress)?;
    marks
        .check(disk, Left::Changed, progress)
        .map_err(|error| error.during("NVMe Sanitize"))
}

/// Sends Sanitize, which returns at once.
fn start_sanitize(disk: &mut dyn Commands, word: u32) -> Result<(), Refusal> {
    let command = NvmeAdmin {
        opcode: SANITIZE,
        namespace: 0,
        cdw10: word,
        limit: SHORT,
    };
    disk.nvme(&command, &mut [])
}

/// Waits for the end of a sanitize.
fn wait(disk: &mut dyn Commands, limit: Duration, progress: &Progress) -> Result<(), EraseError> {
    let began = disk.elapsed();
    let mut lost = 0;
    loop {
        progress.go_on()?;
        progress.expect(SHORT + INTERVAL);
        match status(disk) {
            Ok(Status {
                state: State::Running(share),
                ..
            }) => {
                lost = 0;
                progress.share(share);
            }
            Ok(Status {
                state: State::Done, ..
            }) => return Ok(()),
            Ok(Status {
                state: State::Failed, ..
            }) => {
                let left = start_sanitize(disk, EXIT_FAILURE);
                return Err(EraseError::Failed(format!(
                    "NVMe Sanitize: the controller reports that it failed{}",
                    left.err().map_or_else(String::new, |refusal| format!(
                        ", and stays in that state ({refusal})"
                    ))
                )));
            }
            Ok(Status {
                state: State::Never, ..
            }) => {
                return Err(EraseError::Failed(
                    "NVMe Sanitize: the controller took the command, and reports that none was ever begun"
                        .to_owned(),
                ));
            }
            Err(refusal) => {
                lost += 1;
                if lost > MOST_LOST {
                    return Err(EraseError::of(
                        "NVMe Sanitize: its status cannot be read",
                        refusal,
                    ));
                }
            }
        }
        if disk.elapsed().saturating_sub(began) >= limit {
            return Err(EraseError::Failed(format!(
                "NVMe Sanitize: it has not ended within {} s",
                limit.as_secs()
            )));
        }
        disk.pause(INTERVAL);
    }
}

/// Formats the namespace with secure erase; returns the number of samples that were read back.
///
/// # Errors
/// Fails if the controller refuses, does not end in time, or keeps data.
pub fn format(
    disk: &mut dyn Commands,
    namespace: u32,
    word: u32,
    progress: &Progress,
) -> Result<u64, EraseError> {
    progress.method(ErasureMethod::NvmeFormat);
    let range = whole(disk);
    let marks = Marks::write(disk, range, progress)?;
    let command = NvmeAdmin {
        opcode: FORMAT,
        namespace,
        cdw10: word,
        limit: FORMATTING,
    };
    progress.expect(FORMATTING);
    disk.nvme(&command, &mut [])
        .map_err(|refusal| EraseError::of("NVMe Format", refusal))?;
    marks
        .check(disk, Left::Changed, progress)
        .map_err(|error| error.during("NVMe Format"))
}

fn whole(disk: &dyn Commands) -> Range {
    Range {
        start: 0,
        end: disk.size(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_keeps_sectors_metadata_and_protection() {
        assert_eq!(format_word(0, 0, 1), 1 << 9);
        // The format 0x25 of 64, extended metadata, protection of type 1 at the beginning.
        assert_eq!(format_word(0b0101_0101, 0b1001, 2), 0b10_0101_0011_0101);
    }

    #[test]
    fn other_namespaces_are_seen() {
        let list = |numbers: &[u32]| -> Vec<u8> {
            let mut list: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            list.resize(4096, 0);
            list
        };
        assert!(lists_only(&list(&[1]), 1));
        assert!(!lists_only(&list(&[1, 2]), 1));
        assert!(!lists_only(&list(&[2]), 1));
        assert!(!lists_only(&list(&[]), 1));
    }

    #[test]
    fn a_status_has_state_share_and_estimates() {
        let mut page = [0; STATUS];
        page[..2].copy_from_slice(&32_768_u16.to_le_bytes());
        page[2] = 2;
        page[3] = 1;
        page[12..16].copy_from_slice(&300_u32.to_le_bytes());
        page[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        let status = Status::of(&page);
        assert_eq!(status.state, State::Running(32_768));
        assert_eq!(
            status.limit(Some(Action::Block)),
            Duration::from_secs(600) + MARGIN
        );
        assert_eq!(status.limit(Some(Action::Crypto)), UNKNOWN);
        page[2] = 4;
        assert_eq!(
            Status::of(&page).state,
            State::Done,
            "deallocated, too, though that was not requested"
        );
    }
}
