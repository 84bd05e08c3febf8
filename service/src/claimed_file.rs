//! Claims a file, so that of several processes one has it.

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// An open file that processes agree by.
#[derive(Debug)]
pub enum Claim {
    /// This process has it until the file is closed. The kernel gives it back when the process ends, however it ends.
    Ours(File),
    /// Another process has it; the file is as that one wrote it.
    Theirs(File),
}

/// Claims the file, which is made where there is none.
///
/// # Errors
/// It cannot be opened or locked.
pub fn claim(path: &Path) -> Result<Claim> {
    let shown = || path.display().to_string();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(shown)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Claim::Ours(file)),
        Err(Errno::WOULDBLOCK) => Ok(Claim::Theirs(file)),
        Err(error) => Err(error).with_context(shown),
    }
}
