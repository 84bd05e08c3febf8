//! Mounts a partition of the claimed disk for a moment, without a partition table on the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use tracing::warn;

use super::partition::FileSystem;
use crate::drivers;
use crate::gpt::Partition;
use crate::install::loop_device::LoopDevice;

/// Time in which a partition that is busy is unmounted.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A mounted partition; unmounted by [`Mounted::end`], or when dropped.
#[derive(Debug)]
pub struct Mounted {
    place: PathBuf,
    /// In the order in which they must end.
    device: Option<LoopDevice>,
    disk: File,
}

impl Mounted {
    /// Mounts the partition of the disk with this node.
    ///
    /// # Errors
    /// Fails if the kernel refuses the mount, with a description.
    pub fn new(node: &str, partition: &Partition, kind: FileSystem, read_only: bool) -> io::Result<Self> {
        let with =
            |what: String| move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        // No program of the live image loads modules on demand.
        for module in ["loop", kind.name()] {
            drivers::load(module);
        }
        let disk = OpenOptions::new()
            .read(true)
            .write(true)
            .open(node)
            .map_err(with(node.to_owned()))?;
        let device = LoopDevice::over(&disk, partition.start, partition.size).map_err(with(format!(
            "no loop device over the partition {}",
            partition.name
        )))?;
        let place = PathBuf::from(format!(
            "/run/muster-install-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&place)
            .map_err(with(place.display().to_string()))?;
        let flags = MsFlags::MS_NOSUID
            .union(MsFlags::MS_NODEV)
            .union(MsFlags::MS_NOEXEC)
            .union(if read_only {
                MsFlags::MS_RDONLY
            } else {
                MsFlags::empty()
            });
        if let Err(error) = mount(
            Some(device.node()),
            &place,
            Some(kind.name()),
            flags,
            Some(kind.options()),
        ) {
            let _ = std::fs::remove_dir(&place);
            return Err(with(format!(
                "the partition {} ({}) cannot be mounted",
                partition.name,
                kind.name()
            ))(error.into()));
        }
        Ok(Self {
            place,
            device: Some(device),
            disk,
        })
    }

    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Unmounts, waits until the disk has everything, and drops the kernel's cache of it: the next mount reads the disk.
    ///
    /// # Errors
    /// Fails if the kernel cannot unmount it, or the disk cannot be written.
    pub fn end(mut self) -> io::Result<()> {
        unmount(&self.place)?;
        self.device = None;
        self.disk.sync_all()?;
        posix_fadvise(&self.disk, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        Ok(())
    }
}

/// A program that another thread starts has the files that were open at that moment until it runs, a few milliseconds.
fn unmount(place: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match umount2(place, MntFlags::empty()) {
            Err(Errno::EBUSY) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            ended => return Ok(ended?),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.device.is_some()
            && let Err(error) = umount2(&self.place, MntFlags::MNT_DETACH)
        {
            warn!(place = %self.place.display(), "not unmounted: {error}");
        }
        let _ = std::fs::remove_dir(&self.place);
    }
}
