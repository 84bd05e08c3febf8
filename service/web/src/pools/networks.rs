//! The static networks of an InfraEnv, and the machines that they are for.

use muster_api::infra_env::{HostStaticNetworkConfig, InfraEnv};
use muster_api::search::FoundHost;

use super::query_of;
use crate::hosts;
use crate::rest::Visitor;

/// Networks that are shown.
const SHOWN: usize = 50;

/// Cards that machines are searched by: a query has at most 256 values, and one is the pool.
const CARDS: usize = 255;

/// Hosts that are searched, the most that REST returns at once.
const MOST: usize = 1000;

/// The static networks of an InfraEnv.
pub struct Networks {
    pub rows: Vec<NetworkRow>,
    /// Number of further ones.
    pub left_out: usize,
}

pub struct NetworkRow {
    /// Logical name and MAC address of each card.
    pub cards: String,
    /// nmstate YAML.
    pub yaml: String,
    /// The hosts that have one of the cards.
    pub hosts: Vec<Machine>,
}

/// A host by its name.
pub struct Machine {
    pub name: String,
    pub address: String,
}

/// The networks with their machines; without these where the search for them is refused.
pub async fn networks(visitor: &Visitor, pool: &InfraEnv) -> Networks {
    let all: Vec<HostStaticNetworkConfig> =
        serde_json::from_str(&pool.static_network_config).unwrap_or_default();
    let left_out = all.len().saturating_sub(SHOWN);
    let shown: Vec<HostStaticNetworkConfig> = all.into_iter().take(SHOWN).collect();
    let macs: Vec<String> = shown.iter().flat_map(macs).take(CARDS).collect();
    let found = match macs.is_empty() {
        true => Vec::new(),
        false => with_cards(visitor, pool, &macs).await,
    };
    Networks {
        rows: shown.iter().map(|one| NetworkRow::of(one, &found)).collect(),
        left_out,
    }
}

async fn with_cards(visitor: &Visitor, pool: &InfraEnv, macs: &[String]) -> Vec<FoundHost> {
    let query = format!("{} mac:{}", query_of(pool.id), macs.join(","));
    let found = visitor.hosts(&query, MOST, "").await;
    found.map(|found| found.hosts).unwrap_or_default()
}

/// The MAC addresses of a network, in one spelling.
fn macs(network: &HostStaticNetworkConfig) -> impl Iterator<Item = String> + '_ {
    let cards = network.mac_interface_map.iter();
    cards.filter_map(|card| card.mac_address.as_deref().map(spelled))
}

fn spelled(mac: &str) -> String {
    mac.to_ascii_lowercase().replace('-', ":")
}

impl NetworkRow {
    fn of(network: &HostStaticNetworkConfig, found: &[FoundHost]) -> Self {
        let cards = network.mac_interface_map.iter().map(|card| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {}", text(&card.logical_nic_name), text(&card.mac_address))
        });
        let own: Vec<String> = macs(network).collect();
        let has_one = |host: &&FoundHost| {
            let hardware = host.hardware.as_ref();
            hardware.is_some_and(|hardware| hardware.macs.iter().any(|mac| own.contains(&spelled(mac))))
        };
        let hosts = found.iter().filter(has_one).map(|host| Machine {
            name: host.name.clone(),
            address: hosts::address(host.infra_env_id, host.id),
        });
        Self {
            cards: cards.collect::<Vec<_>>().join(", "),
            yaml: network.network_yaml.clone().unwrap_or_default(),
            hosts: hosts.collect(),
        }
    }
}
