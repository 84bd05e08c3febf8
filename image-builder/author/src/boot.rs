//! Makes the loaders: GRUB for BIOS, shim and the signed GRUB for UEFI, and the menu that both read.

pub mod bios;
pub mod efi;
pub mod menu;
