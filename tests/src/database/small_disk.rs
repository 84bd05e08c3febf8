//! A small file system in memory that a test can fill.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Covers a folder until dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Of so many MiB.
    ///
    /// # Panics
    /// If the test may not mount.
    #[track_caller]
    pub fn over(folder: &Path, mebibytes: u32) -> Self {
        let mount = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={mebibytes}m,mode=0700"),
                "tmpfs",
            ])
            .arg(folder)
            .output()
            .expect("the mount program is there");
        assert!(
            mount.status.success(),
            "this test needs a file system that it can fill, so it must be root and allowed to mount (CAP_SYS_ADMIN): {}",
            String::from_utf8_lossy(&mount.stderr)
        );
        Self(folder.to_owned())
    }

    /// Fills the remaining space; returns the file to remove to free it.
    ///
    /// # Panics
    /// If there is no space for even a name.
    #[must_use]
    pub fn fill(&self) -> PathBuf {
        let path = self.0.join("somebody-elses-file");
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a name needs no space in memory");
        let piece = [b'x'; 4096];
        while file.write_all(&piece).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a program may still have open files on it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
