//! The manager's state of one interface.

use std::collections::HashSet;

use mozim::DhcpV4Lease;
use tokio::time::Instant;

use super::neighbor::Neighbor;
use super::task::Tasks;
use crate::net::configuration::Configuration;
use crate::net::dhcp::Family;
use crate::net::fixed::{Fixed, Wanted};
use crate::net::links::{Address, Link};

/// The state of a wired interface.
#[derive(Default)]
pub(super) struct NicState {
    pub name: String,
    /// A card's name on the installed system; `None`: as here.
    pub installed_name: Option<String>,
    /// A card's own address, which it does not show as a port of a bond. Empty for devices that are made of others.
    pub mac: String,
    /// Metric of routes that set none.
    pub metric: u32,
    pub tasks: Tasks,
    pub dhcp4: Option<Configuration>,
    pub dhcp6: Option<Configuration>,
    pub advertised: Option<Configuration>,
    /// Of the static network, as far as it was applied.
    pub fixed: Option<Configuration>,
    /// Time of the last attempt to apply it.
    pub fixed_at: Option<Instant>,
    /// The reason why the kernel refused its MTU or hardware address.
    pub refused: String,
    pub earlier: Option<Box<DhcpV4Lease>>,
    /// Hardware address with which DHCPv4 was begun.
    pub dhcp4_mac: Vec<u8>,
    /// Of IPv4 and IPv6: name servers of leases and advertisements are not taken.
    pub own_name_servers_alone: [bool; 2],
    /// Families of which the kernel did not accept the whole configuration.
    pub not_applied: HashSet<Family>,
    pub note: String,
    pub neighbor: Neighbor,
}

impl NicState {
    /// Stores a family's configuration. Returns the parts to withdraw and to apply; a configuration that was
    /// not applied whole is returned again.
    pub fn keep(
        &mut self,
        family: Family,
        current: Option<Configuration>,
    ) -> (Option<Configuration>, Option<Configuration>) {
        let place = match family {
            Family::V4 => &mut self.dhcp4,
            Family::V6 => &mut self.dhcp6,
        };
        let old = std::mem::replace(place, current.clone());
        let again = self.not_applied.remove(&family);
        if old != current {
            (old, current)
        } else if again {
            (None, current)
        } else {
            (None, None)
        }
    }

    /// Ends DHCPv4 that was begun with another hardware address and has no lease: a server sends its offer to the address of the request. A bridge
    /// takes over that of its first port. With a lease DHCPv4 continues, as a bond's address may change with each failover.
    pub fn restart_dhcp4_with(&mut self, mac: &[u8]) {
        if self.dhcp4_mac != mac && self.dhcp4.is_none() {
            self.tasks.end("dhcp4");
            self.earlier = None;
            self.dhcp4_mac = mac.to_vec();
        }
    }

    /// The configuration that the interface should have, with the metric of its routes. The MTU is set with the device.
    pub fn wanted(&self, fixed: Option<&Fixed>, link: &Link, addresses: &[Address]) -> Wanted {
        let Some(fixed) = fixed else {
            return Wanted::automatic(link);
        };
        let present: Vec<_> = addresses
            .iter()
            .filter(|one| one.index == link.index)
            .map(|one| (one.address, one.prefix))
            .collect();
        let mut wanted = fixed.wanted(fixed.name_of(self), link, &present);
        if let Some(configuration) = wanted.configuration.take() {
            wanted.configuration = Some(Configuration {
                mtu: None,
                ..configuration.with_metric(self.metric)
            });
        }
        wanted
    }

    pub fn configurations(&self) -> impl Iterator<Item = &Configuration> {
        let all = [&self.fixed, &self.dhcp4, &self.dhcp6, &self.advertised];
        all.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_put_on_once_unless_the_kernel_did_not_take_it() {
        let current = |hostname: &str| {
            Some(Configuration {
                hostname: Some(hostname.to_owned()),
                ..Configuration::default()
            })
        };
        let mut nic = NicState::default();
        assert_eq!(nic.keep(Family::V4, current("a")), (None, current("a")));
        assert_eq!(nic.keep(Family::V4, current("a")), (None, None), "a renewal");
        nic.not_applied.insert(Family::V4);
        assert_eq!(nic.keep(Family::V6, None), (None, None));
        assert_eq!(
            nic.keep(Family::V4, current("a")),
            (None, current("a")),
            "tried again"
        );
        assert_eq!(nic.keep(Family::V4, current("a")), (None, None), "it went on");
        assert_eq!(nic.keep(Family::V4, current("b")), (current("a"), current("b")));
        assert_eq!(nic.keep(Family::V4, None), (current("b"), None));
    }

    #[tokio::test]
    async fn dhcp_begins_anew_with_another_hardware_address_unless_it_has_a_lease() {
        let (random, of_port) = ([0x56; 6], [0x52; 6]);
        let mut nic = NicState::default();
        nic.restart_dhcp4_with(&random);
        nic.tasks.keep("br0", "dhcp4", std::future::pending::<()>);
        nic.restart_dhcp4_with(&random);
        assert!(nic.tasks.has("dhcp4"));
        nic.restart_dhcp4_with(&of_port);
        assert!(
            !nic.tasks.has("dhcp4"),
            "the offer would go to the address of before"
        );
        nic.tasks.keep("br0", "dhcp4", std::future::pending::<()>);
        nic.dhcp4 = Some(Configuration::default());
        nic.restart_dhcp4_with(&random);
        assert!(nic.tasks.has("dhcp4"), "a bond failed over");
    }
}
