//! Defines the static network of one machine as the live image applies it: what is left of a `network_yaml` (nmstate) after the
//! service has understood it. Source: docs/protocol/static-network.md.

mod keyfiles;

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

pub use keyfiles::keyfiles;

/// The network of the machine that has one of `cards`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StaticNetwork {
    pub cards: Vec<Card>,
    /// Each after those that it is made of.
    pub interfaces: Vec<Interface>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub routes: Vec<Route>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub name_servers: Vec<IpAddr>,
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub search: Vec<String>,
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
    /// The names of the interfaces that it is made of.
    pub fn parts(&self) -> &[String] {
        match self {
            Self::Ethernet => &[],
            Self::Bond(bond) => &bond.ports,
            Self::Vlan(vlan) => std::slice::from_ref(&vlan.base),
            Self::Bridge(bridge) => &bridge.ports,
        }
    }

    /// Those of them that have no addresses of their own: the ports of a bond or a bridge.
    pub fn ports(&self) -> &[String] {
        match self {
            Self::Vlan(_) => &[],
            Self::Ethernet | Self::Bond(_) | Self::Bridge(_) => self.parts(),
        }
    }
}

/// Several cards as one. Names and values of `mode` and options are those of the kernel's bonding driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    pub mode: BondMode,
    pub ports: Vec<String>,
    /// Milliseconds between two looks at the carrier of a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miimon: Option<u32>,
    /// `lacp_rate=fast`: every second instead of every 30.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lacp_fast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xmit_hash_policy: Option<HashPolicy>,
    /// The port that is used while it works (`active-backup`, `balance-tlb`, `balance-alb`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updelay: Option<u32>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downdelay: Option<u32>,
}

#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BondMode {
    #[default]
    #[strum(to_string = "balance-rr", serialize = "0")]
    BalanceRr,
    #[strum(to_string = "active-backup", serialize = "1")]
    ActiveBackup,
    #[strum(to_string = "balance-xor", serialize = "2")]
    BalanceXor,
    #[strum(to_string = "broadcast", serialize = "3")]
    Broadcast,
    /// LACP.
    #[serde(rename = "802.3ad")]
    #[strum(to_string = "802.3ad", serialize = "4")]
    Lacp,
    #[strum(to_string = "balance-tlb", serialize = "5")]
    BalanceTlb,
    #[strum(to_string = "balance-alb", serialize = "6")]
    BalanceAlb,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr,
)]
pub enum HashPolicy {
    #[serde(rename = "layer2")]
    #[strum(to_string = "layer2", serialize = "0")]
    Layer2,
    #[serde(rename = "layer3+4")]
    #[strum(to_string = "layer3+4", serialize = "1")]
    Layer34,
    #[serde(rename = "layer2+3")]
    #[strum(to_string = "layer2+3", serialize = "2")]
    Layer23,
    #[serde(rename = "encap2+3")]
    #[strum(to_string = "encap2+3", serialize = "3")]
    Encap23,
    #[serde(rename = "encap3+4")]
    #[strum(to_string = "encap3+4", serialize = "4")]
    Encap34,
    #[serde(rename = "vlan+srcmac")]
    #[strum(to_string = "vlan+srcmac", serialize = "5")]
    VlanSrcMac,
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
