//! The differences between the processors that an image can be for.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The processor of the machines that boot an image. Images are built on x86_64, for any architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Architecture {
    #[value(name = "x86_64", alias = "amd64")]
    #[serde(rename = "x86_64")]
    X86_64,
    #[value(name = "aarch64", alias = "arm64")]
    #[serde(rename = "aarch64")]
    Aarch64,
}

/// Member of a package, and its name in the FAT image (docs/protocol/boot-lab.md#6).
pub type EfiProgram = (&'static str, &'static str, &'static str);

const X86_64_PACKAGES: [&str; 3] = [
    "grub-efi-amd64-signed",
    "grub-pc-bin",
    "shim-helpers-amd64-signed",
];
const AARCH64_PACKAGES: [&str; 2] = ["grub-efi-arm64-signed", "shim-helpers-arm64-signed"];

const X86_64_EFI: [EfiProgram; 3] = [
    ("shim-signed", "usr/lib/shim/shimx64.efi.signed", "BOOTX64.EFI"),
    (
        "grub-efi-amd64-signed",
        "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed",
        "grubx64.efi",
    ),
    (
        "shim-helpers-amd64-signed",
        "usr/lib/shim/mmx64.efi.signed",
        "mmx64.efi",
    ),
];
const AARCH64_EFI: [EfiProgram; 3] = [
    ("shim-signed", "usr/lib/shim/shimaa64.efi.signed", "BOOTAA64.EFI"),
    (
        "grub-efi-arm64-signed",
        "usr/lib/grub/arm64-efi-signed/gcdaa64.efi.signed",
        "grubaa64.efi",
    ),
    (
        "shim-helpers-arm64-signed",
        "usr/lib/shim/mmaa64.efi.signed",
        "mmaa64.efi",
    ),
];

impl Architecture {
    /// As `uname -m` prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Debian's name.
    #[must_use]
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The name in executable files.
    #[must_use]
    pub fn of_programs(self) -> object::Architecture {
        match self {
            Self::X86_64 => object::Architecture::X86_64,
            Self::Aarch64 => object::Architecture::Aarch64,
        }
    }

    /// Names the kernel to take by its dependency.
    #[must_use]
    pub fn kernel_metapackage(self) -> String {
        format!("linux-image-{}", self.debian())
    }

    /// Packages with files of the image that no other architecture has.
    #[must_use]
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &X86_64_PACKAGES,
            Self::Aarch64 => &AARCH64_PACKAGES,
        }
    }

    /// The shim, the signed GRUB and MokManager.
    #[must_use]
    pub fn efi_programs(self) -> &'static [EfiProgram] {
        match self {
            Self::X86_64 => &X86_64_EFI,
            Self::Aarch64 => &AARCH64_EFI,
        }
    }

    /// True where machines have a BIOS.
    #[must_use]
    pub fn has_bios(self) -> bool {
        self == Self::X86_64
    }

    /// Folder of libraries, as packages have it: `lib/x86_64-linux-gnu`.
    #[must_use]
    pub fn library_folder(self) -> String {
        format!("lib/{}-linux-gnu", self.name())
    }

    /// Folder and name of the dynamic loader, as programs refer to it.
    #[must_use]
    pub fn dynamic_loader(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("lib64", "ld-linux-x86-64.so.2"),
            Self::Aarch64 => ("lib", "ld-linux-aarch64.so.1"),
        }
    }

    /// Kernel arguments of an area never written. The kernel makes a console only of the first serial port named; an ARM server's is a
    /// PL011. A machine reboots a minute after a kernel panic; until then its console can be read.
    #[must_use]
    pub fn kernel_arguments(self) -> &'static str {
        match self {
            Self::X86_64 => "quiet console=tty0 console=ttyS0,115200n8 console=ttyS1,115200n8 panic=60",
            Self::Aarch64 => "quiet console=tty0 console=ttyAMA0,115200n8 console=ttyS0,115200n8 panic=60",
        }
    }
}
