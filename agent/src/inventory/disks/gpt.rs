//! Reads the names of partitions from a GUID partition table. Source: UEFI specification, §5.3.

use crate::root::Reason;

const SIGNATURE: &[u8] = b"EFI PART";
const MAX_ENTRIES: u32 = 1024;
const MIN_ENTRY_BYTES: u32 = 128;
const MAX_ENTRY_BYTES: u32 = 4096;

/// `(partition number, name)` of every partition that has a name. `read` gives bytes at an offset.
pub(super) fn labels(
    block_bytes: u64,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, Reason>,
) -> Result<Vec<(u32, String)>, Reason> {
    let header = read(block_bytes, 92)?;
    if !header.starts_with(SIGNATURE) {
        return Ok(Vec::new());
    }
    let dword =
        |offset: usize| u32::from_le_bytes(header[offset..offset + 4].try_into().expect("four bytes"));
    let first = u64::from_le_bytes(header[72..80].try_into().expect("eight bytes"));
    let (count, size) = (dword(80).min(MAX_ENTRIES), dword(84));
    if !(MIN_ENTRY_BYTES..=MAX_ENTRY_BYTES).contains(&size) {
        return Err(format!("partition entries of {size} bytes"));
    }
    let offset = first
        .checked_mul(block_bytes)
        .ok_or("partition entries beyond any disk")?;
    let table = read(offset, (count * size) as usize)?;
    Ok(table
        .chunks_exact(size as usize)
        .zip(1..)
        .filter(|(entry, _)| entry[..16].iter().any(|byte| *byte != 0))
        .map(|(entry, number)| (number, name(&entry[56..128])))
        .filter(|(_, name)| !name.is_empty())
        .collect())
}

fn name(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(block: usize, names: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0_u8; block * 40];
        bytes[block..block + 8].copy_from_slice(SIGNATURE);
        bytes[block + 72..block + 80].copy_from_slice(&2_u64.to_le_bytes());
        bytes[block + 80..block + 84].copy_from_slice(&128_u32.to_le_bytes());
        bytes[block + 84..block + 88].copy_from_slice(&128_u32.to_le_bytes());
        for (i, name) in names.iter().enumerate() {
            let entry = 2 * block + i * 128;
            bytes[entry] = 1;
            for (j, unit) in name.encode_utf16().enumerate() {
                bytes[entry + 56 + 2 * j..entry + 58 + 2 * j].copy_from_slice(&unit.to_le_bytes());
            }
        }
        bytes
    }

    fn read(bytes: &[u8]) -> impl Fn(u64, usize) -> Result<Vec<u8>, Reason> {
        |offset, length| {
            let start = usize::try_from(offset).map_err(|error| error.to_string())?;
            let end = start.checked_add(length).ok_or("overflow")?;
            bytes
                .get(start..end)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| "short".to_owned())
        }
    }

    #[test]
    fn names_are_found_with_512_and_with_4096_byte_blocks() {
        for block in [512, 4096] {
            let bytes = disk(block, &["agentboot", "", "root"]);
            let found = labels(block as u64, read(&bytes)).unwrap();
            assert_eq!(found, [(1, "agentboot".to_owned()), (3, "root".to_owned())]);
        }
    }

    #[test]
    fn a_disk_without_a_table_has_no_names_and_a_broken_table_says_so() {
        assert_eq!(labels(512, read(&vec![0; 4096])), Ok(vec![]));
        let mut bytes = disk(512, &["x"]);
        bytes[512 + 84..512 + 88].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(labels(512, read(&bytes)).is_err());
        let mut bytes = disk(512, &["x"]);
        bytes[512 + 72..512 + 80].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(labels(512, read(&bytes)).is_err());
    }
}
