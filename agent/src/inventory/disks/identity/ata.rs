//! Parses ATA IDENTIFY data. Source: ATA Command Set, IDENTIFY DEVICE; property names are the same as in udev's
//! `ata_id`.

use crate::inventory::disks::Properties;
use crate::inventory::disks::udev_text::without_blanks;

const SERIAL_WORDS: std::ops::Range<usize> = 10..20;
const MODEL_WORDS: std::ops::Range<usize> = 27..47;
const WWN_WORDS: std::ops::Range<usize> = 108..112;
/// The first four bits of an IEEE registered name.
const NAA_REGISTERED: u16 = 5;

/// `identify` has 512 bytes.
pub(super) fn read(identify: &[u8], properties: &mut Properties) {
    let word = |at: usize| u16::from_le_bytes([identify[2 * at], identify[2 * at + 1]]);
    // Text has the first character in the upper half of each word.
    let text = |words: std::ops::Range<usize>| {
        let bytes: Vec<u8> = words.flat_map(|at| word(at).to_be_bytes()).collect();
        without_blanks(&bytes)
    };
    let (model, serial) = (text(MODEL_WORDS), text(SERIAL_WORDS));
    properties.set("ID_BUS", "ata");
    properties.set("ID_ATA", "1");
    properties.set(
        "ID_SERIAL",
        if serial.is_empty() {
            model.clone()
        } else {
            format!("{model}_{serial}")
        },
    );
    properties.set("ID_MODEL", model);
    properties.set("ID_SERIAL_SHORT", serial);
    if word(WWN_WORDS.start) >> 12 == NAA_REGISTERED {
        let name = WWN_WORDS.fold(0_u64, |name, at| name << 16 | u64::from(word(at)));
        properties.set("ID_WWN", format!("0x{name:016x}"));
        properties.set("ID_WWN_WITH_EXTENSION", format!("0x{name:016x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify(model: &str, serial: &str, wwn: u64) -> Vec<u8> {
        let mut bytes = vec![0_u8; 512];
        let mut put = |at: usize, length: usize, text: &str| {
            let padded = format!("{text:<length$}");
            for (i, pair) in padded.as_bytes().chunks(2).enumerate() {
                bytes[2 * (at + i)] = pair[1];
                bytes[2 * (at + i) + 1] = pair[0];
            }
        };
        put(SERIAL_WORDS.start, 20, serial);
        put(MODEL_WORDS.start, 40, model);
        for (i, pair) in wwn.to_be_bytes().chunks(2).enumerate() {
            bytes[2 * (WWN_WORDS.start + i)] = pair[1];
            bytes[2 * (WWN_WORDS.start + i) + 1] = pair[0];
        }
        bytes
    }

    #[test]
    fn model_serial_and_name_are_read_as_ata_id_reads_them() {
        let mut properties = Properties::default();
        read(
            &identify("ST4000 NM0035-1V4107", "ZC1 (9)", 0x5000c500a0b0c0d1),
            &mut properties,
        );
        assert_eq!(properties.get("ID_MODEL"), Some("ST4000_NM0035-1V4107"));
        assert_eq!(properties.get("ID_SERIAL_SHORT"), Some("ZC1__9_"));
        assert_eq!(properties.get("ID_SERIAL"), Some("ST4000_NM0035-1V4107_ZC1__9_"));
        assert_eq!(
            properties.get("ID_WWN_WITH_EXTENSION"),
            Some("0x5000c500a0b0c0d1")
        );
    }

    #[test]
    fn a_drive_without_serial_and_name_has_its_model_for_serial() {
        let mut properties = Properties::default();
        read(&identify("QEMU DVD-ROM", "", 0), &mut properties);
        assert_eq!(properties.get("ID_SERIAL"), Some("QEMU_DVD-ROM"));
        assert_eq!(properties.get("ID_SERIAL_SHORT"), None);
        assert_eq!(properties.get("ID_WWN"), None);
    }
}
