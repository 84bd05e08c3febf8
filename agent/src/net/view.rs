//! The state of the network for the console and the session.

use std::net::IpAddr;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkView {
    /// Wired interfaces in order of their index.
    pub interfaces: Vec<InterfaceView>,
    /// Empty when it was never set.
    pub hostname: String,
    /// Name servers in order of asking.
    pub name_servers: Vec<IpAddr>,
    /// True when drivers, switches and DHCP servers had time enough: a missing part is then shown.
    pub settled: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceView {
    pub name: String,
    /// Lower case.
    pub mac: String,
    /// A link partner is detected.
    pub carrier: bool,
    /// Addresses with prefix length, link-local ones left out.
    pub addresses: Vec<String>,
    /// The state of DHCP while there is no address, or the reason why a device cannot be made.
    pub note: String,
    /// The switch port at the other end of the cable, if it tells of itself.
    pub switch: String,
}

impl NetworkView {
    /// The links, addresses and switch ports, whose changes the service should learn of; without the state of DHCP.
    pub fn reach(&self) -> Vec<InterfaceView> {
        let without_note = |nic: &InterfaceView| InterfaceView {
            note: String::new(),
            ..nic.clone()
        };
        self.interfaces.iter().map(without_note).collect()
    }

    /// True when an address reaches beyond the link.
    pub fn has_address(&self) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.carrier && !interface.addresses.is_empty())
    }
}
