//! Sends commands of SCSI, ATA and NVMe to a device by the kernel's ioctls, each with a time limit. Sources: `<scsi/sg.h>`,
//! `<linux/nvme_ioctl.h>`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The SCSI command that carries an ATA command (SAT-3, §12.2.2).
pub const ATA_PASS_THROUGH_16: u8 = 0x85;
/// The admin command that reads a log of an NVMe controller (NVM Express base specification 2.0, §5.16).
pub const GET_LOG_PAGE: u8 = 0x02;
/// The namespace of a command that concerns the whole controller.
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;

const SG_IO: libc::c_ulong = 0x2285;
const SG_DXFER_NONE: i32 = -1;
const SG_DXFER_TO_DEV: i32 = -2;
const SG_DXFER_FROM_DEV: i32 = -3;
/// `_IO('N', 0x40)`
const NVME_IOCTL_ID: libc::c_ulong = 0x4e40;
/// `_IOWR('N', 0x41, struct nvme_admin_cmd)`
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xc048_4e41;
/// Bytes of sense data that are taken.
const SENSE: usize = 32;

/// `struct sg_io_hdr`
#[repr(C)]
struct SgIoHeader {
    interface_id: i32,
    dxfer_direction: i32,
    cmd_len: u8,
    mx_sb_len: u8,
    iovec_count: u16,
    dxfer_len: u32,
    dxferp: *mut libc::c_void,
    cmdp: *const u8,
    sbp: *mut u8,
    timeout: u32,
    flags: u32,
    pack_id: i32,
    usr_ptr: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    msg_status: u8,
    sb_len_wr: u8,
    host_status: u16,
    driver_status: u16,
    resid: i32,
    duration: u32,
    info: u32,
}

/// `struct nvme_admin_cmd`
#[repr(C)]
struct NvmeAdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<NvmeAdminCommand>() == 72);

/// The data of a command.
#[derive(Debug)]
pub enum Data<'a> {
    Nothing,
    In(&'a mut [u8]),
    Out(&'a [u8]),
}

/// A device's response to a SCSI command that it may have refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScsiAnswer {
    /// SCSI status: 0 is good.
    pub status: u8,
    /// Of the kernel's driver of the controller: 0 is good.
    pub host_status: u16,
    pub sense: [u8; SENSE],
}

/// Sends a SCSI command and waits for its end.
///
/// # Errors
/// Fails if the kernel does not send it.
pub fn scsi(file: &File, command: &[u8], data: Data<'_>, limit: Duration) -> io::Result<ScsiAnswer> {
    let mut sense = [0_u8; SENSE];
    let (direction, start, length) = match data {
        Data::Nothing => (SG_DXFER_NONE, std::ptr::null_mut(), 0),
        Data::In(bytes) => (SG_DXFER_FROM_DEV, bytes.as_mut_ptr(), bytes.len()),
        // The kernel only reads these.
        Data::Out(bytes) => (SG_DXFER_TO_DEV, bytes.as_ptr().cast_mut(), bytes.len()),
    };
    let mut header = SgIoHeader {
        interface_id: i32::from(b'S'),
        dxfer_direction: direction,
        cmd_len: u8::try_from(command.len()).map_err(io::Error::other)?,
        mx_sb_len: SENSE as u8,
        iovec_count: 0,
        dxfer_len: u32::try_from(length).map_err(io::Error::other)?,
        dxferp: start.cast(),
        cmdp: command.as_ptr(),
        sbp: sense.as_mut_ptr(),
        timeout: milliseconds(limit),
        flags: 0,
        pack_id: 0,
        usr_ptr: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    };
    sg_io(file, &mut header)?;
    Ok(ScsiAnswer {
        status: header.status,
        host_status: header.host_status,
        sense,
    })
}

/// The number of the namespace of an NVMe block device.
///
/// # Errors
/// Fails if the device is none of NVMe.
pub fn nvme_namespace(file: &File) -> io::Result<u32> {
    let number = nvme_id(file)?;
    u32::try_from(number).map_err(io::Error::other)
}

/// An admin command of NVMe, with those of its fields that this agent sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeAdmin {
    pub opcode: u8,
    pub namespace: u32,
    pub cdw10: u32,
    pub limit: Duration,
}

/// Sends an admin command of NVMe and waits for its end; `data` is what the controller returns. The result is its status: 0 is good.
///
/// # Errors
/// Fails if the kernel does not send it, or the controller does not answer.
pub fn nvme_admin(file: &File, command: &NvmeAdmin, data: &mut [u8]) -> io::Result<u16> {
    let mut request = NvmeAdminCommand {
        opcode: command.opcode,
        flags: 0,
        reserved: 0,
        nsid: command.namespace,
        cdw2: 0,
        cdw3: 0,
        metadata: 0,
        addr: if data.is_empty() {
            0
        } else {
            data.as_mut_ptr() as u64
        },
        metadata_len: 0,
        data_len: u32::try_from(data.len()).map_err(io::Error::other)?,
        cdw10: command.cdw10,
        cdw11: 0,
        cdw12: 0,
        cdw13: 0,
        cdw14: 0,
        cdw15: 0,
        timeout_ms: milliseconds(command.limit),
        result: 0,
    };
    let status = nvme_command(file, &mut request)?;
    u16::try_from(status).map_err(io::Error::other)
}

fn milliseconds(limit: Duration) -> u32 {
    u32::try_from(limit.as_millis()).unwrap_or(u32::MAX)
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn sg_io(file: &File, header: &mut SgIoHeader) -> io::Result<()> {
    // SAFETY: the header's pointers are to live buffers of the given lengths, all outlive the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), SG_IO as _, std::ptr::from_mut(header)) };
    checked(result).map(drop)
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn nvme_id(file: &File) -> io::Result<libc::c_int> {
    // SAFETY: the ioctl takes no argument and the descriptor is open for the time of the call.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID as _) })
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn nvme_command(file: &File, request: &mut NvmeAdminCommand) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads and writes a struct of this layout; its address is of a live buffer of the given length, or there is
    // none; both outlive the call.
    let result = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            NVME_IOCTL_ADMIN_CMD as _,
            std::ptr::from_mut(request),
        )
    };
    checked(result)
}

/// The result of an ioctl, or the error that the kernel has left.
///
/// # Errors
/// If it is negative.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_no_commands() {
        let file = tempfile::tempfile().unwrap();
        let limit = Duration::from_secs(1);
        let identify = NvmeAdmin {
            opcode: 6,
            namespace: 0,
            cdw10: 1,
            limit,
        };
        for error in [
            scsi(&file, &[0; 6], Data::Nothing, limit).unwrap_err(),
            nvme_admin(&file, &identify, &mut [0; 4096]).unwrap_err(),
            nvme_namespace(&file).unwrap_err(),
        ] {
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}");
        }
    }
}
