//! Resolves the id of a disk to the one block device that it names.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use crate::install::error::InstallError;
use crate::root::Root;

/// Unit of `size` in sysfs.
const SECTOR: u64 = 512;
/// Below `/sys/class/block/N`. Source: the kernel's `Documentation/ABI/stable/sysfs-block`.
const SEQUENCE: &str = "diskseq";

/// An id or a name that is not of a whole disk.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("an id under /dev/ is expected")]
    OutsideDev,
    #[error("it is not there (any more)")]
    Absent,
    #[error("{0}")]
    Unreadable(io::Error),
    /// A node of the device mapper without a device.
    #[error("{0} is no device")]
    NotMapped(String),
    /// A link to this path, which is not a device's.
    #[error("it leads to {0}")]
    Elsewhere(String),
    #[error("it is no block device")]
    NoBlockDevice,
    #[error("it is a partition, and not a disk")]
    Partition,
    #[error("its size is not known")]
    NoSize,
}

/// A whole disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The id that the request names.
    pub id: String,
    /// Kernel name.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// Bytes.
    pub size: u64,
    /// Bytes of a logical sector.
    pub sector: u32,
    /// The kernel's count of this disk: another disk, or another medium, that gets the same name and number has another
    /// count. None with kernels before 5.15.
    pub sequence: Option<String>,
}

impl Disk {
    /// Finds the disk of an id, which is a path under `/dev`.
    ///
    /// # Errors
    /// [`InstallError::NoDisk`]
    pub fn find(root: &Root, id: &str) -> Result<Self, InstallError> {
        let no_disk = |error: DeviceError| InstallError::NoDisk {
            device: id.to_owned(),
            reason: error.to_string(),
        };
        let name = resolve(root, id).map_err(no_disk)?;
        Self::named(root, id, &name).map_err(no_disk)
    }

    /// The disk of a kernel name.
    ///
    /// # Errors
    /// Fails if it is not a whole disk.
    pub fn named(root: &Root, id: &str, name: &str) -> Result<Self, DeviceError> {
        let folder = format!("/sys/class/block/{name}");
        let text = |file: &str| root.text(&format!("{folder}/{file}")).ok();
        let number = text("dev").ok_or(DeviceError::NoBlockDevice)?;
        if root.exists(&format!("{folder}/partition")) {
            return Err(DeviceError::Partition);
        }
        let size = text("size")
            .and_then(|text| text.parse::<u64>().ok())
            .and_then(|sectors| sectors.checked_mul(SECTOR))
            .filter(|size| *size > 0)
            .ok_or(DeviceError::NoSize)?;
        let sector = text("queue/logical_block_size")
            .and_then(|text| text.parse().ok())
            .unwrap_or(SECTOR as u32);
        Ok(Self {
            id: id.to_owned(),
            name: name.to_owned(),
            number,
            size,
            sector,
            sequence: text(SEQUENCE),
        })
    }

    /// Opens the disk past the kernel's cache and claims it: while the file is open, nothing else can mount it or build upon
    /// it, and the open fails if it is mounted or built upon already.
    ///
    /// # Errors
    /// Fails if the open does, if the node is another device than was checked, or if another disk has taken its place.
    pub fn claim(&self) -> io::Result<File> {
        self.claim_with(libc::O_DIRECT)
    }

    /// The same through the kernel's cache.
    ///
    /// # Errors
    /// The errors of [`Disk::claim`].
    pub fn claim_cached(&self) -> io::Result<File> {
        self.claim_with(0)
    }

    fn claim_with(&self, flags: libc::c_int) -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_EXCL | libc::O_CLOEXEC | flags)
            .open(self.node())?;
        let found = file.metadata()?;
        let number = format!(
            "{}:{}",
            nix::sys::stat::major(found.rdev()),
            nix::sys::stat::minor(found.rdev())
        );
        if !found.file_type().is_block_device() || number != self.number {
            return Err(io::Error::other(format!(
                "{} is device {number}, and not {} as the kernel reports",
                self.node(),
                self.number
            )));
        }
        // The name is not given to another disk while the file is open.
        let place = format!("/sys/class/block/{}/{SEQUENCE}", self.name);
        let sequence = std::fs::read_to_string(place).ok();
        if sequence.as_deref().map(str::trim) != self.sequence.as_deref() {
            return Err(io::Error::other(format!(
                "{} is not the disk any more that it was: another one has taken its name",
                self.node()
            )));
        }
        Ok(file)
    }

    pub fn node(&self) -> String {
        format!("/dev/{}", self.name)
    }
}

/// The kernel name behind a path under `/dev`.
///
/// # Errors
/// Fails if the path has no device.
pub fn resolve(root: &Root, id: &str) -> Result<String, DeviceError> {
    if !id.starts_with("/dev/") || id.contains("/../") {
        return Err(DeviceError::OutsideDev);
    }
    let node = root.resolve(id).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => DeviceError::Absent,
        _ => DeviceError::Unreadable(error),
    })?;
    // Device-mapper's own nodes, on systems that make no links of them.
    if let Some(name) = node.strip_prefix("/dev/mapper/") {
        return mapped(root, name).ok_or(DeviceError::NotMapped(node));
    }
    node.strip_prefix("/dev/")
        .filter(|name| !name.is_empty() && !name.contains('/'))
        .map(str::to_owned)
        .ok_or_else(|| DeviceError::Elsewhere(node.clone()))
}

fn mapped(root: &Root, name: &str) -> Option<String> {
    let devices = root.list("/sys/block").ok()?;
    devices.into_iter().find(|device| {
        root.text(&format!("/sys/block/{device}/dm/name"))
            .is_ok_and(|found| found == name)
    })
}

/// Refuses a disk for a reason.
///
/// # Errors
/// [`InstallError::Untouched`], always.
pub fn refuse_disk<T>(disk: &Disk, reason: &str) -> Result<T, InstallError> {
    Err(InstallError::Untouched {
        device: disk.id.clone(),
        node: disk.node(),
        reason: reason.to_owned(),
    })
}
