//! Lists interfaces and changes them (rtnetlink).

mod shape;

use std::net::{IpAddr, Ipv6Addr};

use futures_util::TryStreamExt;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressScope};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, Inet6IfaceFlags, LinkAttribute, LinkFlags, LinkLayerType, LinkMessage,
};
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteScope};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

pub use shape::Shape;

use super::configuration::{Configuration, Route};
use crate::inventory::netlink::links_of_sysfs;
use crate::root::Root;

/// `<linux/if_arp.h>`
const ARPHRD_ETHER: u16 = 1;
/// `addr_assign_type` of an address that a program has set (`NET_ADDR_SET`, `<linux/netdevice.h>`).
const SET_BY_A_PROGRAM: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub name: String,
    pub mac: Vec<u8>,
    /// The address that a card came with, if a program has set another, as a bond does.
    pub own_mac: Option<Vec<u8>>,
    pub shape: Shape,
    /// Bytes.
    pub mtu: u32,
    /// True for Ethernet by cable on a device of its own, which the agent configures.
    pub wired: bool,
    /// Index of the bond or bridge that it is a port of.
    pub controller: Option<u32>,
    pub loopback: bool,
    pub up: bool,
    /// A link partner is detected.
    pub carrier: bool,
    /// Router advertisements request addresses by DHCPv6.
    pub managed: bool,
    /// Router advertisements announce that DHCPv6 has name servers and the like.
    pub informed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub index: u32,
    pub address: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
    /// Reaches beyond the link. The address that a management controller leases to its host (169.254.0.0/16) does not.
    pub global: bool,
    /// Past duplicate detection.
    pub usable: bool,
}

/// All interfaces, by index. Interfaces with messages that cannot be parsed, which rtnetlink leaves out, are read from sysfs.
///
/// # Errors
/// Fails if the kernel does not return the links.
pub async fn links(handle: &Handle) -> Result<Vec<Link>, rtnetlink::Error> {
    let messages: Vec<LinkMessage> = handle.link().get().execute().try_collect().await?;
    let mut links: Vec<Link> = messages.iter().map(link).collect();
    links.extend(missing(&Root::live(), &links));
    links.sort_by_key(|link| link.index);
    Ok(links)
}

/// The links in sysfs that are not among `known`.
fn missing(root: &Root, known: &[Link]) -> Vec<Link> {
    let of_sysfs = links_of_sysfs(root).into_iter();
    of_sysfs
        .filter(|link| !known.iter().any(|one| one.index == link.index))
        .map(|link| {
            let folder = format!("/sys/class/net/{}", link.name);
            let number = |file: &str| root.text(&format!("{folder}/{file}")).ok()?.parse::<u32>().ok();
            tracing::debug!(
                nic = link.name,
                "netlink's message cannot be parsed: read from sysfs"
            );
            let has = |flag: &str| link.flags.contains(&flag);
            Link {
                index: link.index,
                own_mac: None,
                shape: Shape::Plain,
                mtu: link.mtu,
                wired: number("type") == Some(u32::from(ARPHRD_ETHER))
                    && is_wired(root, &link.name, &link.address),
                controller: number("master/ifindex"),
                loopback: has("loopback"),
                up: has("up"),
                carrier: has("running"),
                managed: false,
                informed: false,
                mac: link.address,
                name: link.name,
            }
        })
        .collect()
}

fn is_wired(root: &Root, name: &str, mac: &[u8]) -> bool {
    let has = |part: &str| root.resolve(&format!("/sys/class/net/{name}/{part}")).is_ok();
    mac.len() == 6 && has("device") && !has("phy80211") && !has("wireless")
}

