//! Parses directory records (ECMA-119 9.1) and the Rock Ridge names in their system use fields.

use super::extent::{Extent, SECTOR};

/// Continuation areas followed for one name; real images need one.
const MOST_CONTINUATIONS: usize = 4;

/// Little-endian number at `at`; the caller has checked that it is there.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// One entry of a directory.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) extent: Extent,
    pub(super) is_directory: bool,
    pub(super) several_extents: bool,
    pub(super) interleaved: bool,
    plain_name: Vec<u8>,
    system_use: Vec<u8>,
}

impl Record {
    /// The record at the start of `bytes` and its size there; `None` when its lengths contradict each other.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let size = usize::from(*bytes.first()?);
        let record = bytes.get(..size)?;
        let name_length = usize::from(*record.get(32)?);
        let name = record.get(33..33 + name_length)?;
        // The name field is padded to an even end; the padding may be missing at the record's end.
        let system_use = record
            .get(33 + name_length + (1 - name_length % 2)..)
            .unwrap_or_default();
        let attribute_blocks = u64::from(record[1]);
        let extent = Extent {
            offset: (u64::from(u32_at(record, 2)) + attribute_blocks) * SECTOR,
            length: u64::from(u32_at(record, 10)),
        };
        let flags = record[25];
        let parsed = Self {
            extent,
            is_directory: flags & 0x02 != 0,
            several_extents: flags & 0x80 != 0,
            interleaved: record[26] != 0 || record[27] != 0,
            plain_name: name.to_vec(),
            system_use: system_use.to_vec(),
        };
        Some((parsed, size))
    }

    /// True for the entry of the file `wanted`. `continuation` reads `length` bytes at an offset of the
    /// image.
    pub(super) fn is_named(
        &self,
        wanted: &str,
        continuation: impl Fn(u64, usize) -> Option<Vec<u8>>,
    ) -> bool {
        // The directory itself and its parent are called 0 and 1.
        if matches!(self.plain_name.as_slice(), [0] | [1]) {
            return false;
        }
        match self.rock_ridge_name(continuation) {
            Some(name) => name == wanted.as_bytes(),
            None => plain_name_matches(&self.plain_name, wanted),
        }
    }

    fn rock_ridge_name(&self, continuation: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut name: Option<Vec<u8>> = None;
        let mut area = self.system_use.clone();
        for _ in 0..=MOST_CONTINUATIONS {
            let mut next = None;
            let mut rest = area.as_slice();
            // Every field: signature, length, version (IEEE P1281 section 4).
            while rest.len() >= 4 {
                let size = usize::from(rest[2]);
                let Some(field) = rest.get(..size).filter(|field| field.len() >= 4) else {
                    break;
                };
                match &field[..2] {
                    // Flags 2 and 4 denote "." and "..", which have no letters.
                    b"NM" if size >= 5 && field[4] & 0x06 == 0 => {
                        name.get_or_insert_default().extend_from_slice(&field[5..]);
                    }
                    b"CE" if size >= 28 => {
                        let at = u64::from(u32_at(field, 4)) * SECTOR + u64::from(u32_at(field, 12));
                        let length = u64::from(u32_at(field, 20)).min(SECTOR);
                        next = continuation(at, length as usize);
                    }
                    b"ST" => break,
                    _ => {}
                }
                rest = &rest[size..];
            }
            match next {
                Some(bytes) => area = bytes,
                None => break,
            }
        }
        name
    }
}

/// Plain names are upper case with a version (`LIVE.JSON;1`), shortened to 8.3 in level 1 images.
fn plain_name_matches(plain: &[u8], wanted: &str) -> bool {
    let name = plain.split(|&byte| byte == b';').next().unwrap_or_default();
    let name = name.strip_suffix(b".").unwrap_or(name);
    name.eq_ignore_ascii_case(wanted.as_bytes()) || name.eq_ignore_ascii_case(&level_1(wanted))
}

fn level_1(name: &str) -> Vec<u8> {
    let (base, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let letters = |text: &str, most: usize| -> Vec<u8> {
        text.bytes()
            .take(most)
            .map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'_' })
            .collect()
    };
    let mut short = letters(base, 8);
    if !extension.is_empty() {
        short.push(b'.');
        short.extend(letters(extension, 3));
    }
    short
}
