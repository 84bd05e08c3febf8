//! Gets and opens the ingredients, which are packages of the distribution.
//!
//! They are downloaded, never installed, through an apt root of our own ([`apt`]), so that the machine's
//! package lists (often without `non-free-firmware`) do not matter.

pub mod apt;
pub mod borrowed;
pub mod deb;
pub mod gather;

/// The release that every ingredient comes from, whatever the machine runs: its kernel, GRUB and shim were
/// tested together (docs/protocol/boot-lab.md#6).
pub const RELEASE: &str = "bookworm";

/// Packages with files of the image, beside the kernel, firmware and those of the architecture.
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
pub const FIRMWARE: &[&str] = &[
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

/// Programs of x86_64 that work on the image (`grub-mkimage`, `depmod`), with every library that they load; they run
/// from the cache ([`borrowed`]).
pub const TOOLS: &[&str] = &[
    "grub-common",
    "kmod",
    "libc6",
    "libdevmapper1.02.1",
    "liblzma5",
    "libpcre2-8-0",
    "libselinux1",
    "libssl3",
    "libudev1",
    "libzstd1",
];