fn link(message: &LinkMessage) -> Link {
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        loopback: flags.contains(LinkFlags::Loopback),
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp) && flags.contains(LinkFlags::Running),
        ..Link::default()
    };
    let (mut base, mut before_bond) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Address(mac) => link.mac.clone_from(mac),
            LinkAttribute::PermAddress(mac) => link.own_mac = Some(mac.clone()),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::Link(index) => base = Some(*index),
            LinkAttribute::LinkInfo(infos) => {
                link.shape = shape::shape(infos);
                before_bond = shape::mac_before_bond(infos);
            }
            LinkAttribute::Controller(index) => link.controller = Some(*index).filter(|index| *index != 0),
            LinkAttribute::AfSpecUnspec(families) => {
                let has = |wanted: Inet6IfaceFlags| {
                    families.iter().any(|family| match family {
                        AfSpecUnspec::Inet6(parts) => parts
                            .iter()
                            .any(|part| matches!(part, AfSpecInet6::Flags(flags) if flags.contains(wanted))),
                        _ => false,
                    })
                };
                link.managed = has(Inet6IfaceFlags::RaManaged);
                link.informed = has(Inet6IfaceFlags::Otherconf);
            }
            _ => {}
        }
    }
    if let Shape::Vlan { base: over, .. } = &mut link.shape {
        *over = base;
    }
    // Not every driver has one of its own.
    link.own_mac = link.own_mac.or(before_bond);
    let root = Root::live();
    let is_set = || {
        let file = format!("/sys/class/net/{}/addr_assign_type", link.name);
        let kind = root.text(&file).ok().and_then(|text| text.parse().ok());
        kind == Some(SET_BY_A_PROGRAM)
    };
    link.own_mac.take_if(|own| *own == link.mac || !is_set());
    link.wired =
        message.header.link_layer_type == LinkLayerType::Ether && is_wired(&root, &link.name, &link.mac);
    link
}

/// All addresses.
///
/// # Errors
/// Fails if the kernel does not return the addresses.
pub async fn addresses(handle: &Handle) -> Result<Vec<Address>, rtnetlink::Error> {
    let messages: Vec<_> = handle.address().get().execute().try_collect().await?;
    Ok(messages
        .into_iter()
        .filter_map(|message| {
            let (mut address, mut flags) = (None, AddressFlags::empty());
            for attribute in &message.attributes {
                match attribute {
                    // On a point-to-point link `Address` is the peer's.
                    AddressAttribute::Local(local) => address = Some(*local),
                    AddressAttribute::Address(other) if address.is_none() => address = Some(*other),
                    AddressAttribute::Flags(all) => flags = *all,
                    _ => {}
                }
            }
            let address = address?;
            // The kernel gives it no scope of its own.
            let is_link_local = matches!(address, IpAddr::V4(address) if address.is_link_local());
            Some(Address {
                index: message.header.index,
                address,
                prefix: message.header.prefix_len,
                global: message.header.scope == AddressScope::Universe
                    && !is_link_local
                    && matches!(message.header.family, AddressFamily::Inet | AddressFamily::Inet6),
                usable: !flags.intersects(AddressFlags::Tentative | AddressFlags::Dadfailed),
            })
        })
        .collect())
}

/// Renames a link that is down.
///
/// # Errors
/// Fails if the name is taken or the link is up.
pub async fn rename(handle: &Handle, index: u32, name: &str) -> Result<(), rtnetlink::Error> {
    handle
        .link()
        .set(LinkUnspec::new_with_index(index).name(name).build())
        .execute()
        .await
}

/// # Errors
/// Fails if the kernel refuses the change.
pub async fn set_up(handle: &Handle, index: u32) -> Result<(), rtnetlink::Error> {
    handle
        .link()
        .set(LinkUnspec::new_with_index(index).up().build())
        .execute()
        .await
}

/// # Errors
/// Fails if the driver does not support the length, or if the link below is narrower.
pub async fn set_mtu(handle: &Handle, index: u32, mtu: u32) -> Result<(), rtnetlink::Error> {
    handle
        .link()
        .set(LinkUnspec::new_with_index(index).mtu(mtu).build())
        .execute()
        .await
}

/// Sets the hardware address of a link; one that is up goes down for it if its driver requires that.
///
/// # Errors
/// Fails if the kernel refuses the change.
pub async fn set_mac(handle: &Handle, index: u32, mac: &[u8]) -> Result<(), rtnetlink::Error> {
    let set = |message: LinkMessage| handle.link().set(message).execute();
    let address = || LinkUnspec::new_with_index(index).address(mac.to_vec()).build();
    if set(address()).await.is_ok() {
        return Ok(());
    }
    set(LinkUnspec::new_with_index(index).down().build()).await?;
    let done = set(address()).await;
    set(LinkUnspec::new_with_index(index).up().build()).await?;
    done
}

/// Removes a link that a program has made.
///
/// # Errors
/// Fails if the kernel refuses the change.
pub async fn remove(handle: &Handle, index: u32) -> Result<(), rtnetlink::Error> {
    handle.link().del(index).execute().await
}

/// Applies a configuration to a link. Present parts stay; every part is tried, and the first error returned.
///
/// # Errors
/// Fails if the kernel refuses a part.
pub async fn apply(handle: &Handle, index: u32, wanted: &Configuration) -> Result<(), rtnetlink::Error> {
    let mut done = Ok(());
    if let Some(mtu) = wanted.mtu {
        done = done.and(set_mtu(handle, index, mtu.into()).await);
    }
    for &(address, prefix) in &wanted.addresses {
        done = done.and(
            handle
                .address()
                .add(index, address, prefix)
                .replace()
                .execute()
                .await,
        );
    }
    for wanted in &wanted.routes {
        done = done.and(match route(index, wanted) {
            Some(message) => handle.route().add(message).replace().execute().await,
            None => Ok(()),
        });
    }
    done
}

