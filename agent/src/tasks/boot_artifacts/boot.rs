//! The `/boot` of an installed node: its files for the next boot, and its boot loader entry.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use super::sync::sync_folder;
use super::{ArtifactError, entry};

/// Below `/boot`.
const FOLDER: &str = "discovery";
const KERNEL: &str = "vmlinuz";
const INITRD: &str = "initrd";
/// Below `/boot`.
const ENTRY: &str = "loader/entries/00-assisted-discovery.conf";

/// The `/boot` folder of a node.
#[derive(Debug, Clone)]
pub struct Boot {
    boot: PathBuf,
}

impl Boot {
    /// The `/boot` of the node with its file system mounted at `root`.
    ///
    /// # Errors
    /// Fails if there is no `/boot`.
    pub fn of(root: &str) -> Result<Self, ArtifactError> {
        if !root.starts_with('/') {
            return Err(ArtifactError::Request(format!(
                "host_fs_mount_dir `{root}` is no absolute path"
            )));
        }
        let boot = Path::new(root).join("boot");
        if boot.is_dir() {
            Ok(Self { boot })
        } else {
            Err(ArtifactError::Request(format!(
                "{} is not there: this step is for an installed node whose file system is mounted at {root}",
                boot.display()
            )))
        }
    }

    /// True when kernel, initrd and entry are all there. The entry is written last, so it implies that the
    /// rest is whole.
    pub fn is_prepared(&self) -> bool {
        [self.kernel(), self.initrd(), self.entry()]
            .iter()
            .all(|path| path.is_file())
    }

    pub fn kernel(&self) -> PathBuf {
        self.boot.join(FOLDER).join(KERNEL)
    }

    pub fn initrd(&self) -> PathBuf {
        self.boot.join(FOLDER).join(INITRD)
    }

    fn entry(&self) -> PathBuf {
        self.boot.join(ENTRY)
    }

    /// Makes `/boot` writable if it is not, and the folders in it.
    ///
    /// # Errors
    /// [`ArtifactError::File`]
    pub fn open(&self) -> Result<(), ArtifactError> {
        let wrong = |what, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| ArtifactError::File { what, path, source }
        };
        let read_only = statvfs(&self.boot)
            .map_err(io::Error::from)
            .map_err(wrong("cannot look at", &self.boot))?
            .flags()
            .contains(FsFlags::ST_RDONLY);
        if read_only {
            mount(
                None::<&str>,
                &self.boot,
                None::<&str>,
                MsFlags::MS_REMOUNT,
                None::<&str>,
            )
            .map_err(io::Error::from)
            .map_err(wrong("cannot be made writable:", &self.boot))?;
        }
        for path in [self.kernel(), self.entry()] {
            let folder = path.parent().expect("both are in folders");
            std::fs::create_dir_all(folder).map_err(wrong("cannot be made:", folder))?;
        }
        Ok(())
    }

    /// Writes the boot loader's entry. The kernel and the initrd must be in their places.
    ///
    /// # Errors
    /// [`ArtifactError`]
    pub fn write_entry(&self, rootfs_url: &str, kernel_arguments: &[String]) -> Result<(), ArtifactError> {
        let text = entry::text(&self.seen_by_boot_loader()?, rootfs_url, kernel_arguments)?;
        let path = self.entry();
        let place = path.with_extension("part");
        let written = std::fs::write(&place, text)
            .and_then(|()| File::open(&place)?.sync_all())
            .and_then(|()| std::fs::rename(&place, &path))
            .and_then(|()| sync_folder(&path));
        written.map_err(|source| ArtifactError::File {
            what: "cannot be written:",
            path,
            source,
        })
    }

    /// The folder's path from the root of the file system that it is on.
    fn seen_by_boot_loader(&self) -> Result<String, ArtifactError> {
        use std::os::unix::fs::MetadataExt;
        let device = |path: &Path| {
            std::fs::metadata(path)
                .map(|found| found.dev())
                .map_err(|source| ArtifactError::File {
                    what: "cannot look at",
                    path: path.to_owned(),
                    source,
                })
        };
        let above = self.boot.parent().unwrap_or(Path::new("/"));
        let own_file_system = device(&self.boot)? != device(above)?;
        Ok(if own_file_system {
            format!("/{FOLDER}")
        } else {
            format!("/boot/{FOLDER}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_prepared_when_kernel_initrd_and_entry_are_there() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("boot")).unwrap();
        let boot = Boot::of(root.path().to_str().unwrap()).unwrap();
        boot.open().unwrap();
        for path in [boot.kernel(), boot.initrd()] {
            assert!(!boot.is_prepared());
            std::fs::write(path, "x").unwrap();
        }
        assert!(!boot.is_prepared());
        boot.write_entry("http://a/rootfs", &[]).unwrap();
        assert!(boot.is_prepared());
        let text = std::fs::read_to_string(boot.entry()).unwrap();
        assert!(text.contains("linux /boot/discovery/vmlinuz\n"), "{text}");
    }

    #[test]
    fn a_place_without_boot_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for (place, word) in [
            (root.path().to_str().unwrap(), "installed node"),
            ("", "absolute"),
            ("host", "absolute"),
        ] {
            let error = Boot::of(place).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
