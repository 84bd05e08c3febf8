//! Reads the modes that a network card supports. Source: `<linux/ethtool.h>`, `ETHTOOL_GLINKSETTINGS` and
//! `enum ethtool_link_mode_bit_indices`.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::passthrough::checked;
use crate::root::{Operation, ProbeError};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
/// Bytes of an interface's name, with the zero at its end.
const NAME: usize = 16;
/// Most words of a mask: the kernel has their number in a signed byte.
const MAX_WORDS: usize = 127;

/// `struct ifreq`, with the pointer of its union.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME],
    data: *mut c_void,
    rest: [u8; 16],
}

/// `struct ethtool_link_settings`; the masks are those that are supported, advertised, and advertised by the other end.
#[repr(C)]
struct LinkSettings {
    command: u32,
    speed: u32,
    duplex: u8,
    port: u8,
    phy_address: u8,
    autoneg: u8,
    mdio_support: u8,
    mdix: u8,
    mdix_control: u8,
    words: i8,
    transceiver: u8,
    master_slave_configuration: u8,
    master_slave_state: u8,
    rate_matching: u8,
    reserved: [u32; 7],
    masks: [u32; 3 * MAX_WORDS],
}

const _: () = assert!(std::mem::offset_of!(LinkSettings, masks) == 48);

/// The mask of the modes that the card `name` supports.
///
/// # Errors
/// Fails if the kernel has no such card, or its driver none of these.
pub(super) fn supported(name: &str) -> Result<Vec<u32>, ProbeError> {
    ask(name).map_err(ProbeError::failed(
        Operation::Command,
        format!("the link settings of {name}"),
    ))
}

fn ask(name: &str) -> io::Result<Vec<u32>> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    // The kernel answers the first request with the negative number of words.
    let words = exchange(&socket, name, 0)?
        .words
        .checked_neg()
        .unwrap_or_default();
    if words <= 0 {
        return Err(io::Error::other("the kernel names no number of words"));
    }
    let settings = exchange(&socket, name, words)?;
    let length = usize::from(words.unsigned_abs());
    Ok(settings.masks[..length].to_vec())
}

fn exchange(socket: &OwnedFd, name: &str, words: i8) -> io::Result<Box<LinkSettings>> {
    let mut settings = Box::new(LinkSettings {
        command: ETHTOOL_GLINKSETTINGS,
        speed: 0,
        duplex: 0,
        port: 0,
        phy_address: 0,
        autoneg: 0,
        mdio_support: 0,
        mdix: 0,
        mdix_control: 0,
        words,
        transceiver: 0,
        master_slave_configuration: 0,
        master_slave_state: 0,
        rate_matching: 0,
        reserved: [0; 7],
        masks: [0; 3 * MAX_WORDS],
    });
    let mut request = InterfaceRequest {
        name: [0; NAME],
        data: std::ptr::from_mut(&mut *settings).cast(),
        rest: [0; 16],
    };
    let Some(place) = request.name[..NAME - 1].get_mut(..name.len()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    place.copy_from_slice(name.as_bytes());
    link_settings(socket, &mut request)?;
    Ok(settings)
}

#[expect(unsafe_code, reason = "an ioctl that no crate of ours offers")]
fn link_settings(socket: &OwnedFd, request: &mut InterfaceRequest) -> io::Result<()> {
    // SAFETY: the kernel reads and writes structs of these layouts. `data` is that of live settings, with room for the masks of the
    // most words that their number can have; both outlive the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, std::ptr::from_mut(request)) };
    checked(result).map(drop)
}

/// First and last bit of modes of one speed, and that, Mbit/s. Bits that are no speeds are left out.
const SPEEDS: [(u32, u32, u32); 30] = [
    (0, 1, 10),
    (2, 3, 100),
    (4, 5, 1_000),
    (12, 12, 10_000),
    (15, 15, 2_500),
    (17, 17, 1_000),
    (18, 20, 10_000),
    (21, 22, 20_000),
    (23, 26, 40_000),
    (27, 30, 56_000),
    (31, 33, 25_000),
    (34, 35, 50_000),
    (36, 39, 100_000),
    (40, 40, 50_000),
    (41, 41, 1_000),
    (42, 46, 10_000),
    (47, 47, 2_500),
    (48, 48, 5_000),
    (52, 56, 50_000),
    (57, 61, 100_000),
    (62, 66, 200_000),
    (67, 67, 100),
    (68, 68, 1_000),
    (69, 73, 400_000),
    (75, 79, 100_000),
    (80, 84, 200_000),
    (85, 89, 400_000),
    (90, 91, 100),
    (92, 92, 10),
    (93, 98, 800_000),
];

/// The speed of the fastest mode of a mask, Mbit/s; `None`: it has none that is known.
pub(super) fn fastest(mask: &[u32]) -> Option<u32> {
    let is_set = |bit: u32| {
        let word = mask.get(bit as usize / 32).copied().unwrap_or(0);
        word & (1 << (bit % 32)) != 0
    };
    let known = SPEEDS
        .iter()
        .filter(|(first, last, _)| (*first..=*last).any(is_set));
    known.map(|(_, _, speed)| *speed).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_mode_counts_and_what_is_no_speed_does_not() {
        // 10baseT/Half to 1000baseT/Full, autonegotiation, TP, pause.
        assert_eq!(fastest(&[0b10_0000_1110_1111, 0, 0]), Some(1_000));
        // 25000baseCR/Full.
        assert_eq!(fastest(&[1 << 31]), Some(25_000));
        // 100000baseKR4/Full is bit 36.
        assert_eq!(fastest(&[1 << 31, 1 << 4]), Some(100_000));
        assert_eq!(fastest(&[1 << 6 | 1 << 7 | 1 << 13]), None);
        assert_eq!(fastest(&[]), None);
    }

    #[test]
    fn a_card_that_is_not_there_is_an_error() {
        for name in ["no-such-card", "a-name-that-is-too-long-for-linux"] {
            let error = supported(name).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
