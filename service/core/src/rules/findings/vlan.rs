//! Finds switch ports that lack a VLAN which the host is configured to use.

use muster_api::host::HostFinding;
use muster_api::inventory::{Interface, SwitchPort};

use super::cluster_context::list;
use super::finding::finding;
use super::kinds::VLAN_NOT_ON_SWITCH_PORT;
use crate::record::Host;
use crate::text::one_line;

/// Longest name of an interface, a switch or a port in a message, bytes.
const NAME_TEXT: usize = 64;

/// By interface: the VLANs of the host's static network that its switch does not announce for the port. The agent
/// compares them, since it applied the network.
pub(super) fn missing(host: &Host) -> Vec<HostFinding> {
    let interfaces = host.inventory.iter().flat_map(|inventory| &inventory.interfaces);
    interfaces
        .filter_map(|interface| Some((interface, interface.switch_port.as_ref()?)))
        .filter(|(_, port)| !port.missing_vlans.is_empty())
        .map(|(interface, port)| about(interface, port))
        .collect()
}

fn about(interface: &Interface, port: &SwitchPort) -> HostFinding {
    let numbers = |vlans: &[u16]| list(&vlans.iter().map(u16::to_string).collect::<Vec<_>>());
    let name = one_line(&interface.name, NAME_TEXT);
    let missing = numbers(&port.missing_vlans);
    let (vlan, is) = if port.missing_vlans.len() == 1 {
        ("VLAN", "is")
    } else {
        ("VLANs", "are")
    };
    let message = format!(
        "{vlan} {missing}, which the static network of this host uses on {name}, {is} not among those that switch {} reports for its port {} (tagged: {}). Add {missing} to that port, plug the cable into another, or change the static network",
        one_line(&port.switch, NAME_TEXT),
        one_line(&port.port, NAME_TEXT),
        numbers(&port.tagged_vlans),
    );
    finding(VLAN_NOT_ON_SWITCH_PORT, name, [], message)
}
