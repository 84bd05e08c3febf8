//! Reads base files at any position.

use std::fs::File;
use std::io;

use sha2::{Digest, Sha256};

use crate::iso9660::Extent;
use crate::overlay::{Piece, Plan};

/// Bytes read at a time while a file is hashed.
const HASH_CHUNK: usize = 256 * 1024;

/// Something with a length that can be read at any position without a cursor.
pub trait ReadAt {
    /// Fills `buffer` with the bytes from `offset` on; an error when they are not all there.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    fn length(&self) -> io::Result<u64>;
}

impl ReadAt for File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let source = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buffer.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(source);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// An image that is described by a plan over its base.
#[derive(Debug)]
pub(crate) struct Planned<'a, R: ReadAt + ?Sized> {
    pub(crate) base: &'a R,
    pub(crate) plan: &'a Plan,
}

impl<R: ReadAt + ?Sized> ReadAt for Planned<'_, R> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let wanted = buffer.len() as u64;
        let end = offset
            .checked_add(wanted)
            .filter(|&end| end <= self.plan.length())
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut rest = buffer;
        for piece in self.plan.range(offset..end) {
            let length = usize::try_from(piece.length()).map_err(io::Error::other)?;
            let (part, after) = rest.split_at_mut(length);
            match piece {
                Piece::Base(Extent { offset, .. }) => self.base.read_exact_at(part, offset)?,
                Piece::Bytes(bytes) => part.copy_from_slice(&bytes),
                Piece::Zeros(_) => part.fill(0),
            }
            rest = after;
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.plan.length())
    }
}

/// SHA-256 of the first `length` bytes.
pub(crate) fn digest<R: ReadAt + ?Sized>(source: &R, length: u64) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; HASH_CHUNK];
    let mut at = 0;
    while at < length {
        let chunk = usize::try_from(length - at).map_or(HASH_CHUNK, |rest| rest.min(HASH_CHUNK));
        source.read_exact_at(&mut buffer[..chunk], at)?;
        hash.update(&buffer[..chunk]);
        at += chunk as u64;
    }
    Ok(hash.finalize().into())
}
