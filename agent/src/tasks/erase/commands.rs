//! The commands that an erasure sends to a disk. Tests play a disk at this level.

use std::io;
use std::time::Duration;

pub use crate::passthrough::{Data, NvmeAdmin};

/// The commands of its own that a disk takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Those of NVMe; the number of the namespace.
    Nvme(u32),
    Ata,
    /// Reads, writes and discards only.
    Plain,
}

/// A command of ATA, with those of its registers that this agent sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ata {
    pub command: u8,
    pub limit: Duration,
}

/// A command that a disk did not carry out.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the controller answers with status {0:#06x}")]
    Nvme(u16),
    #[error("the disk refuses it (SCSI status {status:#04x}, sense {key:x}/{code:02x}/{qualifier:02x})")]
    Sense {
        status: u8,
        key: u8,
        code: u8,
        qualifier: u8,
    },
    #[error("the controller of the disk cannot send it (host status {0:#06x})")]
    Host(u16),
    #[error("no answer within {0} s")]
    Deadline(u64),
    #[error("{0}")]
    Failed(#[from] io::Error),
}

/// A disk that is to be erased, claimed for this. Buffers of reads and writes are aligned as [`crate::install::image::buffer`] has it.
pub trait Commands {
    fn kind(&self) -> Kind;

    /// Bytes.
    fn size(&self) -> u64;

    /// Reads past caches.
    ///
    /// # Errors
    /// Fails if the disk does, or has fewer bytes.
    fn read(&mut self, at: u64, to: &mut [u8]) -> io::Result<()>;

    /// # Errors
    /// Fails if the disk does, or has fewer bytes.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until the disk has stored what was written.
    ///
    /// # Errors
    /// Fails if the disk does.
    fn flush(&mut self) -> io::Result<()>;

    /// # Errors
    /// Fails if the disk, or the kernel for it, knows no discard.
    fn discard(&mut self, at: u64, length: u64) -> io::Result<()>;

    /// Sends an admin command; `data` is what the controller returns.
    ///
    /// # Errors
    /// [`Refusal`]
    fn nvme(&mut self, command: &NvmeAdmin, data: &mut [u8]) -> Result<(), Refusal>;

    /// # Errors
    /// [`Refusal`]
    fn ata(&mut self, command: &Ata, data: Data<'_>) -> Result<(), Refusal>;

    /// Time since the disk was opened.
    fn elapsed(&self) -> Duration;

    fn pause(&mut self, time: Duration);
}
