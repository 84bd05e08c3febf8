//! The part of nmstate's documents that the live image applies. Unknown members are refused; members without an effect
//! were removed before.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::scalars::{flag, needed, number};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Document {
    pub(super) interfaces: Option<Vec<RawInterface>>,
    pub(super) routes: Option<RawRoutes>,
    pub(super) dns_resolver: Option<RawDns>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawInterface {
    pub(super) name: String,
    #[serde(rename = "type", default)]
    pub(super) kind: Type,
    #[serde(default)]
    pub(super) state: State,
    pub(super) identifier: Option<String>,
    pub(super) mac_address: Option<String>,
    pub(super) copy_mac_from: Option<String>,
    #[serde(default, deserialize_with = "number")]
    pub(super) mtu: Option<u16>,
    pub(super) ipv4: Option<RawAddressing>,
    pub(super) ipv6: Option<RawAddressing>,
    pub(super) link_aggregation: Option<RawBond>,
    pub(super) vlan: Option<RawVlan>,
    pub(super) bridge: Option<RawBridge>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Type {
    #[serde(alias = "802-3-ethernet")]
    Ethernet,
    Bond,
    Vlan,
    LinuxBridge,
    #[default]
    Unknown,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    #[default]
    Up,
    Down,
    Absent,
    Ignore,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawAddressing {
    #[serde(default, deserialize_with = "flag")]
    pub(super) enabled: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) dhcp: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) autoconf: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) auto_dns: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) auto_gateway: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) auto_routes: Option<bool>,
    #[serde(default, deserialize_with = "number")]
    pub(super) auto_route_metric: Option<u32>,
    pub(super) address: Option<Vec<RawAddress>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawAddress {
    pub(super) ip: IpAddr,
    #[serde(deserialize_with = "needed")]
    pub(super) prefix_length: u8,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawBond {
    pub(super) mode: Value,
    #[serde(alias = "ports", alias = "slaves")]
    pub(super) port: Option<Vec<String>>,
    pub(super) options: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawVlan {
    pub(super) base_iface: String,
    #[serde(deserialize_with = "needed")]
    pub(super) id: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawBridge {
    #[serde(alias = "ports")]
    pub(super) port: Option<Vec<RawBridgePort>>,
    pub(super) options: Option<RawBridgeOptions>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawBridgePort {
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawBridgeOptions {
    pub(super) stp: Option<RawStp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawStp {
    #[serde(default, deserialize_with = "flag")]
    pub(super) enabled: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawRoutes {
    pub(super) config: Option<Vec<RawRoute>>,
    #[serde(rename = "running")]
    _running: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawRoute {
    #[serde(default)]
    pub(super) state: State,
    pub(super) destination: Option<String>,
    pub(super) next_hop_address: Option<String>,
    pub(super) next_hop_interface: Option<String>,
    /// -1: the default.
    #[serde(default, deserialize_with = "number")]
    pub(super) metric: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    pub(super) table_id: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawDns {
    pub(super) config: Option<RawDnsConfig>,
    #[serde(rename = "running")]
    _running: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RawDnsConfig {
    pub(super) server: Option<Vec<String>>,
    pub(super) search: Option<Vec<String>>,
}

/// A scalar as text: nmstate takes numbers in quotes and without.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
