//! Prepares an installed node to boot back into discovery: puts a kernel and an initrd under its `/boot`, and
//! a boot loader entry that starts them at the next boot. Source: docs/protocol/agent-protocol.md#6.1
//!
//! Differences from that source, on purpose: files stream to disk under a temporary name, are compared with
//! the promised length (and digest, if given), and are renamed only once they are on the disk; the entry is
//! written last, so that the files it names are whole; free space is checked on the file system that receives
//! the files.

mod boot;
mod download;
mod entry;
mod error;
mod sync;

pub use boot::Boot;
pub use download::{Download, DownloadError, fetch};
pub use error::ArtifactError;
