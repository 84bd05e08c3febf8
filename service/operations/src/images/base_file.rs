//! Reads the file of an image, and detects that it was overwritten.

use std::fs::{File, Metadata};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// An open base file that detects writes to it.
#[derive(Debug)]
pub struct BaseFile {
    file: File,
    stamp: FileStamp,
}

/// Equal stamps: the same bytes, as far as the file system shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl BaseFile {
    /// Stores the file's present state.
    pub fn new(file: File) -> io::Result<Self> {
        let stamp = FileStamp::from(&file.metadata()?);
        Ok(Self { file, stamp })
    }

    /// The state when it was opened.
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Fails if the file was written to since it was opened: the response would be neither the old nor the new image.
    pub fn check_unchanged(&self) -> io::Result<()> {
        if FileStamp::from(&self.file.metadata()?) == self.stamp {
            return Ok(());
        }
        Err(io::Error::other(
            "the base image was overwritten while it was sent; replace it by renaming a new file over it",
        ))
    }

    /// Reads the part of `buffer`'s length at `offset` that is in the page cache, without waiting for the disk. `None`:
    /// the read would wait, or the file system does not support this.
    pub fn read_cached(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        match preadv2(
            &self.file,
            &mut [IoSliceMut::new(buffer)],
            offset,
            ReadWriteFlags::NOWAIT,
        ) {
            Ok(0) => Err(truncated()),
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// True when first and last byte of a run are in the page cache. Between them the kernel's read-ahead
    /// has been at work too; where it has not, sending waits for the disk, as nginx does.
    pub fn is_cached(&self, offset: u64, length: usize) -> io::Result<bool> {
        let mut byte = [0];
        let last = offset + (length as u64).saturating_sub(1);
        Ok(self.read_cached(&mut byte, offset)?.is_some() && self.read_cached(&mut byte, last)?.is_some())
    }

    /// Reads all of `buffer` at `offset`; waits for the disk.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

/// The error of a file that ends before a read does.
pub fn truncated() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the base image became shorter while it was sent",
    )
}
