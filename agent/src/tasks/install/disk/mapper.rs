//! Removes a device-mapper device from the kernel. Nothing is written to its parts. Source: `<linux/dm-ioctl.h>`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

/// `_IOWR(0xfd, 4, struct dm_ioctl)`
const DM_DEV_REMOVE: libc::c_ulong = 0xc138_fd04;
const CONTROL: &str = "/dev/mapper/control";
const NAME_BYTES: usize = 128;

/// `struct dm_ioctl`
#[repr(C)]
struct DmIoctl {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; NAME_BYTES],
    uuid: [u8; 129],
    data: [u8; 7],
}

const _: () = assert!(size_of::<DmIoctl>() == 312);

/// Removes the device of this name (the one in `dm/name`).
///
/// # Errors
/// Fails if the kernel refuses: busy if it is open.
pub fn remove(name: &str) -> io::Result<()> {
    if name.len() >= NAME_BYTES {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
    let mut request = DmIoctl {
        version: [4, 0, 0],
        data_size: size_of::<DmIoctl>() as u32,
        data_start: size_of::<DmIoctl>() as u32,
        target_count: 0,
        open_count: 0,
        flags: 0,
        event_nr: 0,
        padding: 0,
        dev: 0,
        name: [0; NAME_BYTES],
        uuid: [0; 129],
        data: [0; 7],
    };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    send(&control, &mut request)
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn send(control: &File, request: &mut DmIoctl) -> io::Result<()> {
    // SAFETY: the kernel reads and writes `data_size` bytes, the size of the struct, which outlives the call.
    let result = unsafe {
        libc::ioctl(
            control.as_raw_fd(),
            DM_DEV_REMOVE as _,
            std::ptr::from_mut(request),
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
