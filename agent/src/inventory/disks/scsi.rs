//! Parses SCSI INQUIRY data and the pages of vital product data 80h and 83h. Source: SPC-4, §6.6.2 and §7.8;
//! the choice among designators and the spelling of serials are the same as in udev's `scsi_id`.

use super::Properties;
use super::block::BlockDevice;
use super::udev_text::without_blanks;

const NAA: u8 = 3;
const EUI_64: u8 = 2;
const T10_VENDOR: u8 = 1;
const VENDOR_SPECIFIC: u8 = 0;
const BINARY: u8 = 1;
const ASCII: u8 = 2;
const NAA_REGISTERED_EXTENDED: u8 = 6;
const NAA_REGISTERED: u8 = 5;
const NAA_EXTENDED: u8 = 2;

/// In order of preference: type, and for NAA its first four bits. Binary before text within each.
const PREFERENCE: [(u8, Option<u8>); 7] = [
    (NAA, Some(NAA_REGISTERED_EXTENDED)),
    (NAA, Some(NAA_REGISTERED)),
    (NAA, Some(NAA_EXTENDED)),
    (NAA, None),
    (EUI_64, None),
    (T10_VENDOR, None),
    (VENDOR_SPECIFIC, None),
];

/// A name of a logical unit, from page 83h.
#[derive(Debug, Clone, PartialEq)]
struct Designator<'a> {
    kind: u8,
    code_set: u8,
    bytes: &'a [u8],
}

pub(super) fn read(device: &BlockDevice<'_>, properties: &mut Properties) {
    let Some(inquiry) = device.inquiry().filter(|inquiry| inquiry.len() >= 36) else {
        return;
    };
    let (vendor, model) = (&inquiry[8..16], &inquiry[16..32]);
    properties.set("ID_SCSI", "1");
    properties.set("ID_BUS", "scsi");
    properties.set("ID_VENDOR", without_blanks(vendor));
    properties.set("ID_MODEL", without_blanks(model));
    let unit_serial = device.vpd_page(0x80).and_then(|page| unit_serial(&page));
    let identified = device
        .vpd_page(0x83)
        .is_some_and(|page| from_designators(&page, vendor, model, properties));
    if let Some(serial) = unit_serial {
        if !identified {
            let whole = [b"S".as_slice(), vendor, model, serial.as_bytes()].concat();
            properties.set("ID_SERIAL", without_blanks(&whole));
            properties.set("ID_SERIAL_SHORT", serial.clone());
        }
        properties.set("ID_SCSI_SERIAL", serial);
    }
}

