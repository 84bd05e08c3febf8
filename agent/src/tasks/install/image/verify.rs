//! Reads an image back from the disk, and writes its first mebibyte once all the rest is right.

use std::os::unix::fs::FileExt;

use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::buffer::{ALIGNMENT, Buffer};
use super::error::ImageError;
use super::head::HEAD;
use super::write::{PIECE, Target, Written};

/// Reads everything from [`HEAD`] on past the kernel's cache, and compares. Reports the bytes read to `progress`.
///
/// # Errors
/// [`ImageError`]
pub fn read_back(
    written: &Written,
    stop: &CancellationToken,
    progress: impl Fn(u64),
) -> Result<(), ImageError> {
    let target = &written.target;
    let mut buffer = Buffer::new(PIECE);
    let mut sum = Xxh3::new();
    let mut at = HEAD as u64;
    while at < written.size {
        if stop.is_cancelled() {
            return Err(ImageError::Stopped);
        }
        let wanted = usize::try_from(written.size - at).unwrap_or(PIECE).min(PIECE);
        let room = usize::try_from(target.size - at).unwrap_or(PIECE);
        let padded = wanted.next_multiple_of(ALIGNMENT).min(room);
        target
            .file
            .read_exact_at(&mut buffer.bytes_mut()[..padded], at)
            .map_err(|source| target.error("read", at, source))?;
        sum.update(&buffer.bytes()[..wanted]);
        at += wanted as u64;
        progress(at);
    }
    if sum.digest128() == written.sum {
        Ok(())
    } else {
        Err(ImageError::Differs {
            from: HEAD as u64,
            to: written.size,
        })
    }
}

/// Writes the first mebibyte, which makes the disk bootable, and reads it back.
///
/// # Errors
/// [`ImageError`]
pub fn seal(target: &Target, head: &Buffer) -> Result<(), ImageError> {
    target
        .file
        .write_all_at(head.bytes(), 0)
        .and_then(|()| target.file.sync_all())
        .map_err(|source| target.error("written", 0, source))?;
    let mut found = Buffer::new(HEAD);
    target
        .file
        .read_exact_at(found.bytes_mut(), 0)
        .map_err(|source| target.error("read", 0, source))?;
    if found.bytes() == head.bytes() {
        Ok(())
    } else {
        Err(ImageError::Differs {
            from: 0,
            to: HEAD as u64,
        })
    }
}
