//! Names of arm processors by implementer and part number (MIDR_EL1), spelled as lscpu spells them.
//! Facts: Arm's MIDR registry and the vendors' manuals.

/// Server parts and the common others; `None` for the rest.
pub(super) fn model(implementer: u32, part: u32) -> Option<&'static str> {
    let parts: &[(u32, &str)] = match implementer {
        0x41 => ARM,
        0x42 => &[(0x00f, "Brahma-B15"), (0x100, "Brahma-B53"), (0x516, "ThunderX2")],
        0x43 => &[
            (0x0a0, "ThunderX"),
            (0x0a1, "ThunderX-88XX"),
            (0x0a2, "ThunderX-81XX"),
            (0x0a3, "ThunderX-83XX"),
            (0x0af, "ThunderX2-99xx"),
            (0x0b0, "OcteonTX2"),
            (0x0b1, "OcteonTX2-98XX"),
            (0x0b2, "OcteonTX2-96XX"),
            (0x0b8, "ThunderX3-T110"),
        ],
        0x46 => &[(0x001, "A64FX"), (0x003, "MONAKA")],
        0x48 => &[
            (0xd01, "TaiShan-v110"),
            (0xd02, "TaiShan-v120"),
            (0xd40, "Cortex-A76"),
            (0xd41, "Cortex-A77"),
        ],
        0x4e => &[
            (0x000, "Denver"),
            (0x003, "Denver-2"),
            (0x004, "Carmel"),
            (0x010, "Olympus"),
        ],
        0x50 => &[(0x000, "X-Gene")],
        0x51 => &[
            (0x001, "Oryon"),
            (0x800, "Falkor-V1/Kryo"),
            (0xc00, "Falkor"),
            (0xc01, "Saphira"),
        ],
        0x61 => &[
            (0x022, "Icestorm-M1"),
            (0x023, "Firestorm-M1"),
            (0x032, "Blizzard-M2"),
            (0x033, "Avalanche-M2"),
        ],
        0x6d => &[(0xd49, "Azure-Cobalt-100")],
        0x70 => &[
            (0x303, "FTC310"),
            (0x660, "FTC660"),
            (0x661, "FTC661"),
            (0x662, "FTC662"),
            (0x663, "FTC663"),
            (0x664, "FTC664"),
            (0x862, "FTC862"),
        ],
        0xc0 => &[(0xac3, "Ampere-1"), (0xac4, "Ampere-1a")],
        _ => &[],
    };
    parts
        .iter()
        .find(|(number, _)| *number == part)
        .map(|(_, name)| *name)
}

const ARM: &[(u32, &str)] = &[
    (0xd02, "Cortex-A34"),
    (0xd03, "Cortex-A53"),
    (0xd04, "Cortex-A35"),
    (0xd05, "Cortex-A55"),
    (0xd06, "Cortex-A65"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd09, "Cortex-A73"),
    (0xd0a, "Cortex-A75"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd0d, "Cortex-A77"),
    (0xd0e, "Cortex-A76AE"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd42, "Cortex-A78AE"),
    (0xd43, "Cortex-A65AE"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4a, "Neoverse-E1"),
    (0xd4b, "Cortex-A78C"),
    (0xd4c, "Cortex-X1C"),
    (0xd4d, "Cortex-A715"),
    (0xd4e, "Cortex-X3"),
    (0xd4f, "Neoverse-V2"),
    (0xd80, "Cortex-A520"),
    (0xd81, "Cortex-A720"),
    (0xd82, "Cortex-X4"),
    (0xd83, "Neoverse-V3AE"),
    (0xd84, "Neoverse-V3"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
    (0xd8e, "Neoverse-N3"),
];
