//! The disk that SQLite's file is on, which may be full.
//!
//! A database needs space even to delete: the log of the deletion is written first. So a file of some size is kept in
//! reserve, and removed when no other space is left. By then, dispensable writes are refused.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// Most bytes that are kept in reserve; of small disks a twentieth.
const RESERVE: u64 = 16 << 20;

/// Below so many bytes, or a tenth of a small disk, large dispensable writes are refused.
const SCARCE: u64 = 256 << 20;

/// Bytes that downloads leave free on their disk: it may be the database's.
pub const KEPT_FREE: u64 = RESERVE + (1 << 30);

/// Bytes that every write needs: the pages that a small transaction changes.
const LEAST: u64 = 256 << 10;

/// The disk of a database that is one file. Clones share the state of the file.
#[derive(Debug, Clone)]
pub struct Disk {
    folder: PathBuf,
    file: PathBuf,
    /// Device and inode of the file that the database was opened as.
    opened: Arc<OnceLock<(u64, u64)>>,
}

/// Bytes of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub free: u64,
    pub total: u64,
}

impl Space {
    /// The space of the disk of this folder.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let found = statvfs(folder)?;
        Ok(Self {
            free: found.f_bavail * found.f_frsize,
            total: found.f_blocks * found.f_frsize,
        })
    }

    /// The used part, from 0 to 100. Space for root only counts as used.
    pub fn used_percent(self) -> f64 {
        100.0 * (1.0 - self.free as f64 / (self.total as f64).max(1.0))
    }

    fn reserve(self) -> u64 {
        RESERVE.min(self.total / 20)
    }

    /// True if so little is left that logs are refused, before hosts are.
    pub fn is_scarce(self) -> bool {
        self.free < SCARCE.min(self.total / 10)
    }

    /// True if nothing can be written any more.
    pub fn is_used_up(self) -> bool {
        self.free < LEAST.min(self.total / 100)
    }
}

impl Disk {
    /// The disk of this database's file.
    pub fn of(file: &Path) -> Self {
        Self {
            folder: file.parent().unwrap_or(Path::new(".")).to_owned(),
            file: file.to_owned(),
            opened: Arc::default(),
        }
    }

    /// True if the file was removed or replaced: the service would continue with a file that cannot be found after its
    /// end. The first call stores the file's identity.
    pub fn is_replaced(&self) -> bool {
        let found = fs::metadata(&self.file).map(|file| (file.dev(), file.ino()));
        match found {
            Ok(found) => *self.opened.get_or_init(|| found) != found,
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.opened.get().is_some(),
        }
    }

    /// The space of the disk.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn space(&self) -> io::Result<Space> {
        Space::of(&self.folder)
    }

    /// Its folder, for messages to the operator.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn reserve(&self) -> PathBuf {
        self.folder.join("reserve")
    }

    /// Keeps a reserve if there is space for it.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn keep_reserve(&self) -> io::Result<()> {
        let space = self.space()?;
        // Twice the limit: the free space without the reserve must not be scarce at once.
        let is_roomy = space.free > 2 * SCARCE.min(space.total / 10) + space.reserve();
        if is_roomy && !self.reserve().exists() {
            self.make_reserve(space.reserve())?;
        }
        Ok(())
    }

    /// Removes the reserve if no other space is left; returns true if it did. For a start, which writes, and to delete.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        let path = self.reserve();
        if !self.space()?.is_used_up() || !path.exists() {
            return Ok(false);
        }
        fs::remove_file(path)?;
        tracing::warn!(
            folder = %self.folder.display(),
            "the disk is full: the space that was kept in reserve is used; free some, or delete logs and hosts"
        );
        Ok(true)
    }

    fn make_reserve(&self, length: u64) -> io::Result<()> {
        let path = self.reserve();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        let made = fallocate(&file, FallocateFlags::empty(), 0, length);
        if let Err(error) = made {
            // File systems that cannot allocate space have no reserve.
            fs::remove_file(&path)?;
            tracing::debug!(%error, "no reserve is kept");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_scarce_before_it_is_used_up() {
        let space = |free, total| Space { free, total };
        let large = 1 << 40;
        assert!(!space(1 << 30, large).is_scarce());
        assert!(space(100 << 20, large).is_scarce() && !space(100 << 20, large).is_used_up());
        assert!(space(100 << 10, large).is_used_up());
        let small = 24 << 20;
        assert!(!space(5 << 20, small).is_scarce());
        assert!(space(2 << 20, small).is_scarce() && !space(2 << 20, small).is_used_up());
        assert_eq!(space(0, small).reserve(), small / 20);
    }

    #[test]
    fn a_file_that_is_removed_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("muster.db");
        let disk = Disk::of(&file);
        assert!(!disk.is_replaced(), "it was not there yet");
        fs::write(&file, "a").unwrap();
        assert!(!disk.is_replaced());
        fs::rename(&file, folder.path().join("elsewhere")).unwrap();
        assert!(disk.is_replaced());
        fs::write(&file, "b").unwrap();
        assert!(disk.clone().is_replaced());
    }

    #[test]
    fn a_reserve_is_kept_where_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::of(&folder.path().join("muster.db"));
        disk.keep_reserve().unwrap();
        let space = disk.space().unwrap();
        let kept = folder
            .path()
            .join("reserve")
            .metadata()
            .map(|file| file.len())
            .unwrap_or(0);
        assert!(kept == 0 || kept == space.reserve());
        assert!(
            !disk.give_up_reserve().unwrap(),
            "it is not given up without need"
        );
    }
}
