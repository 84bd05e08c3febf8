//! Writes cpio archives in the format "newc", which the kernel unpacks into its root file system.
//!
//! Everything in them belongs to root and has no time, so that equal content gives equal bytes.

use std::collections::BTreeSet;
use std::io::Write as _;

use cpio::newc::{self, Builder, ModeFileType};

/// An archive being written. Entries keep the order of the calls. The directories of a path are added before it, once: the kernel silently
/// drops a file in a missing directory.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a directory, unless the archive has it.
    pub fn directory(&mut self, path: &str, permissions: u32) {
        self.parents(path);
        if self.directories.insert(path.to_owned()) {
            self.entry(path, ModeFileType::Directory, permissions, &[]);
        }
    }

    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        self.parents(path);
        self.entry(path, ModeFileType::Regular, permissions, content);
    }

    /// Adds a symbolic link to `target`.
    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entry(path, ModeFileType::Symlink, 0o777, target.as_bytes());
    }

    /// Ends the archive and returns its bytes.
    pub fn finish(self) -> Vec<u8> {
        newc::trailer(self.bytes).expect("writing to memory does not fail")
    }

    fn parents(&mut self, path: &str) {
        for (index, _) in path.match_indices('/') {
            let parent = &path[..index];
            if self.directories.insert(parent.to_owned()) {
                self.entry(parent, ModeFileType::Directory, 0o755, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, kind: ModeFileType, permissions: u32, content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len())
            .expect("newc holds files below 4 GiB; an initramfs has no such file");
        let links = if matches!(kind, ModeFileType::Directory) {
            2
        } else {
            1
        };
        let mut entry = Builder::new(path)
            .ino(self.entries)
            .nlink(links)
            .mode(permissions)
            .set_mode_file_type(kind)
            .write(&mut self.bytes, size);
        entry
            .write_all(content)
            .and_then(|()| entry.finish())
            .expect("writing to memory does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_entry_precedes_what_is_in_it_once() {
        let mut archive = Archive::default();
        archive.file("a/b/one", 0o644, b"1");
        archive.link("a/b/two", "one");
        archive.directory("a/b", 0o700);
        let bytes = archive.finish();
        let mut rest = bytes.as_slice();
        let mut entries = Vec::new();
        loop {
            let reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            entries.push((reader.entry().name().to_owned(), reader.entry().mode()));
            rest = reader.finish().unwrap();
        }
        let expected = [
            ("a", 0o040_755),
            ("a/b", 0o040_755),
            ("a/b/one", 0o100_644),
            ("a/b/two", 0o120_777),
        ];
        assert_eq!(entries, expected.map(|(path, mode)| (path.to_owned(), mode)));
    }
}
