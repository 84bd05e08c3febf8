//! Takes apart everything that is built upon the disk, and claims the disk. Other disks of the same volume groups and arrays are not
//! written to: their devices end in this kernel, and only this disk's own signatures are cleared.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use tracing::info;

use super::device::{Disk, refuse_disk};
use super::family::{self, Kind, Member};
use super::{mapper, raid, users, wipe};
use crate::install::error::InstallError;
use crate::passthrough::checked;
use crate::root::Root;

/// Longest time in which a device that reappears (an array that udev assembles again) is taken apart again.
const LONGEST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// Ends everything that is built upon the disk and its other paths, and claims it for direct I/O.
///
/// # Errors
/// [`InstallError::Untouched`]: the disk is in use. Nothing was written.
pub fn claim(root: &Root, disk: &Disk, twins: &[String]) -> Result<File, InstallError> {
    let began = Instant::now();
    loop {
        let mut members = family::of(root, &disk.name);
        for twin in twins {
            members.extend(family::of(root, twin));
        }
        if let Some(reason) = users::in_use(root, &members) {
            return refuse_disk(disk, &reason);
        }
        let problem = match take_apart(&members) {
            Ok(()) => match disk.claim() {
                Ok(file) => return Ok(file),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    "something holds it or a part of it".to_owned()
                }
                Err(error) => return refuse_disk(disk, &format!("it cannot be opened: {error}")),
            },
            Err(reason) => reason,
        };
        if began.elapsed() >= LONGEST {
            return refuse_disk(disk, &problem);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Ends devices from the top down. A device that cannot end yet may be held by a later one: all are tried.
fn take_apart(members: &[Member]) -> Result<(), String> {
    let mut problem = None;
    for member in members {
        let ended = match &member.kind {
            Kind::Mapper { name, .. } => mapper::remove(name)
                .map_err(|error| format!("{name} ({}) cannot be removed: {error}", member.name)),
            Kind::Array => raid::stop(&member.name).map_err(|error| error.to_string()),
            Kind::Disk | Kind::Partition | Kind::Other => continue,
        };
        match ended {
            Ok(()) => info!(device = member.name, "taken off the installation disk"),
            Err(reason) => problem = Some(reason),
        }
    }
    problem.map_or(Ok(()), Err)
}

/// Clears the disk's tables and signatures; the first write makes it unbootable.
///
/// # Errors
/// Fails if a write to the disk does.
pub fn clear(root: &Root, disk: &Disk, file: &File) -> io::Result<()> {
    let ranges = wipe::ranges(disk.size, &wipe::partitions(root, &disk.name));
    wipe::clear(file, &ranges)?;
    forget_partitions(file);
    Ok(())
}

/// Makes the kernel read the partition table again. Without effect on disks that the kernel does not partition.
pub fn forget_partitions(file: &File) {
    if let Err(error) = reread(file) {
        info!("the partition table is not read again: {error}");
    }
}

/// `<linux/fs.h>`: `_IO(0x12, 95)`
const BLKRRPART: libc::c_ulong = 0x125f;

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn reread(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the ioctl takes no argument and the descriptor is open for the time of the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKRRPART as _) };
    checked(result).map(drop)
}
