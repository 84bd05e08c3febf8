//! Makes GRUB for BIOS: an El Torito image (with GRUB's own `grub-mkimage`) and the boot sector of a USB
//! stick.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::packages::borrowed::Tools;
use crate::packages::deb;

/// GRUB modules for the menu, and for users at GRUB's prompt.
const MODULES: [&str; 19] = [
    "biosdisk",
    "cat",
    "configfile",
    "echo",
    "gzio",
    "halt",
    "iso9660",
    "linux",
    "ls",
    "minicmd",
    "normal",
    "part_gpt",
    "part_msdos",
    "reboot",
    "search",
    "search_fs_file",
    "serial",
    "terminal",
    "test",
];

#[derive(Debug)]
pub struct BiosLoader {
    /// The El Torito image, to be written with `--grub2-boot-info`.
    pub eltorito: PathBuf,
    /// The master boot record, for `--grub2-mbr`.
    pub boot_record: PathBuf,
}

/// Makes the loader in `scratch` from the package `grub-pc-bin`.
///
/// # Errors
/// When the package is not as expected or `grub-mkimage` fails.
pub fn loader(grub_pc_bin: &Path, scratch: &Path, tools: &Tools) -> Result<BiosLoader> {
    let root = scratch.join("grub-pc");
    deb::unpack(grub_pc_bin, &root, |path| {
        path.starts_with("usr/lib/grub/i386-pc/")
    })?;
    let folder = root.join("usr/lib/grub/i386-pc");
    let embedded = scratch.join("grub-pc.cfg");
    // The prefix names no disk: without this, a stick with a second partition table could mislead it.
    fs::write(
        &embedded,
        "search --no-floppy --set=root --file /muster/live.json\nset prefix=($root)/boot/grub\n",
    )?;
    let eltorito = scratch.join("eltorito.img");
    let mut arguments = vec![
        "--format=i386-pc-eltorito".to_owned(),
        "--prefix=/boot/grub".to_owned(),
        format!("--directory={}", folder.display()),
        format!("--config={}", embedded.display()),
        format!("--output={}", eltorito.display()),
    ];
    arguments.extend(MODULES.map(str::to_owned));
    tools.run("usr/bin/grub-mkimage", "grub-mkimage", &arguments)?;
    let boot_record = folder.join("boot_hybrid.img");
    fs::metadata(&boot_record).context("grub-pc-bin holds no boot_hybrid.img")?;
    Ok(BiosLoader {
        eltorito,
        boot_record,
    })
}
