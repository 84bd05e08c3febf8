//! The state of the network for the console and the session.

use std::net::IpAddr;

use super::problem::Problem;

/// File with the switch ports by the names of the interfaces, from which the inventory takes them.
pub const SWITCH_PORTS: &str = "/run/muster/switch-ports.json";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkView {
    /// Wired interfaces in order of their index.
    pub interfaces: Vec<InterfaceView>,
    /// Empty when it was never set.
    pub hostname: String,
    /// Name servers in the order in which they are queried.
    pub name_servers: Vec<IpAddr>,
    /// Differences from the configuration.
    pub problems: Vec<Problem>,
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
    /// The switch port at the other end of the cable, if the switch advertises it.
    pub switch: String,
}

impl NetworkView {
    /// The links, addresses, switch ports and problems, without the state of DHCP. The service should learn of their changes.
    pub fn reach(&self) -> (Vec<InterfaceView>, Vec<Problem>) {
        let without_note = |nic: &InterfaceView| InterfaceView {
            note: String::new(),
            ..nic.clone()
        };
        let interfaces = self.interfaces.iter().map(without_note);
        (interfaces.collect(), self.problems.clone())
    }

    /// True when an address reaches beyond the link.
    pub fn has_address(&self) -> bool {
        self.interfaces
            .iter()
            .any(|interface| interface.carrier && !interface.addresses.is_empty())
    }
}
