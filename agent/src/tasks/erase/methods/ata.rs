//! The security commands of ATA. Source: ACS-3, §7.36 to §7.41 and the words 82, 89, 90 and 128 of IDENTIFY DEVICE.

use std::time::Duration;

use muster_api::steps::ErasureMethod;
use tracing::{info, warn};

use crate::erase::commands::{Ata, Commands, Data, Refusal};
use crate::erase::error::EraseError;
use crate::erase::mark::{Left, Marks};
use crate::erase::progress::Progress;
use crate::install::disk::wipe::Range;

const IDENTIFY_DEVICE: u8 = 0xec;
const SET_PASSWORD: u8 = 0xf1;
const UNLOCK: u8 = 0xf2;
const ERASE_PREPARE: u8 = 0xf3;
const ERASE_UNIT: u8 = 0xf4;
const DISABLE_PASSWORD: u8 = 0xf6;
const BLOCK: usize = 512;

/// The password that a disk has while it erases itself. It is no secret: a disk that lost power then is locked with it, and
/// docs/erasing.md names it for those who have to unlock one.
pub const PASSWORD: &[u8] = b"muster-erases-this-disk";
/// Limit of a command that moves no data: a disk that sleeps starts its motor first.
const SHORT: Duration = Duration::from_secs(60);
/// Added to the disk's own estimate, half of which is added, too: estimates are those of new disks.
const MARGIN: Duration = Duration::from_secs(30 * 60);
/// Limit for disks without an estimate: 20 TB at 120 MB in a second.
const UNKNOWN: Duration = Duration::from_secs(48 * 60 * 60);
/// Longest limit.
const LONGEST: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The security that a disk has, and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Security {
    pub supported: bool,
    /// A password is set.
    pub enabled: bool,
    pub locked: bool,
    /// It takes no security command until it is switched on again.
    pub frozen: bool,
    /// Too many passwords were tried.
    pub expired: bool,
    /// It has the enhanced erase.
    pub enhanced: bool,
    pub limit: Duration,
}

impl Security {
    fn of(identity: &[u8; BLOCK]) -> Self {
        let word = |number: usize| u16::from_le_bytes([identity[2 * number], identity[2 * number + 1]]);
        let bit = |number: u16| word(128) & (1 << number) != 0;
        let enhanced = bit(5);
        let estimate = estimate(word(if enhanced { 90 } else { 89 }));
        Self {
            supported: word(82) & 2 != 0 && bit(0),
            enabled: bit(1),
            locked: bit(2),
            frozen: bit(3),
            expired: bit(4),
            enhanced,
            limit: estimate
                .map_or(UNKNOWN, |time| time * 3 / 2 + MARGIN)
                .min(LONGEST),
        }
    }

    /// The reason why the disk cannot erase itself.
    pub fn obstacle(&self) -> Option<&'static str> {
        if !self.supported {
            return Some("the disk has no security commands of ATA");
        }
        if self.frozen {
            return Some(
                "the firmware of the machine has frozen the security of the disk; switching the machine off and on, or a setting of the \
                 firmware, may help",
            );
        }
        if self.expired {
            return Some(
                "too many passwords were tried since the disk was switched on; switch the machine off and on",
            );
        }
        if self.locked {
            return Some("the disk is locked with a password that is not this agent's");
        }
        if self.enabled {
            return Some("the disk has a password that is not this agent's");
        }
        None
    }
}

/// None where the disk gives none, or the largest that the older form of the word has, which stands for any longer one.
fn estimate(word: u16) -> Option<Duration> {
    let pairs = match word {
        long if long & 0x8000 != 0 => long & 0x7fff,
        short => match short & 0xff {
            0xff => 0,
            pairs => pairs,
        },
    };
    (pairs > 0).then(|| Duration::from_secs(u64::from(pairs) * 2 * 60))
}

/// # Errors
/// [`Refusal`]
pub fn security(disk: &mut dyn Commands) -> Result<Security, Refusal> {
    let mut identity = [0; BLOCK];
    let command = Ata {
        command: IDENTIFY_DEVICE,
        limit: SHORT,
    };
    disk.ata(&command, Data::In(&mut identity))?;
    Ok(Security::of(&identity))
}

/// Takes this agent's password from a disk that lost power while it erased itself. A disk counts wrong passwords, so each command is sent
/// once.
pub fn recover(disk: &mut dyn Commands) {
    let Ok(security) = security(disk) else {
        return;
    };
    if !security.enabled || security.frozen || security.expired {
        return;
    }
    let taken = if security.locked {
        with_password(disk, UNLOCK, 0).and_then(|()| with_password(disk, DISABLE_PASSWORD, 0))
    } else {
        with_password(disk, DISABLE_PASSWORD, 0)
    };
    match taken {
        Ok(()) => info!("the disk still had the password of an erasure that did not end"),
        Err(refusal) => warn!("the disk has a password: {refusal}"),
    }
}

