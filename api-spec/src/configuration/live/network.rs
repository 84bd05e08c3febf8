//! Defines the static network of one machine as the live image applies it: what is left of a `network_yaml` (nmstate) after the
//! service has understood it. Source: docs/protocol/static-network.md.

mod bond;
mod keyfiles;
mod order;

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

pub use bond::{Bond, BondMode, HashPolicy, OptionError, is_mac};
pub use keyfiles::{Keyfile, keyfiles};
pub use order::by_parts;

/// The network of the machine that has one of `cards`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StaticNetwork {
    pub cards: Vec<Card>,
    /// Each comes after its parts.
    pub interfaces: Vec<Interface>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub routes: Vec<Route>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name_servers: Vec<IpAddr>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub search: Vec<String>,
    /// Settings of the cards without an interface of their own, without a name; `None`: DHCP and router advertisements. With an address of
    /// its own it applies to one card only. Its routes name no interface. Only kernel arguments set it.
    #[serde(skip_serializing_if = "is_default")]
    pub others: Option<Interface>,
    /// Name of the machine; wins over that of a lease.
    #[serde(skip_serializing_if = "is_default")]
    pub hostname: Option<String>,
}

/// A network card and the name that the configuration has for it, which need not be the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Lower case, with colons.
    pub mac: String,
    pub name: String,
}

/// A card, or a device made of others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    pub name: String,
    pub kind: Kind,
    /// Bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub mtu: Option<u16>,
    /// An address to take in place of its own; lower case, with colons.
    #[serde(skip_serializing_if = "is_default")]
    pub mac: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub ipv4: Addressing,
    #[serde(skip_serializing_if = "is_default")]
    pub ipv6: Addressing,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Ethernet,
    Bond(Bond),
    Vlan(Vlan),
    Bridge(Bridge),
}

impl Kind {
    /// The names of the interfaces that are its parts.
    pub fn parts(&self) -> &[String] {
        match self {
            Self::Ethernet => &[],
            Self::Bond(bond) => &bond.ports,
            Self::Vlan(vlan) => std::slice::from_ref(&vlan.base),
            Self::Bridge(bridge) => &bridge.ports,
        }
    }

    /// The parts without addresses of their own: the ports of a bond or a bridge.
    pub fn ports(&self) -> &[String] {
        match self {
            Self::Vlan(_) => &[],
            Self::Ethernet | Self::Bond(_) | Self::Bridge(_) => self.parts(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vlan {
    pub base: String,
    pub id: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    pub ports: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stp: bool,
}

/// One family of addresses of an interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Addressing {
    /// By DHCP.
    #[serde(skip_serializing_if = "is_default")]
    pub dhcp: bool,
    /// By router advertisements (IPv6).
    #[serde(skip_serializing_if = "is_default")]
    pub autoconf: bool,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub addresses: Vec<Address>,
    /// Without other addresses there is the link-local one (IPv6), which the live image gives every interface.
    #[serde(skip_serializing_if = "is_default")]
    pub link_local: bool,
    /// Default metric of the routes, also of those from DHCP and advertisements.
    #[serde(skip_serializing_if = "is_default")]
    pub metric: Option<u32>,
    /// Name servers and search domains of DHCP and advertisements are not taken.
    #[serde(skip_serializing_if = "is_default")]
    pub own_name_servers_alone: bool,
}

impl Addressing {
    /// DHCP for IPv4, router advertisements for IPv6: the default of an interface without configuration.
    pub fn automatic() -> (Self, Self) {
        let ipv4 = Self {
            dhcp: true,
            ..Self::default()
        };
        let ipv6 = Self {
            autoconf: true,
            ..Self::default()
        };
        (ipv4, ipv6)
    }

    /// True when addresses come from DHCP or advertisements.
    pub fn is_automatic(&self) -> bool {
        self.dhcp || self.autoconf
    }

    /// True when the interface has no addresses of this family.
    pub fn is_off(&self) -> bool {
        !self.is_automatic() && self.addresses.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub ip: IpAddr,
    /// Prefix length, bits.
    pub prefix: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The network; `0.0.0.0/0` and `::/0` are the default routes.
    pub destination: Address,
    /// `None`: the destination is on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// The interface's name.
    pub interface: String,
    /// Smaller is preferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<u32>,
}
