//! Makes the archive of the ignition area: `config.ign`, and files for the initramfs.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::newc::Archive;

/// A file that the kernel unpacks into the initramfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitrdFile {
    /// Path from the root, without the first `/`.
    pub path: String,
    pub content: InitrdContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitrdContent {
    File {
        permissions: u32,
        text: String,
    },
    /// A symbolic link to this path.
    Link(String),
}

/// The archive, compressed and padded to whole words. The same content gives the same bytes.
pub(super) fn archive(ignition: &str, files: &[InitrdFile]) -> Bytes {
    let mut archive = Archive::default();
    archive.file("config.ign", 0o600, ignition.as_bytes());
    for InitrdFile { path, content } in files {
        match content {
            InitrdContent::File { permissions, text } => archive.file(path, *permissions, text.as_bytes()),
            InitrdContent::Link(target) => archive.link(path, target),
        }
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let packed = gzip.write_all(&archive.finish()).and_then(|()| gzip.finish());
    let mut packed = packed.expect("writing to memory does not fail");
    packed.resize(packed.len().next_multiple_of(4), 0);
    packed.into()
}
