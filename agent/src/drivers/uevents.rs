//! Receives the kernel's device events (`NETLINK_KOBJECT_UEVENT`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recvfrom, setsockopt, socket, sockopt,
};

/// The group of the kernel's own messages; messages of programs are in other groups.
const KERNEL: u32 = 1;
/// Room for the devices of a large server that appear at once.
const BUFFER: usize = 16 << 20;
/// No message is longer.
const LONGEST: usize = 16 << 10;

/// A device was added, removed or changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// `add`, `remove`, `change`, ...
    pub action: String,
    /// `block`, `net`, ...
    pub subsystem: String,
    /// The driver alias of the device.
    pub modalias: Option<String>,
    /// The device's node under `/dev`; empty if it has none.
    pub node: String,
}

/// A netlink socket that receives the events.
pub struct Socket(OwnedFd);

impl Socket {
    /// Starts listening; messages are queued from now on.
    ///
    /// # Errors
    /// Fails if the kernel refuses the socket.
    pub fn open() -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkKObjectUEvent,
        )?;
        // Without the privilege the buffer keeps its default size; a loss is noticed and repaired.
        let _ = setsockopt(&fd, sockopt::RcvBufForce, &BUFFER);
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, KERNEL))?;
        Ok(Self(fd))
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// `ENOBUFS` if messages were lost; other errors of the socket.
    pub fn next(&self) -> Result<Event, Errno> {
        let mut buffer = vec![0; LONGEST];
        loop {
            let (length, from) = recvfrom::<NetlinkAddr>(self.0.as_raw_fd(), &mut buffer)?;
            let from_kernel = from.is_some_and(|address| address.pid() == 0);
            if from_kernel && let Some(event) = parse(&buffer[..length]) {
                return Ok(event);
            }
        }
    }
}

/// `add@/devices/...`, then `KEY=value` texts, each ended by NUL.
fn parse(message: &[u8]) -> Option<Event> {
    let mut texts = message.split(|byte| *byte == 0);
    let header = std::str::from_utf8(texts.next()?).ok()?;
    let (action, _) = header.split_once('@')?;
    let mut event = Event {
        action: action.to_owned(),
        ..Event::default()
    };
    for text in texts {
        let Some((key, value)) = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.split_once('='))
        else {
            continue;
        };
        match key {
            "SUBSYSTEM" => value.clone_into(&mut event.subsystem),
            "DEVNAME" => value.clone_into(&mut event.node),
            "MODALIAS" => event.modalias = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_an_action_and_settings() {
        let message = b"add@/devices/pci0000:00/0000:00:03.0/virtio0\0ACTION=add\0SUBSYSTEM=virtio\0MODALIAS=virtio:d00000001v00001AF4\0SEQNUM=1\0";
        let expected = Event {
            action: "add".into(),
            subsystem: "virtio".into(),
            modalias: Some("virtio:d00000001v00001AF4".into()),
            node: String::new(),
        };
        assert_eq!(parse(message), Some(expected));
    }

    #[test]
    fn other_messages_are_none() {
        for message in [&b""[..], b"libudev\0\xfe\xed", b"\xff@\0", b"add"] {
            assert_eq!(parse(message), None);
        }
    }
}
