//! TCP ports that belong to one test.
//!
//! A service needs its public URL, port included, before it listens, so "port 0" does not suffice. A reserved port is
//! below the range from which the kernel takes ports for outgoing connections, free when reserved, and locked against
//! other test programs.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use crate::artifacts::lock_file;

/// Below `net.ipv4.ip_local_port_range` (32768 and up by default), above the commonly used ports.
const RANGE: RangeInclusive<u16> = 21000..=28000;

/// A port of the loopback address, kept until dropped.
pub struct ReservedPort {
    number: u16,
    _lock: File,
}

impl ReservedPort {
    /// Reserves a free port.
    ///
    /// # Panics
    /// If all are taken.
    pub fn reserve() -> Self {
        // Test programs start at different places, so that they seldom meet.
        let span = RANGE.end() - RANGE.start();
        let start = u16::try_from(std::process::id() % u32::from(span)).expect("a remainder of a u16");
        let found = (0..=span).find_map(|step| Self::try_number(RANGE.start() + (start + step) % span));
        found.expect("no free TCP port is left for tests")
    }

    fn try_number(number: u16) -> Option<Self> {
        let lock = lock_file(&format!("port-{number}"));
        lock.try_lock().ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Self { number, _lock: lock })
    }

    /// The port's number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_not_given_twice() {
        let ports: Vec<ReservedPort> = (0..20).map(|_| ReservedPort::reserve()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(ReservedPort::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20);
    }
}
