//! The releases of Debian that an image can be made of, and their packages.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The release that every ingredient comes from, whatever the machine runs: its kernel, GRUB and shim were
/// tested together (docs/protocol/boot-lab.md#6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    /// Debian 12 with Linux 6.1.
    Bookworm,
    /// Debian 13 with Linux 6.12.
    Trixie,
}

/// Packages with files of the image, in addition to the kernel, firmware and those of the architecture.
pub const IMAGE: &[&str] = &[
    "busybox-static",
    "ca-certificates",
    "dropbear-bin",
    "libc6",
    "libcrypt1",
    "libgmp10",
    "libtomcrypt1",
    "libtommath1",
    "pci.ids",
    "shim-signed",
    "zlib1g",
];

/// Packages that may hold firmware of a chosen module. To add one, put its name here.
const FIRMWARE: [&str; 10] = [
    "firmware-bnx2",
    "firmware-bnx2x",
    "firmware-cavium",
    "firmware-linux-free",
    "firmware-misc-nonfree",
    "firmware-myricom",
    "firmware-netronome",
    "firmware-netxen",
    "firmware-qlogic",
    "firmware-realtek",
];
/// Parts of `firmware-misc-nonfree` that are packages of their own since Debian 13.
const FIRMWARE_OF_TRIXIE: [&str; 1] = ["firmware-intel-misc"];

/// Programs of `x86_64` that work on the image (`grub-mkimage`, `depmod`), with every library that they load; they run
/// from the cache ([`super::borrowed`]).
const TOOLS: [&str; 9] = [
    "grub-common",
    "kmod",
    "libc6",
    "libdevmapper1.02.1",
    "liblzma5",
    "libpcre2-8-0",
    "libselinux1",
    "libudev1",
    "libzstd1",
];
const TOOLS_OF_BOOKWORM: [&str; 1] = ["libssl3"];
const TOOLS_OF_TRIXIE: [&str; 3] = ["libcap2", "libssl3t64", "zlib1g"];

impl Release {
    /// As suites are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    #[must_use]
    pub fn firmware(self) -> Vec<&'static str> {
        let more: &[&str] = match self {
            Self::Bookworm => &[],
            Self::Trixie => &FIRMWARE_OF_TRIXIE,
        };
        FIRMWARE.iter().chain(more).copied().collect()
    }

    #[must_use]
    pub fn tools(self) -> Vec<&'static str> {
        let more: &[&str] = match self {
            Self::Bookworm => &TOOLS_OF_BOOKWORM,
            Self::Trixie => &TOOLS_OF_TRIXIE,
        };
        TOOLS.iter().chain(more).copied().collect()
    }
}
