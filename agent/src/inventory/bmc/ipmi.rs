//! Sends commands to the BMC through the kernel's `/dev/ipmi0`. Source: `<linux/ipmi.h>`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::Controller;
use crate::root::{Operation, ProbeError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const DEVICE: &str = "/dev/ipmi0";
const APPLICATION: u8 = 0x06;
const GET_CHANNEL_INFO: u8 = 0x42;
/// IPMI 2.0, table 6-3: 802.3 LAN, and other LANs.
const LAN_MEDIA: [u8; 2] = [4, 6];
/// IPMI 2.0, table 5-2: node busy, timeout, and no response for lack of room or while it updates or starts.
const BUSY: [u8; 5] = [0xc0, 0xc3, 0xc4, 0xd1, 0xd2];
const BUSY_TRIES: u32 = 4;
const BUSY_PAUSE: Duration = Duration::from_millis(250);
const TRANSPORT: u8 = 0x0c;
const GET_LAN_CONFIGURATION_PARAMETERS: u8 = 0x02;
const SYSTEM_INTERFACE: i32 = 0x0c;
const BMC_CHANNEL: i16 = 0xf;
/// Longest wait for one response, milliseconds.
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

pub(super) struct Device {
    device: File,
    sequence: libc::c_long,
}

impl Device {
    /// `None` if the machine has no such device.
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

    /// The data of a response; `None` if the BMC has no such thing. A request is repeated while the BMC is busy.
    fn ask(&mut self, network_function: u8, command: u8, data: &[u8]) -> Result<Option<Vec<u8>>, ProbeError> {
        let mut last = 0;
        for _ in 0..BUSY_TRIES {
            let answer = self
                .command(network_function, command, &mut data.to_vec())
                .map_err(ProbeError::failed(Operation::Command, DEVICE))?;
            match answer.split_first() {
                Some((0, data)) => return Ok(Some(data.to_vec())),
                Some((code, _)) if BUSY.contains(code) => last = *code,
                _ => return Ok(None),
            }
            std::thread::sleep(BUSY_PAUSE);
        }
        Err(ProbeError::Busy {
            path: DEVICE.to_owned(),
            code: last,
        })
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
            // Late responses to earlier commands are dropped.
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

impl Controller for Device {
    fn is_lan(&mut self, channel: u8) -> Result<Option<bool>, ProbeError> {
        let info = self.ask(APPLICATION, GET_CHANNEL_INFO, &[channel])?;
        // Channel, medium, ...
        Ok(info.and_then(|info| Some(LAN_MEDIA.contains(&(info.get(1)? & 0x7f)))))
    }

    fn lan_parameter(&mut self, channel: u8, parameter: u8, set: u8) -> Result<Option<Vec<u8>>, ProbeError> {
        let answer = self.ask(
            TRANSPORT,
            GET_LAN_CONFIGURATION_PARAMETERS,
            &[channel, parameter, set, 0],
        )?;
        // Parameter revision, data.
        Ok(answer.and_then(|answer| Some(answer.get(1..)?.to_vec())))
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
    // SAFETY: the request's pointers are to live values of the given lengths, which outlive the call.
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
