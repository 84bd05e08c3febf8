//! Writes and reads UEFI load options, the values of `Boot####`. Source: UEFI specification, §3.1.3 and §10.3.
//! Does no I/O.

use crate::gpt::Partition;

const ACTIVE: u32 = 1;
const MEDIA: u8 = 4;
const HARD_DRIVE: u8 = 1;
const FILE_PATH: u8 = 4;
const END: [u8; 4] = [0x7f, 0xff, 4, 0];
const GPT: u8 = 2;
const BY_GUID: u8 = 2;

/// A load option that starts a file on a partition. `path` is with backslashes.
pub fn bytes(label: &str, partition: &Partition, path: &str) -> Vec<u8> {
    let mut drive = vec![MEDIA, HARD_DRIVE, 42, 0];
    drive.extend(partition.number.to_le_bytes());
    drive.extend(partition.first_sector.to_le_bytes());
    drive.extend(partition.sectors.to_le_bytes());
    drive.extend(partition.id);
    drive.extend([GPT, BY_GUID]);
    let text = utf16(path);
    let mut file = vec![MEDIA, FILE_PATH];
    file.extend((4 + text.len() as u16).to_le_bytes());
    file.extend(text);
    let device_path = [drive, file, END.to_vec()].concat();
    let mut option = ACTIVE.to_le_bytes().to_vec();
    option.extend((device_path.len() as u16).to_le_bytes());
    option.extend(utf16(label));
    option.extend(device_path);
    option
}

/// The order with `first` in front.
pub fn order_with(first: u16, order: &[u8]) -> Vec<u8> {
    let others = order
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .filter(|number| *number != first);
    std::iter::once(first)
        .chain(others)
        .flat_map(u16::to_le_bytes)
        .collect()
}

/// The number of a variable `Boot####`; none for another name.
pub fn number(name: &str) -> Option<u16> {
    let digits = name.strip_prefix("Boot").filter(|digits| digits.len() == 4)?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())?
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16()
        .chain([0])
        .flat_map(u16::to_le_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_the_one_of_efibootmgr() {
        let partition = Partition {
            number: 2,
            name: "EFI-SYSTEM".into(),
            kind: crate::gpt::EFI_SYSTEM,
            id: [0xab; 16],
            first_sector: 4096,
            sectors: 260_096,
            start: 4096 * 512,
            size: 260_096 * 512,
        };
        let option = bytes("OS", &partition, r"\EFI\redhat\shimx64.efi");
        // Attributes, length of the path, "OS".
        assert_eq!(option[..4], [1, 0, 0, 0]);
        assert_eq!(
            usize::from(u16::from_le_bytes([option[4], option[5]])),
            option.len() - 6 - 6
        );
        assert_eq!(option[6..12], [b'O', 0, b'S', 0, 0, 0]);
        let drive = &option[12..54];
        assert_eq!(drive[..8], [4, 1, 42, 0, 2, 0, 0, 0]);
        assert_eq!(drive[8..16], 4096_u64.to_le_bytes());
        assert_eq!((drive[40], drive[41]), (2, 2));
        let file = &option[54..option.len() - 4];
        assert_eq!((file[0], file[1], usize::from(file[2])), (4, 4, file.len()));
        assert_eq!(option[option.len() - 4..], END);
    }

    #[test]
    fn an_entry_moves_to_the_front_of_the_order() {
        assert_eq!(order_with(3, &[0, 0, 3, 0, 1, 0]), [3, 0, 0, 0, 1, 0]);
        assert_eq!(order_with(3, &[]), [3, 0]);
    }

    #[test]
    fn numbers_are_four_hexadecimal_digits() {
        assert_eq!(number("Boot000A"), Some(10));
        for other in ["BootOrder", "Boot", "Boot00000", "BootNext", "Boot+00A"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
