//! What people and the rest of the agent see of the network.

use std::net::IpAddr;

/// The network now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkView {
    /// Wired interfaces in order of their index.
    pub interfaces: Vec<InterfaceView>,
    /// What the host is called; empty when nobody named it.
    pub hostname: String,
    /// Name servers in order of asking.
    pub name_servers: Vec<IpAddr>,
    /// Time enough has passed for drivers, switches and DHCP servers: what is missing now is worth a word.
    pub settled: bool,
}

/// One wired interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterfaceView {
    /// Its predictable name.
    pub name: String,
    /// Its hardware address, lower case.
    pub mac: String,
    /// Whether there is something at the other end.
    pub carrier: bool,
    /// Addresses with prefix length, link-local ones left out.
    pub addresses: Vec<String>,
    /// How DHCP goes, while there is no address.
    pub note: String,
}

impl NetworkView {
    /// What a service would want to hear of when it changes: links and addresses, not how DHCP goes.
    pub fn reach(&self) -> Vec<(String, bool, Vec<String>)> {
        let one = |nic: &InterfaceView| (nic.name.clone(), nic.carrier, nic.addresses.clone());
        self.interfaces.iter().map(one).collect()
    }

    /// Whether anything beyond the link can be reached, as far as addresses tell.
    pub fn has_address(&self) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.carrier && !interface.addresses.is_empty())
    }
}
