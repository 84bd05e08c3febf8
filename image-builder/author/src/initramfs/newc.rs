//! The cpio format "newc", as far as the kernel needs it: directories, files, symbolic links, all of root, all of
//! the epoch, so that equal content gives equal bytes.
//!
//! Source: the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

const MAGIC: &[u8] = b"070701";
const TRAILER: &str = "TRAILER!!!";
/// Magic and 13 fields of 8 hexadecimal digits.
const HEADER_LENGTH: usize = 6 + 13 * 8;

const TYPE_DIRECTORY: u32 = 0o040_000;
const TYPE_FILE: u32 = 0o100_000;
const TYPE_LINK: u32 = 0o120_000;

/// An archive being written. Entries stand in the order of the calls; directories that a path needs come before it
/// (a file without its directory would be dropped by the kernel, silently).
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
    inode: u32,
}

impl Archive {
    /// An empty archive.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory and those above it.
    pub fn directory(&mut self, path: &str, permissions: u32) {
        self.parents(path);
        if self.directories.insert(path.to_owned()) {
            self.entry(path, TYPE_DIRECTORY | permissions, &[]);
        }
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        self.parents(path);
        self.entry(path, TYPE_FILE | permissions, content);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entry(path, TYPE_LINK | 0o777, target.as_bytes());
    }

    /// Ends the archive and returns its bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.inode = 0;
        self.header(TRAILER, 0, 0, 0);
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        for (index, _) in path.match_indices('/') {
            let parent = &path[..index];
            if self.directories.insert(parent.to_owned()) {
                self.entry(parent, TYPE_DIRECTORY | 0o755, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let size = u32::try_from(content.len())
            .expect("newc holds files below 4 GiB; an initramfs has no such file");
        self.header(path, mode, self.inode, size);
        self.bytes.extend(content);
        self.align();
    }

    fn header(&mut self, path: &str, mode: u32, inode: u32, size: u32) {
        let links = 1;
        let name_size = u32::try_from(path.len() + 1).expect("paths are short");
        // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
        let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(MAGIC);
        for field in fields {
            self.bytes.extend(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// An entry as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path without a leading slash.
    pub path: String,
    /// Type and permissions.
    pub mode: u32,
    /// Bytes of content.
    pub size: u64,
}

/// Lists an archive up to its trailer.
///
/// # Errors
/// When it is no newc archive or ends early.
pub fn read(archive: &[u8]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = archive;
    loop {
        ensure!(
            rest.len() >= HEADER_LENGTH && rest.starts_with(MAGIC),
            "the archive is not in the newc format, or ends early"
        );
        let field = |index: usize| -> Result<usize> {
            let start = MAGIC.len() + index * 8;
            let digits = std::str::from_utf8(&rest[start..start + 8])?;
            usize::from_str_radix(digits, 16).context("a field of the archive is not hexadecimal")
        };
        let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
        let name_end = HEADER_LENGTH + name_size;
        let content_start = name_end.next_multiple_of(4);
        let next = (content_start + size).next_multiple_of(4);
        ensure!(
            name_size > 0 && rest.len() >= content_start + size,
            "the archive ends early"
        );
        let path = String::from_utf8_lossy(&rest[HEADER_LENGTH..name_end - 1]).into_owned();
        if path == TRAILER {
            return Ok(entries);
        }
        entries.push(Entry {
            path,
            mode: u32::try_from(mode)?,
            size: size as u64,
        });
        rest = rest.get(next..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_entry_precedes_what_is_in_it_once() {
        let mut archive = Archive::new();
        archive.file("a/b/one", 0o644, b"1");
        archive.link("a/b/two", "one");
        archive.directory("a/b", 0o700);
        let entries = read(&archive.finish()).unwrap();
        let paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/one", "a/b/two"]);
        assert_eq!(entries[0].mode, 0o040_755);
        assert_eq!(entries[2].mode, 0o100_644);
        assert_eq!(entries[3].mode, 0o120_777);
    }

    #[test]
    fn an_archive_that_ends_early_is_refused() {
        let mut archive = Archive::new();
        archive.file("file", 0o644, &[1; 100]);
        let bytes = archive.finish();
        assert!(read(&bytes[..150]).is_err());
        assert!(read(&bytes[..50]).is_err());
    }
}
