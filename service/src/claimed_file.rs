//! Claims a file, so that only one of several processes has it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// An open file with a lock that processes respect.
#[derive(Debug)]
pub enum Claim {
    /// This process has it until the file is closed. The kernel releases it when the process ends, however it ends.
    Ours(File),
    /// Another process has it; the file is as that one wrote it.
    Theirs(File),
}

/// Claims the file; a missing file is created for its owner only.
///
/// # Errors
/// Fails if the file cannot be opened or locked.
pub fn claim(path: &Path) -> Result<Claim> {
    let shown = || path.display().to_string();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .with_context(shown)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Claim::Ours(file)),
        Err(Errno::WOULDBLOCK) => Ok(Claim::Theirs(file)),
        Err(error) => Err(error).with_context(shown),
    }
}
