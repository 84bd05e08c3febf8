//! Keeps a second service away from a data dir: SQLite has one writer, and the kubeconfig names one listener.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::claimed_file::{Claim, claim};

/// Holds the process id of the service that has the data dir.
const NAME: &str = "serve.lock";

/// A data dir that this process has until this is dropped. The kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

impl DataLock {
    /// # Errors
    /// Fails if another service has it, or if the file cannot be written.
    pub fn take(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join(NAME);
        let shown = || path.display().to_string();
        let mut file = match claim(&path)? {
            Claim::Ours(file) => file,
            Claim::Theirs(mut file) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).with_context(shown)?;
                bail!(
                    "the service with pid {} has this data dir ({}): stop it, or choose another one with --data-dir; several \
                     services share a PostgreSQL database (--database-url)",
                    pid.trim(),
                    data_dir.display()
                );
            }
        };
        file.set_len(0).with_context(shown)?;
        file.rewind().with_context(shown)?;
        writeln!(file, "{}", std::process::id()).with_context(shown)?;
        Ok(Self { _file: file })
    }
}
