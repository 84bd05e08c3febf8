//! Reads the reservation that an initiator holds on a SCSI disk. Source: SPC-4, §6.15.3.

use super::transfer::{self, Answer};
use crate::root::{ProbeError, Root};

const READ_RESERVATION: u8 = 1;
const ANSWER_BYTES: u8 = 24;
/// A status: the command met a reservation of another machine.
const CONFLICT: u8 = 0x18;

/// The description of the reservation; none without one, or if the disk has no such commands.
///
/// # Errors
/// Fails if the disk does not respond.
pub(crate) fn held(root: &Root, name: &str) -> Result<Option<String>, ProbeError> {
    // Others respond by a translation that has no reservations, or not at all.
    if !name.starts_with("sd") {
        return Ok(None);
    }
    root.probe(&format!("disk.{name}.reservation"), || {
        let answer = transfer::persistent_reserve_in(name, READ_RESERVATION, ANSWER_BYTES)?;
        Ok(read(&answer))
    })
}

fn read(answer: &Answer) -> Option<String> {
    if answer.status == CONFLICT {
        return Some("another machine holds a SCSI reservation on it".to_owned());
    }
    // A disk without persistent reservations refuses the command.
    if answer.status != 0 || answer.host_status != 0 {
        return None;
    }
    let bytes = &answer.bytes;
    let length = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
    if length < 16 {
        return None;
    }
    let key = hex::encode(bytes.get(8..16)?);
    let kind = match bytes.get(21)? & 0x0f {
        1 => "write exclusive",
        3 => "exclusive access",
        5 => "write exclusive, registrants only",
        6 => "exclusive access, registrants only",
        7 => "write exclusive, all registrants",
        8 => "exclusive access, all registrants",
        _ => "of an unknown type",
    };
    Some(format!(
        "a SCSI persistent reservation is held on it ({kind}, key 0x{key})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u8, bytes: &[u8]) -> Answer {
        Answer {
            bytes: bytes.to_vec(),
            status,
            host_status: 0,
        }
    }

    #[test]
    fn a_reservation_is_named_with_its_key() {
        let mut bytes = [0; 24];
        bytes[7] = 16;
        bytes[8..16].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0xab, 0xcd]);
        bytes[21] = 5;
        let held = read(&answer(0, &bytes)).unwrap();
        assert!(
            held.contains("registrants only, key 0x000000000000abcd"),
            "{held}"
        );
        assert!(read(&answer(CONFLICT, &[])).unwrap().contains("another machine"));
    }

    #[test]
    fn a_free_disk_and_one_without_reservations_are_free() {
        assert_eq!(read(&answer(0, &[0; 24])), None);
        assert_eq!(read(&answer(2, &[0; 24])), None);
        assert_eq!(read(&answer(0, &[0, 0])), None);
    }
}
