//! Reads links from sysfs: for trees that were captured without netlink's responses, and for links with messages that cannot be parsed.

use super::Link;
use crate::root::Root;

/// `<linux/if.h>`, in the order of the protocol.
const FLAGS: [(u32, &str); 6] = [
    (0x1, "up"),
    (0x2, "broadcast"),
    (0x8, "loopback"),
    (0x10, "pointtopoint"),
    (0x1000, "multicast"),
    (0x40, "running"),
];

/// In order of index, without addresses and routes, which sysfs does not have.
pub(crate) fn links_of_sysfs(root: &Root) -> Vec<Link> {
    let names = root.list("/sys/class/net").unwrap_or_default();
    let mut links: Vec<Link> = names.into_iter().filter_map(|name| link(root, name)).collect();
    links.sort_by_key(|link| link.index);
    links
}

/// `None` for an entry that is no interface (`bonding_masters`).
fn link(root: &Root, name: String) -> Option<Link> {
    let text = |file: &str| root.text(&format!("/sys/class/net/{name}/{file}")).ok();
    let index = text("ifindex")?.parse().ok()?;
    let bits = text("flags")
        .and_then(|flags| u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok())
        .unwrap_or(0);
    let has_carrier = text("carrier").as_deref() == Some("1");
    let uevent = text("uevent").unwrap_or_default();
    Some(Link {
        index,
        address: text("address").map(|mac| octets(&mac)).unwrap_or_default(),
        bond_permanent_address: text("bonding_slave/perm_hwaddr").map(|mac| octets(&mac)),
        mtu: text("mtu").and_then(|mtu| mtu.parse().ok()).unwrap_or(0),
        flags: FLAGS
            .into_iter()
            // The kernel computes "running" for netlink only; in sysfs the carrier is the same.
            .filter(|(bit, name)| bits & bit != 0 || (*name == "running" && bits & 1 != 0 && has_carrier))
            .map(|(_, name)| name)
            .collect(),
        kind: uevent
            .lines()
            .find_map(|line| line.strip_prefix("DEVTYPE="))
            .map(str::to_owned),
        name,
    })
}

fn octets(mac: &str) -> Vec<u8> {
    mac.split(':')
        .filter_map(|octet| u8::from_str_radix(octet, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn a_tree_without_netlink_still_has_its_links() {
        let machine = Machine::new()
            .nic(
                "pci0000:00/net/eth0",
                &[
                    ("ifindex", "2"),
                    ("address", "02:00:00:00:00:09"),
                    ("mtu", "1500"),
                    ("flags", "0x1003"),
                    ("carrier", "1"),
                    ("bonding_slave/perm_hwaddr", "02:00:00:00:00:01"),
                ],
            )
            .device(
                "virtual/net/bond0",
                "net",
                "bond",
                &[("ifindex", "1"), ("flags", "0x1402")],
            )
            .link("/sys/class/net/bond0", "/sys/devices/virtual/net/bond0")
            .file("/sys/class/net/bonding_masters", "bond0\n");
        let links = links_of_sysfs(&machine.root());
        assert_eq!(links.len(), 2);
        assert_eq!(
            (links[0].name.as_str(), links[0].kind.as_deref()),
            ("bond0", Some("bond"))
        );
        assert_eq!(links[0].flags, ["broadcast", "multicast"]);
        assert_eq!(links[1].flags, ["up", "broadcast", "multicast", "running"]);
        assert_eq!(links[1].bond_permanent_address, Some(vec![2, 0, 0, 0, 0, 1]));
    }
}
