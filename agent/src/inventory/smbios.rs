//! Parses the SMBIOS structure table (`/sys/firmware/dmi/tables/DMI`). Source: DMTF DSP0134, §6.1, §7.1,
//! §7.18.
//!
//! Firmware may hold invalid data; a structure that does not fit ends the walk and the earlier ones count.

/// One structure: its type and its formatted area, header included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'a> {
    pub kind: u8,
    formatted: &'a [u8],
}

impl Structure<'_> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.formatted.get(offset).copied()
    }

    fn word(&self, offset: usize) -> Option<u16> {
        let bytes = self.formatted.get(offset..offset + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn dword(&self, offset: usize) -> Option<u32> {
        let bytes = self.formatted.get(offset..offset + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

const HEADER_BYTES: usize = 4;
const BIOS_INFORMATION: u8 = 0;
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;

/// The structures up to the end marker.
pub(super) fn structures(table: &[u8]) -> Vec<Structure<'_>> {
    let mut found = Vec::new();
    let mut rest = table;
    while rest.len() >= HEADER_BYTES {
        let (kind, length) = (rest[0], usize::from(rest[1]));
        if kind == END_OF_TABLE || length < HEADER_BYTES || length > rest.len() {
            break;
        }
        found.push(Structure {
            kind,
            formatted: &rest[..length],
        });
        // The strings end with two NULs, also when there are none.
        let strings = &rest[length..];
        let Some(end) = strings.windows(2).position(|pair| pair == [0, 0]) else {
            break;
        };
        rest = &strings[end + 2..];
    }
    found
}

/// Bytes of all memory modules. Empty and unknown slots count nothing.
pub(super) fn memory_bytes(table: &[u8]) -> u64 {
    structures(table)
        .iter()
        .filter(|structure| structure.kind == MEMORY_DEVICE)
        .filter_map(module_bytes)
        .fold(0, u64::saturating_add)
}

/// Size word at 0x0C: 0 empty, 0xFFFF unknown, 0x7FFF see the dword at 0x1C (MiB), bit 15 KiB instead of MiB.
fn module_bytes(device: &Structure<'_>) -> Option<u64> {
    match device.word(0x0c)? {
        0 | 0xffff => None,
        0x7fff => Some(u64::from(device.dword(0x1c)? & 0x7fff_ffff) << 20),
        size if size & 0x8000 != 0 => Some(u64::from(size & 0x7fff) << 10),
        size => Some(u64::from(size) << 20),
    }
}

/// The bit with which firmware declares the machine virtual (second extension byte, bit 4).
pub(super) fn says_virtual(table: &[u8]) -> bool {
    structures(table)
        .iter()
        .find(|structure| structure.kind == BIOS_INFORMATION)
        .and_then(|bios| bios.byte(0x13))
        .is_some_and(|extension| extension & 0x10 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(size: u16, extended: u32) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x22];
        bytes[0] = MEMORY_DEVICE;
        bytes[1] = 0x22;
        bytes[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        bytes[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
        bytes.extend_from_slice(b"DIMM 0\0\0");
        bytes
    }

    #[test]
    fn module_sizes_are_mib_kib_extended_empty_or_unknown() {
        let table = [
            module(4096, 0),
            module(0x8000 | 512, 0),
            module(0x7fff, 128 << 10),
            module(0, 0),
            module(0xffff, 0),
        ]
        .concat();
        assert_eq!(memory_bytes(&table), (4096 << 20) + (512 << 10) + (128_u64 << 30));
    }

    #[test]
    fn nothing_behind_the_end_marker_counts() {
        let table = [module(16, 0), vec![END_OF_TABLE, 4, 0, 0, 0, 0], module(16, 0)].concat();
        assert_eq!(memory_bytes(&table), 16 << 20);
    }

    #[test]
    fn garbage_ends_the_walk_and_keeps_what_came_before() {
        let good = module(16, 0);
        for tail in [
            vec![],
            vec![17],
            vec![17, 0, 0, 0],
            vec![17, 3, 0, 0, 9],
            vec![17, 255, 0, 0, 1],
            vec![0xaa; 300],
        ] {
            let table = [good.clone(), tail.clone()].concat();
            assert_eq!(memory_bytes(&table), 16 << 20, "{tail:?}");
        }
        // An old, short structure has no extended size; a string area without an end is the last.
        assert_eq!(
            memory_bytes(&[17, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x7f, 0, 0]),
            0
        );
        assert_eq!(memory_bytes(&module(16, 0)[..0x24]), 16 << 20);
    }

    #[test]
    fn any_bytes_at_all_are_read_without_a_panic() {
        for seed in 0..2000_u32 {
            let mut state = seed;
            let table: Vec<u8> = (0..seed % 257)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8 & if state & 0x400 == 0 { 0xff } else { 0x13 }
                })
                .collect();
            let _ = memory_bytes(&table);
            let _ = says_virtual(&table);
        }
    }
}
