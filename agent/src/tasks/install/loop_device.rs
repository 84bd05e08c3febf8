//! Makes a part of a disk a block device of its own, without a partition table on the disk. Source: `<linux/loop.h>`, loop(4).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::passthrough::checked;

const CONTROL: &str = "/dev/loop-control";
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
/// The device ends with its last user, even if this program is killed.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Another program may take the same free device first, and the kernel reports that as free until the other program has set it up.
const TRIES: usize = 100;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest wait for the device's node.
const NODE: Duration = Duration::from_secs(5);

/// `struct loop_info64`
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopConfig>() == 304);

/// A loop device, which ends when this value is dropped and nothing is mounted from it.
#[derive(Debug)]
pub struct LoopDevice {
    node: PathBuf,
    file: File,
}

impl LoopDevice {
    /// A device over the bytes from `offset` on; over all of them if `size` is 0.
    ///
    /// # Errors
    /// Fails if the kernel has no free loop device or refuses to set it up.
    pub fn over(backing: &File, offset: u64, size: u64) -> io::Result<Self> {
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for _ in 0..TRIES {
            let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
            let number = plain(control.as_raw_fd(), LOOP_CTL_GET_FREE)?;
            let node = PathBuf::from(format!("/dev/loop{number}"));
            let file = open(&node)?;
            match configure(&file, backing.as_raw_fd(), offset, size) {
                Ok(()) => return Ok(Self { node, file }),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => problem = error,
                Err(error) => return Err(error),
            }
            std::thread::sleep(PAUSE);
        }
        Err(problem)
    }

    pub fn node(&self) -> &Path {
        &self.node
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Busy while mounted: then it ends with the mount.
        let _ = plain(self.file.as_raw_fd(), LOOP_CLR_FD);
    }
}

/// Opens the node, which appears a moment after the device.
fn open(node: &Path) -> io::Result<File> {
    let began = Instant::now();
    loop {
        match OpenOptions::new().read(true).write(true).open(node) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && began.elapsed() < NODE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn plain(descriptor: RawFd, request: libc::c_ulong) -> io::Result<libc::c_int> {
    // SAFETY: these requests take no argument that is read.
    let result = unsafe { libc::ioctl(descriptor, request as _, 0) };
    checked(result)
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn configure(file: &File, backing: RawFd, offset: u64, sizelimit: u64) -> io::Result<()> {
    let config = LoopConfig {
        fd: u32::try_from(backing).map_err(io::Error::other)?,
        block_size: 0,
        info: LoopInfo {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset,
            sizelimit,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: the kernel reads a struct of this layout, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_CONFIGURE as _, std::ptr::from_ref(&config)) };
    checked(result).map(drop)
}
