//! The folder that a backup is made in, next to the file that it becomes. It holds the whole database for a while, so the next backup to
//! the same place removes the folder of a backup that was killed.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::DATABASE;
use crate::claimed_file::{Claim, claim};
use crate::cli::failure::Failure;

/// The end of its name.
const ENDING: &str = ".muster-part";

/// Locked while the backup runs.
const LOCK: &str = "lock";

/// The archive in it.
const ARCHIVE: &str = "backup.tar";

/// A folder of a backup that runs. It is removed when this is dropped.
#[derive(Debug)]
pub struct Part {
    folder: PathBuf,
    _lock: File,
}

impl Part {
    /// Makes the folder for the file of a backup, and removes those of backups that were killed.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, or if another backup makes the same file.
    pub fn make(file: &Path) -> Result<Self> {
        remove_left_over(folder_of(file))?;
        let mut folder = file.as_os_str().to_owned();
        folder.push(ENDING);
        let folder = PathBuf::from(folder);
        let named = || format!("{} cannot be made", folder.display());
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .with_context(named)?;
        match claim(&folder.join(LOCK))? {
            Claim::Ours(lock) => Ok(Self { folder, _lock: lock }),
            Claim::Theirs(_) => {
                Err(Failure::refused(format!("another backup makes {}", file.display())).into())
            }
        }
    }

    /// The path of the database's copy.
    pub fn database(&self) -> PathBuf {
        self.folder.join(DATABASE)
    }

    /// The path of the archive.
    pub fn archive(&self) -> PathBuf {
        self.folder.join(ARCHIVE)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The next backup removes what stays.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn remove_left_over(place: &Path) -> Result<()> {
    let named = || format!("{} cannot be read", place.display());
    for entry in std::fs::read_dir(place).with_context(named)? {
        let entry = entry.with_context(named)?;
        let is_named_so = entry.file_name().as_encoded_bytes().ends_with(ENDING.as_bytes());
        if !is_named_so || !entry.file_type().with_context(named)?.is_dir() {
            continue;
        }
        let path = entry.path();
        if is_ours(&path)
            && let Ok(Claim::Ours(_lock)) = claim(&path.join(LOCK))
        {
            let removed = std::fs::remove_dir_all(&path);
            removed.with_context(|| {
                format!(
                    "{}, of a backup that was killed, cannot be removed",
                    path.display()
                )
            })?;
        }
    }
    Ok(())
}

/// True if it holds nothing but files of a backup.
fn is_ours(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return false;
    };
    let of_database = format!("{DATABASE}-");
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            [LOCK, ARCHIVE, DATABASE].contains(&&*name) || name.starts_with(&of_database)
        })
    })
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Renames a file so that it stays renamed after a power cut.
///
/// # Errors
/// Fails if the file cannot be renamed or its folder not be synced.
pub fn rename_for_good(from: &Path, to: &Path) -> Result<()> {
    let named = || format!("{} cannot be written", to.display());
    std::fs::rename(from, to).with_context(named)?;
    let folder = File::open(folder_of(to)).with_context(named)?;
    folder.sync_all().with_context(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_killed_backup_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["killed", "notes"] {
            std::fs::create_dir(at(&format!("{name}{ENDING}"))).unwrap();
        }
        std::fs::write(at("killed.muster-part/muster.db"), "secrets").unwrap();
        std::fs::write(at("notes.muster-part/mine"), "text").unwrap();
        std::fs::write(at("file.muster-part"), "text").unwrap();
        let running = Part::make(&at("running")).unwrap();
        let other = Part::make(&at("other")).unwrap();
        assert!(!at("killed.muster-part").exists());
        assert!(at("notes.muster-part/mine").exists() && at("file.muster-part").exists());
        assert!(running.folder.exists(), "it is locked");
        Part::make(&at("running")).unwrap_err();
        drop((running, other));
        assert!(!at("running.muster-part").exists() && !at("other.muster-part").exists());
    }
}
