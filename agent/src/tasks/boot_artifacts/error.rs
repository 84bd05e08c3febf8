//! The error of a node that cannot be prepared.

use std::io;
use std::path::PathBuf;

use super::DownloadError;

/// A node that cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    #[error("{0}")]
    Request(String),
    /// A file or folder could not be read, made or written.
    #[error("{what} {path}", path = path.display())]
    File {
        /// The attempted action, as the error prints it.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Download(#[from] DownloadError),
}
