//! Sends commands to the BMC through the kernel's `/dev/ipmi0`. Source: `<linux/ipmi.h>`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::root::Reason;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const DEVICE: &str = "/dev/ipmi0";
const TRANSPORT: u8 = 0x0c;
const GET_LAN_CONFIGURATION_PARAMETERS: u8 = 0x02;
const SYSTEM_INTERFACE: i32 = 0x0c;
const BMC_CHANNEL: i16 = 0xf;
/// Longest wait for one answer, milliseconds.
const TIMEOUT_MS: u16 = 3000;
/// Longest message (`IPMI_MAX_MSG_LENGTH`).
const MAX_MESSAGE: usize = 272;

#[repr(C)]
struct Address {
    kind: i32,
    channel: i16,
    lun: u8,
    rest: [u8; 32],
}

#[repr(C)]
struct Message {
    network_function: u8,
    command: u8,
    length: u16,
    data: *mut u8,
}

#[repr(C)]
struct Request {
    address: *mut Address,
    address_length: u32,
    id: libc::c_long,
    message: Message,
}

#[repr(C)]
struct Received {
    kind: i32,
    address: *mut Address,
    address_length: u32,
    id: libc::c_long,
    message: Message,
}

/// `_IOR('i', 13, struct ipmi_req)` and `_IOWR('i', 11, struct ipmi_recv)`.
const SEND_COMMAND: libc::c_ulong = ioctl_number(2, 13, size_of::<Request>());
const RECEIVE_MESSAGE_TRUNCATED: libc::c_ulong = ioctl_number(3, 11, size_of::<Received>());

const fn ioctl_number(direction: u64, number: u64, size: usize) -> libc::c_ulong {
    direction << 30 | (size as u64) << 16 | (b'i' as u64) << 8 | number
}

pub(super) struct Controller {
    device: File,
    sequence: libc::c_long,
}

impl Controller {
    /// `None` when the machine has no such device.
    pub(super) fn open() -> io::Result<Option<Self>> {
        match OpenOptions::new().read(true).write(true).open(DEVICE) {
            Ok(device) => Ok(Some(Self { device, sequence: 0 })),
            // The node may exist without a controller.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The data of a LAN parameter; `None` when the BMC has no such channel or parameter.
    pub(super) fn lan_parameter(
        &mut self,
        channel: u8,
        parameter: u8,
        set: u8,
    ) -> Result<Option<Vec<u8>>, Reason> {
        let answer = self
            .command(
                TRANSPORT,
                GET_LAN_CONFIGURATION_PARAMETERS,
                &mut [channel, parameter, set, 0],
            )
            .map_err(|error| format!("{DEVICE}: {error}"))?;
        // Completion code, parameter revision, data.
        match answer.split_first_chunk::<2>() {
            Some(([0, _revision], data)) => Ok(Some(data.to_vec())),
            _ => Ok(None),
        }
    }

    fn command(&mut self, network_function: u8, command: u8, data: &mut [u8]) -> io::Result<Vec<u8>> {
        self.sequence += 1;
        let mut address = Address {
            kind: SYSTEM_INTERFACE,
            channel: BMC_CHANNEL,
            lun: 0,
            rest: [0; 32],
        };
        let mut request = Request {
            address: &raw mut address,
            // Without room for longer kinds of address.
            address_length: 8,
            id: self.sequence,
            message: Message {
                network_function,
                command,
                length: data.len() as u16,
                data: data.as_mut_ptr(),
            },
        };
        check(send(&self.device, &mut request))?;
        loop {
            self.wait()?;
            let mut answer = vec![0_u8; MAX_MESSAGE];
            let mut received = Received {
                kind: 0,
                address: &raw mut address,
                address_length: size_of::<Address>() as u32,
                id: 0,
                message: Message {
                    network_function: 0,
                    command: 0,
                    length: MAX_MESSAGE as u16,
                    data: answer.as_mut_ptr(),
                },
            };
            check(receive(&self.device, &mut received))?;
            // Late answers to earlier commands are dropped.
            if received.id == self.sequence {
                answer.truncate(usize::from(received.message.length));
                return Ok(answer);
            }
        }
    }

    fn wait(&self) -> io::Result<()> {
        let mut waiting = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waiting, PollTimeout::from(TIMEOUT_MS))? {
            0 => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the BMC did not answer within {TIMEOUT_MS} ms"),
            )),
            _ => Ok(()),
        }
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn send(device: &File, request: &mut Request) -> libc::c_int {
    // SAFETY: the request's pointers are to live values of the lengths beside them, which outlive the call.
    unsafe { libc::ioctl(device.as_raw_fd(), SEND_COMMAND as _, std::ptr::from_mut(request)) }
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn receive(device: &File, received: &mut Received) -> libc::c_int {
    // SAFETY: as above; the kernel writes at most the lengths given for address and data.
    unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            RECEIVE_MESSAGE_TRUNCATED as _,
            std::ptr::from_mut(received),
        )
    }
}
