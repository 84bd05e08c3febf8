//! Finds the host's name. Source of the rules: docs/protocol/agent-inventory.md#3.

use std::net::IpAddr;

use muster_api::inventory::Interface;

use crate::root::{ProbeError, Root};

/// Names of unnamed machines. The empty name is not among them.
const FORBIDDEN: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// The kernel's host name; a meaningless one is replaced by a name made of a MAC address.
pub(super) fn hostname(root: &Root, interfaces: &[Interface]) -> Result<String, ProbeError> {
    let path = "/proc/sys/kernel/hostname";
    let name = root.text(path).map_err(ProbeError::reading(path))?;
    // The kernel's name when it was never set.
    let name = if name == "(none)" {
        String::from("localhost")
    } else {
        name
    };
    Ok(usable(name, interfaces))
}

fn usable(name: String, interfaces: &[Interface]) -> String {
    if !FORBIDDEN.contains(&name.as_str()) {
        return name;
    }
    let mut sorted: Vec<&Interface> = interfaces.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted
        .into_iter()
        .find(|interface| {
            matches!(interface.kind.as_str(), "physical" | "vlan" | "bond")
                && !interface.mac_address.is_empty()
                && has_global_address(interface)
        })
        .map_or(name, |interface| interface.mac_address.replace(':', "-"))
}

/// Global unicast as Go means it: private ranges count, loopback, link-local and multicast do not.
fn has_global_address(interface: &Interface) -> bool {
    interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .filter_map(|address| address.split('/').next()?.parse().ok())
        .any(|ip| match ip {
            IpAddr::V4(ip) => {
                !(ip.is_unspecified()
                    || ip.is_loopback()
                    || ip.is_link_local()
                    || ip.is_multicast()
                    || ip.is_broadcast())
            }
            IpAddr::V6(ip) => {
                !(ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local() || ip.is_multicast())
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, kind: &str, mac: &str, address: &str) -> Interface {
        Interface {
            name: name.into(),
            kind: kind.into(),
            mac_address: mac.into(),
            ipv4_addresses: vec![address.into()],
            ..Interface::default()
        }
    }

    #[test]
    fn a_name_that_says_nothing_becomes_the_mac_of_the_first_usable_interface_by_name() {
        let interfaces = [
            interface("eth9", "physical", "02:00:00:00:00:09", "10.0.0.9/24"),
            interface("eth1", "physical", "02:00:00:00:00:01", "169.254.3.4/16"),
            interface("eth2", "physical", "", "10.0.0.2/24"),
            interface("br0", "bridge", "02:00:00:00:00:0b", "10.0.0.3/24"),
            interface("eth3", "vlan", "02:00:00:00:00:03", "192.168.1.3/24"),
        ];
        assert_eq!(usable("localhost".into(), &interfaces), "02-00-00-00-00-03");
        assert_eq!(
            usable("localhost6.localdomain6".into(), &interfaces),
            "02-00-00-00-00-03"
        );
    }

    #[test]
    fn a_real_name_stays_and_the_rule_minds_case() {
        let interfaces = [interface("eth0", "physical", "02:00:00:00:00:01", "10.0.0.9/24")];
        for name in ["worker-1", "Localhost", ""] {
            assert_eq!(usable(name.into(), &interfaces), name);
        }
    }

    #[test]
    fn without_a_usable_interface_the_forbidden_name_stays() {
        assert_eq!(usable("localhost".into(), &[]), "localhost");
    }
}
