//! Makes small live ISOs for tests with the xorriso program.
//!
//! Panics with the reason when something fails: this is test code.

#![allow(clippy::unwrap_used, reason = "test code")]

pub mod coreos;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The default arguments of the small images.
pub const DEFAULT_ARGUMENTS: &str = "quiet console=ttyS0,115200n8";
/// Length of their configuration area.
pub const CONFIG_LENGTH: usize = 32 * 1024;
/// Length of their kernel-argument area.
pub const KARGS_LENGTH: usize = 512;

/// The files of a live image, to be changed before the ISO is made.
pub struct LiveTree {
    folder: tempfile::TempDir,
    /// `muster/live.json`.
    pub description: Value,
}

impl LiveTree {
    /// A complete tree with an initramfs of `initrd_length` bytes.
    pub fn new(initrd_length: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let menu_head = "menuentry 'Muster' {\n  linux /images/pxeboot/vmlinuz ";
        let mut area = format!("{DEFAULT_ARGUMENTS}\n");
        area.push_str(&"#".repeat(KARGS_LENGTH - area.len()));
        let menu = format!("{menu_head}{area}\n  initrd /images/pxeboot/initrd.img /images/config.img\n}}\n");
        let tree = Self {
            description: json!({
                "format": "muster-live", "version": 1, "architecture": "x86_64", "agent_version": "0.1.0",
                "kernel": "images/pxeboot/vmlinuz", "initrd": "images/pxeboot/initrd.img",
                "config": { "file": "images/config.img", "length": CONFIG_LENGTH },
                "kargs": {
                    "default": DEFAULT_ARGUMENTS, "size": KARGS_LENGTH, "end": "\n", "pad": "#",
                    "files": [{ "path": "boot/grub/grub.cfg", "offset": menu_head.len() }]
                }
            }),
            folder,
        };
        tree.file("images/pxeboot/vmlinuz", &pattern(10_000, 1));
        tree.file("images/pxeboot/initrd.img", &pattern(initrd_length, 2));
        tree.file("images/config.img", &vec![0; CONFIG_LENGTH]);
        tree.file("boot/grub/grub.cfg", menu.as_bytes());
        tree
    }

    /// Writes or replaces a file of the tree.
    pub fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Removes a file from the tree.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).unwrap();
    }

    /// Makes the ISO at `target`.
    pub fn write_iso(&self, target: &Path) {
        self.file("muster/live.json", self.description.to_string().as_bytes());
        make_iso(self.folder.path(), target, &["-V", "MUSTER", "-r"]);
    }
}

/// Makes `target` from a folder with `xorriso -as mkisofs` and these options.
pub fn make_iso(folder: &Path, target: &Path, options: &[&str]) {
    let output = Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet"])
        .args(options)
        .arg("-o")
        .arg(target)
        .arg(folder)
        .output()
        .unwrap_or_else(|error| panic!("the xorriso program is needed (apt-get install xorriso): {error}"));
    assert!(
        output.status.success(),
        "xorriso failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Bytes without a short period, so that a misplaced piece shows.
pub fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
