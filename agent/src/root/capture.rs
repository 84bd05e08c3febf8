//! Defines the format of a capture: a folder (or tar) with the files that were read, at their paths, and
//! `capture.json` with the results of system calls. Version 1; raise it when an old reader would
//! misread.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::ProbeError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// In the same folder as `proc` and `sys` of a captured tree.
pub const CAPTURE_FILE: &str = "capture.json";
const VERSION: u32 = 1;

/// A capture that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot open the captured tree {}: {source}", dir.display())]
    Tree { dir: PathBuf, source: io::Error },
    #[error("{} is no directory; unpack a captured tar first", dir.display())]
    NotADirectory { dir: PathBuf },
    /// `capture.json` is broken.
    #[error("{} cannot be understood: {source}", file.display())]
    Json {
        file: PathBuf,
        source: serde_json::Error,
    },
    #[error("cannot write the capture {}: {source}", place.display())]
    Write {
        /// The tar or folder.
        place: PathBuf,
        source: io::Error,
    },
    /// Written by a newer program.
    #[error("{} has version {version}, this program reads version {VERSION}", file.display())]
    Version {
        file: PathBuf,
        /// The version in the file.
        version: u32,
    },
}

/// `capture.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct CaptureFile {
    version: u32,
    /// Results by query.
    pub(super) probes: BTreeMap<String, Answer>,
}

/// The machine's result of a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    Is(serde_json::Value),
    Unknown(String),
}

impl Answer {
    pub(super) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<T, ProbeError> {
        match self {
            Answer::Is(value) => {
                serde_json::from_value(value.clone()).map_err(|error| ProbeError::Captured {
                    key: key.to_owned(),
                    fault: format!("cannot be understood: {error}"),
                })
            }
            Answer::Unknown(reason) => Err(ProbeError::Recorded(reason.clone())),
        }
    }
}

impl CaptureFile {
    pub(super) fn read(dir: &Path) -> Result<Self, CaptureError> {
        let file = dir.join(CAPTURE_FILE);
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    version: VERSION,
                    probes: BTreeMap::new(),
                });
            }
            Err(source) => return Err(CaptureError::Tree { dir: file, source }),
        };
        let read: Self = serde_json::from_slice(&bytes).map_err(|source| CaptureError::Json {
            file: file.clone(),
            source,
        })?;
        if read.version != VERSION {
            return Err(CaptureError::Version {
                file,
                version: read.version,
            });
        }
        Ok(read)
    }
}

/// Everything that was read of a machine.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) directories: BTreeSet<String>,
    /// Resolved, or requested.
    pub(super) paths: BTreeSet<String>,
    probes: BTreeMap<String, Answer>,
}

impl Recording {
    pub(super) fn capture_file(&self) -> CaptureFile {
        CaptureFile {
            version: VERSION,
            probes: self.probes.clone(),
        }
    }

    pub(super) fn file(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(path.to_owned(), bytes.to_owned());
    }

    pub(super) fn directory(&mut self, path: &str) {
        self.directories.insert(path.to_owned());
    }

    pub(super) fn resolved(&mut self, path: &str) {
        self.paths.insert(path.to_owned());
    }

    pub(super) fn answer<T: Serialize>(&mut self, key: &str, answer: &Result<T, ProbeError>) {
        let answer = match answer {
            Ok(value) => match serde_json::to_value(value) {
                Ok(value) => Answer::Is(value),
                Err(error) => Answer::Unknown(error.to_string()),
            },
            Err(reason) => Answer::Unknown(reason.to_string()),
        };
        self.probes.insert(key.to_owned(), answer);
    }
}
