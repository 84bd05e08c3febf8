//! Sends commands to a device: SCSI and ATA, an NVMe ioctl, plain reads. Nothing here writes, and every command has a time
//! limit.

use crate::passthrough::{self, ATA_PASS_THROUGH_16, Data};
use crate::root::{Operation, ProbeError};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

/// `<linux/cdrom.h>`
const CDROM_DRIVE_STATUS: libc::c_ulong = 0x5326;
const CDSL_CURRENT: libc::c_int = libc::c_int::MAX;
const CDS_DISC_OK: libc::c_int = 4;
const TIMEOUT: Duration = Duration::from_secs(10);
const INQUIRY: u8 = 0x12;
/// Enough for every page 80h, 83h and standard response in the wild; scsi_id requests as much.
const INQUIRY_BYTES: usize = 254;
const PERSISTENT_RESERVE_IN: u8 = 0x5e;
const IDENTIFY_DEVICE: u8 = 0xec;
const IDENTIFY_PACKET_DEVICE: u8 = 0xa1;

/// With the flags that open a drive without a medium, too.
pub(super) fn open(name: &str) -> Result<File, ProbeError> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(format!("/dev/{name}"))
        .map_err(ProbeError::failed(Operation::Open, format!("/dev/{name}")))
}

/// Exactly `length` bytes from `offset` on.
pub(super) fn read_at(name: &str, offset: u64, length: usize) -> Result<Vec<u8>, ProbeError> {
    let file = open(name)?;
    // Reading an empty drive takes seconds and fills the kernel's log.
    if name.starts_with("sr") && drive_status(&file) != CDS_DISC_OK {
        return Err(ProbeError::content(format!("/dev/{name}"), "has no medium"));
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)
        .map_err(ProbeError::failed(
            Operation::ReadAt(offset),
            format!("/dev/{name}"),
        ))?;
    Ok(bytes)
}

/// Standard INQUIRY data, or a page of vital product data.
pub(super) fn inquiry(name: &str, page: Option<u8>) -> Result<Vec<u8>, ProbeError> {
    let command = [
        INQUIRY,
        u8::from(page.is_some()),
        page.unwrap_or(0),
        0,
        INQUIRY_BYTES as u8,
        0,
    ];
    let answer = send(name, &command, INQUIRY_BYTES)?;
    let Some(page) = page else {
        let length = 5 + usize::from(answer[4]);
        return Ok(answer[..length.min(answer.len())].to_vec());
    };
    // Some old devices return standard data for an unknown page.
    if answer[1] != page {
        let fault = format!("has no page {page:02x}");
        return Err(ProbeError::content(format!("/dev/{name}"), fault));
    }
    let length = 4 + usize::from(u16::from_be_bytes([answer[2], answer[3]]));
    Ok(answer[..length.min(answer.len())].to_vec())
}

/// ATA IDENTIFY DEVICE, or IDENTIFY PACKET DEVICE of an optical drive.
pub(super) fn ata_identify(name: &str, packet: bool) -> Result<Vec<u8>, ProbeError> {
    let command = if packet {
        IDENTIFY_PACKET_DEVICE
    } else {
        IDENTIFY_DEVICE
    };
    let mut bytes = [0_u8; 16];
    bytes[0] = ATA_PASS_THROUGH_16;
    // PIO data-in; transfer from the device, its length in blocks, given by the sector count.
    bytes[1] = 4 << 1;
    bytes[2] = 0x0e;
    bytes[6] = 1;
    bytes[14] = command;
    let answer = send(name, &bytes, 512)?;
    if answer.iter().all(|byte| *byte == 0) {
        return Err(ProbeError::content(
            format!("/dev/{name}"),
            "identified itself with zeros",
        ));
    }
    Ok(answer)
}

/// The namespace number of an NVMe block device.
pub(super) fn nvme_namespace(name: &str) -> Result<u32, ProbeError> {
    let file = open(name)?;
    passthrough::nvme_namespace(&file).map_err(ProbeError::failed(Operation::Command, format!("/dev/{name}")))
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn drive_status(file: &File) -> libc::c_int {
    // SAFETY: the ioctl takes a number (which slot of a changer) and the descriptor is open for the time of the call.
    unsafe { libc::ioctl(file.as_raw_fd(), CDROM_DRIVE_STATUS as _, CDSL_CURRENT) }
}

/// PERSISTENT RESERVE IN. Source: SPC-4, §6.15.
pub(super) fn persistent_reserve_in(name: &str, action: u8, length: u8) -> Result<Answer, ProbeError> {
    let command = [PERSISTENT_RESERVE_IN, action, 0, 0, 0, 0, 0, 0, length, 0];
    exchange(name, &command, usize::from(length))
}

/// A device's response to a command that it may have refused.
#[derive(Debug)]
pub(super) struct Answer {
    pub bytes: Vec<u8>,
    /// SCSI status: 0 is good.
    pub status: u8,
    pub host_status: u16,
}

pub(super) fn send(name: &str, command: &[u8], length: usize) -> Result<Vec<u8>, ProbeError> {
    let answer = exchange(name, command, length)?;
    // ATA pass-through may return its registers as sense data: that is success when the status byte is.
    if answer.status != 0 || answer.host_status != 0 {
        return Err(ProbeError::Command {
            path: format!("/dev/{name}"),
            command: command[0],
            status: answer.status,
            host_status: answer.host_status,
        });
    }
    Ok(answer.bytes)
}

fn exchange(name: &str, command: &[u8], length: usize) -> Result<Answer, ProbeError> {
    let file = open(name)?;
    let mut bytes = vec![0_u8; length];
    let answer = passthrough::scsi(&file, command, Data::In(&mut bytes), TIMEOUT)
        .map_err(ProbeError::failed(Operation::Command, format!("/dev/{name}")))?;
    Ok(Answer {
        bytes,
        status: answer.status,
        host_status: answer.host_status,
    })
}