/// Applies a configuration to a link in place of one with the same addresses: with other metrics, or routes.
///
/// # Errors
/// Fails if the kernel refuses a part.
pub async fn replace(
    handle: &Handle,
    index: u32,
    old: &Configuration,
    wanted: &Configuration,
) -> Result<(), rtnetlink::Error> {
    let done = apply(handle, index, wanted).await;
    let mut gone = old.routes.clone();
    gone.retain(|route| !wanted.routes.contains(route));
    withdraw_routes(handle, index, &gone).await;
    done
}

async fn withdraw_routes(handle: &Handle, index: u32, routes: &[Route]) {
    for message in routes.iter().filter_map(|old| route(index, old)) {
        if let Err(error) = handle.route().del(message).execute().await {
            tracing::debug!(index, %error, "route not removed");
        }
    }
}

/// Removes a configuration from a link. Parts that are gone already are no error.
pub async fn withdraw(handle: &Handle, index: u32, old: &Configuration) {
    withdraw_routes(handle, index, &old.routes).await;
    if old.addresses.is_empty() {
        return;
    }
    let messages = handle.address().get().set_link_index_filter(index).execute();
    let found: Vec<_> = messages.try_collect().await.unwrap_or_default();
    for message in found {
        let is_old = message.attributes.iter().any(|attribute| {
            matches!(attribute, AddressAttribute::Local(one) | AddressAttribute::Address(one)
                if old.addresses.iter().any(|(address, _)| address == one))
        });
        if is_old && let Err(error) = handle.address().del(message).execute().await {
            tracing::debug!(index, %error, "address not removed");
        }
    }
}

/// `None` when the parts are of different families.
fn route(index: u32, route: &Route) -> Option<RouteMessage> {
    let (network, prefix) = route.destination;
    let mut message = RouteMessageBuilder::<IpAddr>::new()
        .destination_prefix(network, prefix)
        .ok()?
        .output_interface(index)
        .priority(route.metric.unwrap_or_default())
        .protocol(RouteProtocol::Dhcp);
    match route.gateway {
        Some(gateway) => message = message.gateway(gateway).ok()?,
        // IPv6 has no scopes of routes.
        None if network.is_ipv6() => {}
        None => message = message.scope(RouteScope::Link),
    }
    if route.onlink {
        message = message.onlink();
    }
    Some(message.build())
}

/// The link-local address for DHCPv6.
pub fn link_local(addresses: &[Address], index: u32) -> Option<Ipv6Addr> {
    addresses.iter().find_map(|one| match one.address {
        IpAddr::V6(address) if one.index == index && one.usable && address.is_unicast_link_local() => {
            Some(address)
        }
        _ => None,
    })
}

/// An address of a card in the usual spelling.
pub fn mac_text(mac: &[u8]) -> String {
    mac.iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn a_card_that_netlink_lost_is_read_from_sysfs() {
        let card = |machine: Machine, name: &str, index: &str, device: bool| {
            let machine = machine.nic(
                &format!("pci0/net/{name}"),
                &[
                    ("ifindex", index),
                    ("type", "1"),
                    ("address", "00:25:90:00:00:01"),
                    ("flags", "0x1003"),
                    ("carrier", "1"),
                ],
            );
            if device {
                machine.link(
                    &format!("/sys/devices/pci0/net/{name}/device"),
                    "/sys/devices/pci0",
                )
            } else {
                machine
            }
        };
        let machine = card(card(Machine::new(), "eth0", "2", true), "eth1", "3", true);
        let machine =
            card(machine, "dummy0", "4", false).file("/sys/devices/pci0/net/eth1/master/ifindex", "9\n");
        let all = missing(&machine.root(), &[]);
        let known = &all[..1];
        let found = missing(&machine.root(), known);
        let eth1 = Link {
            index: 3,
            name: "eth1".into(),
            mac: vec![0, 0x25, 0x90, 0, 0, 1],
            wired: true,
            controller: Some(9),
            up: true,
            carrier: true,
            ..Link::default()
        };
        assert_eq!(found[0], eth1);
        assert_eq!((found[1].name.as_str(), found[1].wired), ("dummy0", false));
        assert_eq!(known[0].name, "eth0");
    }
}
