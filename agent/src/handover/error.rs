//! The reasons why a newer program does not take over.

use std::io;

/// The reason why a newer program does not take over. None holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// The service or the way to it.
    #[error("it cannot be downloaded: {0}")]
    Download(String),
    #[error("it has {found} bytes, {promised} were promised")]
    Size { found: u64, promised: u64 },
    #[error("it has {0} bytes, more than a program of the agent ever has")]
    TooLarge(u64),
    #[error("it cannot be unpacked: {0}")]
    Unpack(io::Error),
    #[error("the archive holds no program of the agent")]
    NoProgram,
    #[error("its SHA-256 is not the promised one")]
    Digest,
    #[error("there is no memory for it: {0}")]
    Memory(io::Error),
    #[error("it does not start: {0}")]
    Start(io::Error),
    /// The output of the program that was tried.
    #[error("it was tried and does not work: {0}")]
    Trial(String),
    /// The service did not respond to the program that was tried, which proves nothing about it.
    #[error("it was tried, and the service did not answer it: {0}")]
    NoAnswer(String),
    #[error("replies to steps could not be sent in time")]
    Replies,
}

impl HandoverError {
    /// True if the same program may take over another time.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Download(_) | Self::Memory(_) | Self::NoAnswer(_) | Self::Replies => true,
            Self::Size { .. }
            | Self::TooLarge(_)
            | Self::Unpack(_)
            | Self::NoProgram
            | Self::Digest
            | Self::Start(_)
            | Self::Trial(_) => false,
        }
    }
}
