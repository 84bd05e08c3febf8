//! Reads files and probes from the running machine, or from a tree captured on another one.
//!
//! Every file that a probe reads goes through [`Root`], and so does every query that no file answers
//! (netlink, ioctls): that is a *probe with a key*, and a capture keeps its result in `capture.json`. Reading a
//! captured tree never follows a link out of the tree, so captures from strangers are safe to read.

mod capture;
mod capture_writer;
mod error;
pub(crate) mod sysfs;
mod tree;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use capture::{CAPTURE_FILE, CaptureError, CaptureFile, Recording};
pub use error::{Operation, ProbeError};

/// Longest file that is read; sysfs and procfs files are far shorter, a SMBIOS table is about 64 KiB at most.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The machine that probes read. Paths given to its methods are absolute (`/sys/block`).
#[derive(Debug)]
pub struct Root {
    kind: Kind,
    recording: Option<Mutex<Recording>>,
}

#[derive(Debug)]
enum Kind {
    Live,
    Tree {
        dir: PathBuf,
        probes: BTreeMap<String, capture::Answer>,
    },
}

impl Root {
    /// The running machine.
    pub fn live() -> Self {
        Self {
            kind: Kind::Live,
            recording: None,
        }
    }

    /// The running machine, recording everything that is read of it.
    pub fn recording() -> Self {
        Self {
            kind: Kind::Live,
            recording: Some(Mutex::new(Recording::default())),
        }
    }

    /// A captured tree. Without `capture.json` the results of probes are unknown.
    ///
    /// # Errors
    /// Fails if `dir` is no directory, or its `capture.json` cannot be parsed.
    pub fn tree(dir: &Path) -> Result<Self, CaptureError> {
        let dir = dir.canonicalize().map_err(|source| CaptureError::Tree {
            dir: dir.to_owned(),
            source,
        })?;
        if !dir.is_dir() {
            return Err(CaptureError::NotADirectory { dir });
        }
        let probes = CaptureFile::read(&dir)?.probes;
        Ok(Self {
            kind: Kind::Tree { dir, probes },
            recording: None,
        })
    }

    /// True for the running machine, where device nodes can be opened.
    pub fn is_live(&self) -> bool {
        matches!(self.kind, Kind::Live)
    }

    /// True if [`Root::live`] in another thread is equivalent: the running machine, without a recording.
    pub fn answers_for_this_machine(&self) -> bool {
        self.is_live() && self.recording.is_none()
    }

    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = match &self.kind {
            Kind::Live => read_limited(Path::new(path))?,
            Kind::Tree { dir, .. } => {
                read_limited(&dir.join(tree::resolve(dir, path)?.trim_start_matches('/')))?
            }
        };
        self.record(|recording| recording.file(path, &bytes));
        Ok(bytes)
    }

    /// A file as text without white space around it; bytes that are no UTF-8 become U+FFFD, NUL bytes are
    /// removed.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let bytes = self.read(path)?;
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        Ok(text.trim().to_owned())
    }

    /// Names in a directory, sorted.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let place = match &self.kind {
            Kind::Live => PathBuf::from(path),
            Kind::Tree { dir, .. } => dir.join(tree::resolve(dir, path)?.trim_start_matches('/')),
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(place)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        self.record(|recording| recording.directory(path));
        Ok(names)
    }

    /// The path with every symbolic link resolved, as seen from this root.
    pub fn resolve(&self, path: &str) -> io::Result<String> {
        let resolved = match &self.kind {
            Kind::Live => Path::new(path).canonicalize()?.to_string_lossy().into_owned(),
            Kind::Tree { dir, .. } => tree::resolve(dir, path)?,
        };
        self.record(|recording| recording.resolved(path));
        Ok(resolved)
    }

    /// The target of a symbolic link, which need not exist.
    pub fn link(&self, path: &str) -> io::Result<String> {
        let place = match &self.kind {
            Kind::Live => PathBuf::from(path),
            Kind::Tree { dir, .. } => dir.join(tree::parent(dir, path)?.trim_start_matches('/')),
        };
        let target = std::fs::read_link(place)?.to_string_lossy().into_owned();
        self.record(|recording| recording.resolved(path));
        Ok(target)
    }

    /// True when the path exists (links are followed).
    pub fn exists(&self, path: &str) -> bool {
        let there = match &self.kind {
            Kind::Live => Path::new(path).exists(),
            Kind::Tree { dir, .. } => tree::resolve(dir, path).is_ok(),
        };
        if there {
            self.record(|recording| recording.resolved(path));
        }
        there
    }

    pub fn is_dir(&self, path: &str) -> bool {
        let there = match &self.kind {
            Kind::Live => Path::new(path).is_dir(),
            Kind::Tree { dir, .. } => {
                tree::resolve(dir, path).is_ok_and(|found| dir.join(found.trim_start_matches('/')).is_dir())
            }
        };
        if there {
            self.record(|recording| recording.resolved(path));
        }
        there
    }

    /// The result of a query that no file answers. On the running machine `ask` finds it; a captured tree
    /// has it under `key`.
    ///
    /// # Errors
    /// The reason why there is no result.
    pub fn probe<T, F>(&self, key: &str, ask: F) -> Result<T, ProbeError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Result<T, ProbeError>,
    {
        match &self.kind {
            Kind::Live => {
                let answer = ask();
                self.record(|recording| recording.answer(key, &answer));
                answer
            }
            Kind::Tree { probes, .. } => match probes.get(key) {
                Some(answer) => answer.read(key),
                None => Err(ProbeError::NotCaptured { key: key.to_owned() }),
            },
        }
    }

    /// The files and results read so far, if this root records.
    pub fn into_recording(self) -> Option<Recording> {
        self.recording
            .map(|recording| recording.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(&self, note: impl FnOnce(&mut Recording)) {
        if let Some(recording) = &self.recording {
            note(&mut recording.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