/// Makes sure that an erasure that failed has left no password, with which the disk would be locked as soon as it is switched on again.
///
/// # Errors
/// Fails if it has one still, or that cannot be seen.
pub fn check_open(disk: &mut dyn Commands) -> Result<(), EraseError> {
    recover(disk);
    if security(disk).is_ok_and(|security| !security.enabled) {
        return Ok(());
    }
    Err(EraseError::Failed(
        "the disk keeps the password of an ATA secure erase that failed, and is locked once it is switched off: switch the machine off and \
         on, and erase it again, which takes the password off"
            .to_owned(),
    ))
}

/// Lets the disk erase itself; returns the number of samples that were read back.
///
/// # Errors
/// Fails if the disk refuses, does not end in time, or keeps data.
pub fn erase(disk: &mut dyn Commands, security: &Security, progress: &Progress) -> Result<u64, EraseError> {
    progress.method(ErasureMethod::AtaSecureErase);
    let range = Range {
        start: 0,
        end: disk.size(),
    };
    let marks = Marks::write(disk, range, progress)?;
    progress.expect(SHORT);
    let failed = |what: &'static str| move |refusal: Refusal| EraseError::of(what, refusal);
    with_password(disk, SET_PASSWORD, 0).map_err(failed("SECURITY SET PASSWORD"))?;
    if let Err(error) = erase_unit(disk, security, progress) {
        if let Err(refusal) = with_password(disk, DISABLE_PASSWORD, 0) {
            warn!("the password of the erasure stays on the disk: {refusal}");
        }
        return Err(error);
    }
    progress.expect(SHORT);
    let after = self::security(disk).map_err(failed("IDENTIFY DEVICE after the erasure"))?;
    if after.enabled {
        recover(disk);
        return Err(EraseError::Failed(
            "SECURITY ERASE UNIT: the disk still has its password, so it has not erased itself".to_owned(),
        ));
    }
    let left = if security.enhanced {
        Left::Changed
    } else {
        Left::Zeros
    };
    marks.check(disk, left, progress)
}

fn erase_unit(disk: &mut dyn Commands, security: &Security, progress: &Progress) -> Result<(), EraseError> {
    let prepare = Ata {
        command: ERASE_PREPARE,
        limit: SHORT,
    };
    disk.ata(&prepare, Data::Nothing)
        .map_err(|refusal| EraseError::of("SECURITY ERASE PREPARE", refusal))?;
    let kind = if security.enhanced { 2 } else { 0 };
    let erase = Ata {
        command: ERASE_UNIT,
        limit: security.limit,
    };
    progress.expect(security.limit);
    disk.ata(&erase, Data::Out(&block(kind)))
        .map_err(|refusal| EraseError::of("SECURITY ERASE UNIT", refusal))
}

fn with_password(disk: &mut dyn Commands, command: u8, control: u16) -> Result<(), Refusal> {
    let command = Ata {
        command,
        limit: SHORT,
    };
    disk.ata(&command, Data::Out(&block(control)))
}

/// The data of a command with the user's password.
fn block(control: u16) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..2].copy_from_slice(&control.to_le_bytes());
    block[2..2 + PASSWORD.len()].copy_from_slice(PASSWORD);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_two_forms() {
        let minutes = |word| estimate(word).map(|time| time.as_secs() / 60);
        assert_eq!(minutes(0), None);
        assert_eq!(minutes(1), Some(2));
        assert_eq!(minutes(0x00fe), Some(508));
        assert_eq!(minutes(0x00ff), None);
        assert_eq!(minutes(0x8000), None);
        assert_eq!(minutes(0x8000 | 600), Some(1200));
    }

    #[test]
    fn the_words_of_a_disk_are_its_security_and_limit() {
        let mut identity = [0; BLOCK];
        let mut set = |word: usize, value: u16| {
            identity[2 * word..2 * word + 2].copy_from_slice(&value.to_le_bytes());
        };
        set(82, 2);
        set(89, 60);
        set(90, 1);
        set(128, 0b10_1001);
        let security = Security::of(&identity);
        assert!(security.supported && security.frozen && security.enhanced);
        assert!(!security.enabled && !security.locked && !security.expired);
        assert_eq!(security.limit, Duration::from_secs(3 * 60) + MARGIN);
        assert!(security.obstacle().unwrap().contains("frozen"));
        let none = Security::of(&[0; BLOCK]);
        assert_eq!(none.limit, UNKNOWN);
        assert!(none.obstacle().unwrap().contains("no security"));
    }

    #[test]
    fn the_password_fits() {
        let data = block(2);
        assert_eq!((data[0], data[1], &data[2..25]), (2, 0, PASSWORD));
        assert!(data[25..].iter().all(|byte| *byte == 0));
    }
}
