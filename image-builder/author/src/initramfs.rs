//! Packs the initramfs: two archives, each compressed, one after the other.
//!
//! The **base** holds drivers, firmware, busybox, an SSH server and certificates. It takes most of the time to build and changes only with
//! the packages, so the cache keeps it. The **agent's** archive holds only `/init`. The kernel unpacks both, as any number of archives in
//! one initrd.

pub mod certificates;
pub mod extra;
pub mod pci_ids;
pub mod ssh_server;

use std::fs;
use std::io::{self, Write as _};

use anyhow::{Context, Result};
use cpio::newc;
use muster_image::newc::Archive;

use crate::kernel::firmware::{Entry, Firmware};
use crate::kernel::modules::Kernel;
use crate::packages::deb;
use crate::packages::gather::Ingredients;

/// zstd's strongest level below "ultra"; its window of 8 MiB keeps the memory for unpacking small. (A window
/// of 32 MiB at the strongest level of all would save 1 % more.)
pub const STRONGEST_COMPRESSION: i32 = 19;

/// Modules that create no device on their own, as the agent loads them (`agent/src/drivers.rs`).
const NO_DEVICES: &[u8] = b"options bonding max_bonds=0\noptions dummy numdummies=0\noptions ifb numifbs=0\n";

/// The kernel looks for the next archive at a multiple of this.
const ALIGNMENT: usize = 4;

/// Writes the base archive's content, uncompressed.
///
/// # Errors
/// When an ingredient lacks a file.
pub fn base(ingredients: &Ingredients, kernel: &Kernel, firmware: &Firmware) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["dev", "proc", "run", "sys"] {
        archive.directory(folder, 0o755);
    }
    archive.directory("tmp", 0o1777);
    let busybox = deb::read_file(&ingredients.deb("busybox-static")?, "bin/busybox")?;
    archive.file("bin/busybox", 0o755, &busybox);
    archive.link("bin/sh", "busybox");
    archive.link("bin/muster-agent", "/init");
    // The kernel runs it to load modules by name.
    archive.link("sbin/modprobe", "/bin/busybox");
    archive.file("etc/modprobe.d/muster.conf", 0o644, NO_DEVICES);
    ssh_server::add(&mut archive, ingredients)?;
    for (path, place) in kernel.files() {
        let bytes = fs::read(&place).with_context(|| format!("cannot read {}", place.display()))?;
        archive.file(&format!("lib/modules/{}/{path}", kernel.release), 0o644, &bytes);
    }
    for (path, entry) in &firmware.files {
        let path = format!("lib/firmware/{path}");
        match entry {
            Entry::File(bytes) => archive.file(&path, 0o644, bytes),
            Entry::Link(target) => archive.link(&path, target),
        }
    }
    archive.file(
        "etc/ssl/certs/ca-certificates.crt",
        0o644,
        &certificates::bundle(&ingredients.deb("ca-certificates")?)?,
    );
    archive.file(
        "usr/share/hwdata/pci.ids",
        0o644,
        &pci_ids::display_vendors(&ingredients.deb("pci.ids")?)?,
    );
    extra::add(&mut archive, ingredients)?;
    Ok(archive.finish())
}

/// Writes the agent's archive, uncompressed.
#[must_use]
pub fn agent(binary: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.file("init", 0o755, binary);
    archive.finish()
}

/// Compresses one archive at a level of zstd, 1 to [`STRONGEST_COMPRESSION`]; equal input gives equal output,
/// whatever the number of processors.
///
/// # Errors
/// When memory for the compressor is short.
pub fn compress(archive: &[u8], level: i32) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
    encoder.set_pledged_src_size(Some(archive.len() as u64))?;
    encoder.include_checksum(false)?;
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
    encoder.multithread(u32::try_from(workers).expect("at most 8"))?;
    encoder.write_all(archive)?;
    let mut compressed = encoder.finish()?;
    compressed.resize(compressed.len().next_multiple_of(ALIGNMENT), 0);
    Ok(compressed)
}

/// A file, directory or link of an initrd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Path without a leading slash.
    pub path: String,
    /// Type and permissions.
    pub mode: u32,
    /// Bytes of content.
    pub size: u64,
}

/// Lists an initrd that [`compress`] made parts of: every entry of every archive.
///
/// # Errors
/// When it is no chain of zstd-compressed newc archives.
pub fn list(mut initrd: &[u8]) -> Result<Vec<Listed>> {
    let mut entries = Vec::new();
    loop {
        let zeros = initrd.iter().take_while(|byte| **byte == 0).count();
        initrd = &initrd[zeros..];
        if initrd.is_empty() {
            return Ok(entries);
        }
        let mut decoder = zstd::Decoder::with_buffer(&mut initrd)
            .context("the initrd is not compressed with zstd")?
            .single_frame();
        let mut archive = Vec::new();
        io::copy(&mut decoder, &mut archive).context("the initrd is damaged")?;
        drop(decoder);
        list_archive(&archive, &mut entries).context("an archive of the initrd is damaged")?;
    }
}

fn list_archive(mut rest: &[u8], entries: &mut Vec<Listed>) -> io::Result<()> {
    loop {
        let reader = newc::Reader::new(rest)?;
        let entry = reader.entry();
        if entry.is_trailer() {
            return Ok(());
        }
        entries.push(Listed {
            path: entry.name().to_owned(),
            mode: entry.mode(),
            size: u64::from(entry.file_size()),
        });
        rest = reader.finish()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_compressed_archives_in_one_initrd_are_listed() {
        let mut first = Archive::default();
        first.file("bin/busybox", 0o755, &[7; 1000]);
        let mut initrd = compress(&first.finish(), 1).unwrap();
        initrd.extend(compress(&agent(b"binary"), STRONGEST_COMPRESSION).unwrap());
        let entries = list(&initrd).unwrap();
        let paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["bin", "bin/busybox", "init"]);
        assert_eq!(entries[2].size, 6);
    }

    #[test]
    fn an_archive_that_ends_early_is_refused() {
        let archive = agent(&[1; 100]);
        for length in [50, 150] {
            let initrd = compress(&archive[..length], 1).unwrap();
            assert!(list(&initrd).is_err());
        }
    }

    #[test]
    fn what_is_no_initrd_is_refused() {
        assert!(list(b"hello world, this is text").is_err());
    }
}