/// Page 80h.
pub(super) fn unit_serial(page: &[u8]) -> Option<String> {
    if page.get(1) != Some(&0x80) {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let bytes = page.get(4..)?;
    let serial = without_blanks(&bytes[..length.min(bytes.len())]);
    (!serial.is_empty()).then_some(serial)
}

/// True when page 83h has a name that makes a serial.
fn from_designators(page: &[u8], vendor: &[u8], model: &[u8], properties: &mut Properties) -> bool {
    let found = designators(page);
    let best = PREFERENCE.iter().find_map(|(kind, first)| {
        [BINARY, ASCII].into_iter().find_map(|code_set| {
            found.iter().find(|designator| {
                designator.kind == *kind
                    && designator.code_set == code_set
                    && first
                        .is_none_or(|first| designator.bytes.first().is_some_and(|byte| byte >> 4 == first))
            })
        })
    });
    let Some(best) = best else {
        return false;
    };
    let text = match best.code_set {
        ASCII => best.bytes.to_vec(),
        _ => hex::encode(best.bytes).into_bytes(),
    };
    let digit = [b'0' + best.kind];
    let whole = match best.kind {
        VENDOR_SPECIFIC => [&digit, vendor, model, &text].concat(),
        _ => [digit.as_slice(), &text].concat(),
    };
    properties.set("ID_SERIAL", without_blanks(&whole));
    properties.set("ID_SERIAL_SHORT", without_blanks(&text));
    if best.kind == NAA && best.code_set == BINARY {
        let name = String::from_utf8_lossy(&text).into_owned();
        let (first, extension) = name.split_at_checked(16).unwrap_or((&name, ""));
        properties.set("ID_WWN", format!("0x{first}"));
        properties.set("ID_WWN_WITH_EXTENSION", format!("0x{first}{extension}"));
    }
    true
}

/// Designators of the logical unit; designators of targets and ports are left out.
fn designators(page: &[u8]) -> Vec<Designator<'_>> {
    let mut found = Vec::new();
    if page.len() < 4 || page[1] != 0x83 {
        return found;
    }
    let length = usize::from(u16::from_be_bytes([page[2], page[3]]));
    let mut rest = &page[4..page.len().min(4 + length)];
    while let Some((header, tail)) = rest.split_at_checked(4) {
        let length = usize::from(header[3]);
        let Some((bytes, next)) = tail.split_at_checked(length) else {
            break;
        };
        let of_unit = header[1] & 0x30 == 0;
        if of_unit && !bytes.is_empty() {
            found.push(Designator {
                kind: header[1] & 0x0f,
                code_set: header[0] & 0x0f,
                bytes,
            });
        }
        rest = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(designators: &[(u8, u8, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (code_set, kind, bytes) in designators {
            body.extend_from_slice(&[*code_set, *kind, 0, bytes.len() as u8]);
            body.extend_from_slice(bytes);
        }
        let mut page = vec![0, 0x83];
        page.extend_from_slice(&(body.len() as u16).to_be_bytes());
        page.extend(body);
        page
    }

    fn read_page(page: &[u8]) -> Option<(String, String, String)> {
        let mut properties = Properties::default();
        from_designators(page, b"ACME    ", b"Disk  9         ", &mut properties).then(|| {
            let get = |key: &str| properties.get(key).unwrap_or_default().to_owned();
            (
                get("ID_SERIAL"),
                get("ID_SERIAL_SHORT"),
                get("ID_WWN_WITH_EXTENSION"),
            )
        })
    }

    #[test]
    fn an_extended_name_is_preferred_and_its_extension_kept() {
        let long: Vec<u8> = (0..16).map(|i| if i == 0 { 0x60 } else { i }).collect();
        let found = read_page(&page(&[
            (ASCII, T10_VENDOR, b"ACME    x"),
            (BINARY, NAA, &[0x50, 0, 0xc5, 0, 1, 2, 3, 4]),
            (BINARY, NAA, &long),
        ]));
        let (serial, short, wwn) = found.unwrap();
        assert_eq!(serial, "360010203".to_owned() + "0405060708090a0b0c0d0e0f");
        assert_eq!(short, "600102030405060708090a0b0c0d0e0f");
        assert_eq!(wwn, "0x600102030405060708090a0b0c0d0e0f");
    }

    #[test]
    fn names_of_ports_do_not_count() {
        assert_eq!(
            read_page(&page(&[(BINARY, 0x10 | NAA, &[0x50, 0, 0, 0, 0, 0, 0, 1])])),
            None
        );
    }

    #[test]
    fn a_vendor_specific_name_carries_vendor_and_model() {
        let found = read_page(&page(&[(ASCII, VENDOR_SPECIFIC, b"SER 1")])).unwrap();
        assert_eq!(
            found,
            ("0ACME_Disk_9_SER_1".to_owned(), "SER_1".to_owned(), String::new())
        );
    }

    #[test]
    fn broken_pages_are_read_as_far_as_they_go() {
        let whole = page(&[
            (BINARY, NAA, &[0x50, 0, 0xc5, 0, 1, 2, 3, 4]),
            (ASCII, T10_VENDOR, b"tail"),
        ]);
        for end in 0..whole.len() {
            let _ = read_page(&whole[..end]);
        }
        assert!(read_page(&whole[..whole.len() - 2]).is_some());
        assert_eq!(
            unit_serial(&[0, 0x80, 0xff, 0xff, b' ', b'A', b' ']),
            Some("A".to_owned())
        );
        assert_eq!(unit_serial(&[0, 0x80, 0]), None);
        assert_eq!(unit_serial(&[0, 0x83, 0, 1, b'A']), None);
    }
}
