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
}

impl NetworkView {
    /// The links and addresses, whose changes the service should learn of; without the state of DHCP.
    pub fn reach(&self) -> Vec<(String, bool, Vec<String>)> {
        let one = |nic: &InterfaceView| (nic.name.clone(), nic.carrier, nic.addresses.clone());
        self.interfaces.iter().map(one).collect()
    }

    /// True when an address reaches beyond the link.
    pub fn has_address(&self) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.carrier && !interface.addresses.is_empty())
    }
}
