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

    fn qword(&self, offset: usize) -> Option<u64> {
        let bytes = self.formatted.get(offset..offset + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn dword(&self, offset: usize) -> Option<u32> {
        let bytes = self.formatted.get(offset..offset + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

const HEADER_BYTES: usize = 4;
const BIOS_INFORMATION: u8 = 0;
const PROCESSOR: u8 = 4;
const MEMORY_DEVICE: u8 = 17;
/// Memory Type (0x12).
const LOGICAL_NON_VOLATILE: u8 = 0x1f;
/// Memory Technology (0x28): NVDIMM-N, -F, -P and Intel Optane.
const PERSISTENT: std::ops::RangeInclusive<u8> = 4..=7;
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
        // The strings end with two NULs, even if there are no strings.
        let strings = &rest[length..];
        let Some(end) = strings.windows(2).position(|pair| pair == [0, 0]) else {
            break;
        };
        rest = &strings[end + 2..];
    }
    found
}

/// Memory modules in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Modules {
    /// Memory of the system.
    pub volatile: u64,
    /// Memory that keeps its content, as a disk does.
    pub persistent: u64,
}

/// Bytes of all memory modules. Empty and unknown slots count nothing.
pub(super) fn memory_bytes(table: &[u8]) -> Modules {
    let mut modules = Modules::default();
    let all = structures(table);
    for device in all.iter().filter(|structure| structure.kind == MEMORY_DEVICE) {
        let Some(size) = module_bytes(device) else {
            continue;
        };
        let volatile = volatile_bytes(device).map_or(size, |volatile| volatile.min(size));
        modules.volatile = modules.volatile.saturating_add(volatile);
        modules.persistent = modules.persistent.saturating_add(size - volatile);
    }
    modules
}

/// The part of a persistent module that is used as memory (Volatile Size, 0x3C); `None` for a module of another technology (0x28),
/// where firmware leaves it zero.
fn volatile_bytes(device: &Structure<'_>) -> Option<u64> {
    if device.byte(0x12) == Some(LOGICAL_NON_VOLATILE) {
        return Some(0);
    }
    if !PERSISTENT.contains(&device.byte(0x28)?) {
        return None;
    }
    let volatile = device.qword(0x3c).filter(|size| *size != u64::MAX);
    Some(volatile.unwrap_or(0))
}

/// Highest speed of the processors, MHz: Current Speed (0x16), else Max Speed (0x14), which is the limit of the board's socket: boards
/// report 4000 for a processor of 1600 MHz.
pub(super) fn processor_mhz(table: &[u8]) -> Option<u16> {
    let all = structures(table);
    let processors = || all.iter().filter(|structure| structure.kind == PROCESSOR);
    let highest = |offset: usize| {
        let speeds = processors().filter_map(|processor| processor.word(offset));
        speeds.filter(|mhz| *mhz != 0 && *mhz != u16::MAX).max()
    };
    highest(0x16).or_else(|| highest(0x14))
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

    fn ram(table: &[u8]) -> u64 {
        let modules = memory_bytes(table);
        assert_eq!(modules.persistent, 0);
        modules.volatile
    }

    /// A module of SMBIOS 3.2 of 128 GiB.
    fn module_of(technology: u8, volatile: u64) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x54];
        bytes[0] = MEMORY_DEVICE;
        bytes[1] = 0x54;
        bytes[0x0c..0x0e].copy_from_slice(&0x7fff_u16.to_le_bytes());
        bytes[0x1c..0x20].copy_from_slice(&(128_u32 << 10).to_le_bytes());
        bytes[0x28] = technology;
        bytes[0x3c..0x44].copy_from_slice(&volatile.to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes
    }

    #[test]
    fn persistent_memory_is_memory_only_as_far_as_it_is_used_as_such() {
        const GIB: u64 = 1 << 30;
        for (technology, volatile, ram, persistent) in [
            (3, 0, 128, 0),
            (2, 0, 128, 0),
            (7, 0, 0, 128),
            (7, 96 * GIB, 96, 32),
            (7, 128 * GIB, 128, 0),
            (7, u64::MAX, 0, 128),
            (4, 0, 0, 128),
            (7, 500 * GIB, 128, 0),
        ] {
            let found = memory_bytes(&module_of(technology, volatile));
            let expected = Modules {
                volatile: ram * GIB,
                persistent: persistent * GIB,
            };
            assert_eq!(found, expected, "technology {technology}, volatile {volatile}");
        }
        let mut logical = module(4096, 0);
        logical[0x12] = LOGICAL_NON_VOLATILE;
        assert_eq!(memory_bytes(&logical).volatile, 0);
    }

    #[test]
    fn the_speed_of_processors_is_the_present_one_else_the_limit_of_the_socket() {
        let processor = |highest: u16, present: u16| {
            let mut bytes = vec![0_u8; 0x1a];
            bytes[0] = PROCESSOR;
            bytes[1] = 0x1a;
            bytes[0x14..0x16].copy_from_slice(&highest.to_le_bytes());
            bytes[0x16..0x18].copy_from_slice(&present.to_le_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes
        };
        let empty_socket = processor(0, 0);
        assert_eq!(
            processor_mhz(&[empty_socket.clone(), processor(4000, 2450)].concat()),
            Some(2450)
        );
        assert_eq!(processor_mhz(&processor(3700, 0)), Some(3700));
        assert_eq!(processor_mhz(&empty_socket), None);
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
        assert_eq!(ram(&table), (4096 << 20) + (512 << 10) + (128_u64 << 30));
    }

    #[test]
    fn nothing_behind_the_end_marker_counts() {
        let table = [module(16, 0), vec![END_OF_TABLE, 4, 0, 0, 0, 0], module(16, 0)].concat();
        assert_eq!(ram(&table), 16 << 20);
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
            assert_eq!(ram(&table), 16 << 20, "{tail:?}");
        }
        // An old, short structure has no extended size; a string area without an end is the last.
        assert_eq!(
            ram(&[17, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x7f, 0, 0]),
            0
        );
        assert_eq!(ram(&module(16, 0)[..0x24]), 16 << 20);
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
            let _ = processor_mhz(&table);
            let _ = says_virtual(&table);
        }
    }
}
