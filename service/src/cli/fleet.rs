//! Reads all hosts of a service, each with its InfraEnv, its cluster and its inventory.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use anyhow::Result;
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::host::Host;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::{Disk, Interface, Inventory};
use muster_api::session::Session;
use muster_core::query::natural_order;
use reqwest::header::HeaderValue;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::failure::{Kind, kind_of};
use super::service::Client;

/// Characters of an id that distinguish it from others.
const SHORT_ID: usize = 8;

/// Fields of a host that hold JSON as text.
const JSON_TEXTS: [&str; 11] = [
    "inventory",
    "validations_info",
    "connectivity",
    "api_vip_connectivity",
    "tang_connectivity",
    "free_addresses",
    "ntp_sources",
    "disks_info",
    "images_status",
    "domain_name_resolutions",
    "node_labels",
];

/// A host with its InfraEnv.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its InfraEnv.
    pub pool: InfraEnv,
    /// The host itself.
    pub host: Host,
    /// Its inventory, once it has reported one.
    pub inventory: Inventory,
    /// The name of its cluster; empty: none.
    pub cluster: String,
}

/// Identifies a host.
pub type HostKey = (InfraEnvId, HostId);

impl Member {
    /// Its key: one machine may be a host of several InfraEnvs.
    pub fn key(&self) -> HostKey {
        (self.pool.id, self.host.id)
    }

    /// Its name: the requested or the reported one; until either is known, its id.
    pub fn name(&self) -> String {
        let id = self.host.id.to_string();
        let names = [&self.host.requested_hostname, &self.inventory.hostname];
        let known = names.into_iter().find(|name| !name.is_empty() && **name != id);
        known.cloned().unwrap_or(id)
    }

    /// The path of its operations.
    pub fn path(&self) -> String {
        format!("/infra-envs/{}/hosts/{}", self.pool.id, self.host.id)
    }

    /// The name of its state.
    pub fn state(&self) -> &'static str {
        self.host.status.map_or("-", |status| status.name())
    }

    /// The serial number of the machine.
    pub fn serial(&self) -> &str {
        let vendor = self.inventory.system_vendor.as_ref();
        vendor.map_or("", |vendor| &vendor.serial_number)
    }

    /// Manufacturer and model.
    pub fn model(&self) -> String {
        let vendor = self.inventory.system_vendor.as_ref();
        vendor.map_or_else(String::new, |vendor| {
            format!("{} {}", vendor.manufacturer, vendor.product_name)
                .trim()
                .to_owned()
        })
    }

    /// The interface of the default route; else one with an address.
    fn main_interface(&self) -> Option<&Interface> {
        let interfaces = &self.inventory.interfaces;
        let routes = self.inventory.routes.iter();
        let default = routes
            .filter(|route| matches!(route.destination.as_str(), "0.0.0.0" | "::"))
            .min_by_key(|route| (route.family, route.metric));
        let out = default.and_then(|route| interfaces.iter().find(|one| one.name == route.interface));
        let has_address = |one: &&Interface| first_address(one).is_some_and(|address| !is_local(address));
        out.or_else(|| interfaces.iter().find(has_address))
    }

    /// The address of that interface, without its prefix length; empty: none.
    pub fn address(&self) -> &str {
        self.main_interface().and_then(first_address).unwrap_or_default()
    }

    /// The MAC address of that interface; empty: none.
    pub fn mac(&self) -> &str {
        self.main_interface().map_or("", |one| &one.mac_address)
    }

    /// The installation disk, else the largest eligible one, else the largest.
    pub fn main_disk(&self) -> Option<&Disk> {
        let disks = &self.inventory.disks;
        let chosen = disks
            .iter()
            .find(|disk| !disk.id.is_empty() && disk.id == self.host.installation_disk_id);
        chosen.or_else(|| {
            disks
                .iter()
                .max_by_key(|disk| (disk.installation_eligibility.eligible, disk.size_bytes))
        })
    }

    /// Labels of its node.
    pub fn labels(&self) -> BTreeMap<String, String> {
        serde_json::from_str(&self.host.node_labels).unwrap_or_default()
    }

    /// All that the service returned, with JSON in place of texts that hold JSON.
    pub fn json(&self) -> Result<Value> {
        let mut value = serde_json::to_value(&self.host)?;
        for name in JSON_TEXTS {
            let Some(text) = value.get(name).and_then(Value::as_str) else {
                continue;
            };
            if let Ok(inside) = serde_json::from_str::<Value>(text) {
                value[name] = inside;
            }
        }
        Ok(value)
    }
}

fn first_address(interface: &Interface) -> Option<&str> {
    let all = interface.ipv4_addresses.iter().chain(&interface.ipv6_addresses);
    all.filter_map(|address| address.split('/').next()).next()
}

fn is_local(address: &str) -> bool {
    address
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

/// The hosts of InfraEnvs as last read; they are requested again only when they change.
#[derive(Debug, Default)]
pub struct Known(HashMap<InfraEnvId, Told>);

/// The hosts of one InfraEnv.
#[derive(Debug, Default)]
struct Told {
    tag: Option<HeaderValue>,
    hosts: Vec<(Host, Inventory)>,
}

impl Known {
    /// Forgets everything, so that all is requested again.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// The present hosts of an InfraEnv.
    async fn of(&mut self, client: &Client, id: InfraEnvId) -> Result<&[(Host, Inventory)]> {
        let told = self.0.entry(id).or_default();
        let path = format!("/infra-envs/{id}/hosts");
        if let Some(hosts) = client.get_changed::<Vec<Host>>(&path, &mut told.tag).await? {
            let read = |mut host: Host| {
                let inventory = serde_json::from_str(&host.inventory).unwrap_or_default();
                // A watch needs only what was derived from it, and would keep it for as long as it runs.
                host.inventory = String::new();
                (host, inventory)
            };
            told.hosts = hosts.into_iter().map(read).collect();
        }
        Ok(&told.hosts)
    }
}

/// Like [`members`], from the known hosts and their changes since.
pub async fn members_again(
    client: &Client,
    only: Option<InfraEnvId>,
    known: &mut Known,
) -> Result<Vec<Member>> {
    let clusters = cluster_names(client).await?;
    let mut all = Vec::new();
    for pool in pools(client, only).await? {
        let hosts = match known.of(client, pool.id).await {
            // It was deleted meanwhile.
            Err(error) if kind_of(&error) == Kind::NotFound => continue,
            hosts => hosts?,
        };
        all.extend(hosts.iter().map(|(host, inventory)| Member {
            pool: pool.clone(),
            inventory: inventory.clone(),
            cluster: cluster_name(&clusters, host.cluster_id),
            host: host.clone(),
        }));
    }
    sort(&mut all);
    Ok(all)
}

/// The clusters that the token opens: all, or none where it is for one InfraEnv.
pub async fn clusters(client: &Client) -> Result<Vec<Cluster>> {
    match client.get("/clusters").await {
        Err(error) if kind_of(&error) == Kind::Refused => Ok(Vec::new()),
        found => found,
    }
}

async fn cluster_names(client: &Client) -> Result<HashMap<ClusterId, String>> {
    let clusters = clusters(client).await?.into_iter();
    Ok(told_apart(clusters.map(|one| (one.id, one.name)).collect()))
}

/// Names of clusters; clusters of the same name get the beginning of their id, which commands take in place of the name.
fn told_apart(clusters: Vec<(ClusterId, String)>) -> HashMap<ClusterId, String> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for (_, name) in &clusters {
        *count.entry(name.clone()).or_default() += 1;
    }
    let named = clusters.into_iter().map(|(id, name)| match count.get(&name) {
        Some(2..) => (id, format!("{name} ({})", &id.to_string()[..SHORT_ID])),
        _ => (id, name),
    });
    named.collect()
}

/// The InfraEnvs that the token opens: all, or the one that it is for.
pub async fn infra_envs(client: &Client) -> Result<Vec<InfraEnv>> {
    let refused = match client.get("/infra-envs").await {
        Err(error) if kind_of(&error) == Kind::Refused => error,
        found => return found,
    };
    match scope(client).await? {
        Some(id) => Ok(vec![client.get(&format!("/infra-envs/{id}")).await?]),
        None => Err(refused),
    }
}

/// The InfraEnv that the token is for; `None`: it is for all.
pub async fn scope(client: &Client) -> Result<Option<InfraEnvId>> {
    let session: Session = client.get(&format!("{MUSTER_PATH}/session")).await?;
    Ok(session.infra_env_id)
}

async fn pools(client: &Client, only: Option<InfraEnvId>) -> Result<Vec<InfraEnv>> {
    let mut pools = infra_envs(client).await?;
    pools.retain(|pool| only.is_none_or(|id| id == pool.id));
    Ok(pools)
}

/// The number of hosts of an InfraEnv; 0 when it was deleted since it was listed.
pub async fn host_count(client: &Client, id: InfraEnvId) -> Result<usize> {
    let path = format!("/infra-envs/{id}/hosts?brief=true");
    let hosts: Result<Vec<IgnoredAny>> = client.get(&path).await;
    match hosts {
        Err(error) if kind_of(&error) == Kind::NotFound => Ok(0),
        hosts => Ok(hosts?.len()),
    }
}

fn sort(members: &mut [Member]) {
    members.sort_by(|a, b| {
        natural_order(&a.name(), &b.name())
            .then_with(|| a.pool.name.cmp(&b.pool.name))
            .then_with(|| a.host.id.cmp(&b.host.id))
    });
}

/// The hosts of `only`, or all, by name.
pub async fn members(client: &Client, only: Option<InfraEnvId>) -> Result<Vec<Member>> {
    let clusters = cluster_names(client).await?;
    let mut all = Vec::new();
    for pool in pools(client, only).await? {
        let hosts: Result<Vec<Host>> = client.get(&format!("/infra-envs/{}/hosts", pool.id)).await;
        let hosts = match hosts {
            // It was deleted meanwhile.
            Err(error) if kind_of(&error) == Kind::NotFound => continue,
            hosts => hosts?,
        };
        all.extend(hosts.into_iter().map(|host| Member {
            pool: pool.clone(),
            inventory: serde_json::from_str(&host.inventory).unwrap_or_default(),
            cluster: cluster_name(&clusters, host.cluster_id),
            host,
        }));
    }
    sort(&mut all);
    Ok(all)
}

fn cluster_name(clusters: &HashMap<ClusterId, String>, id: Option<ClusterId>) -> String {
    id.map_or_else(String::new, |id| {
        clusters.get(&id).cloned().unwrap_or_else(|| id.to_string())
    })
}

#[cfg(test)]
mod tests {
    use muster_api::ids::ClusterId;

    use super::told_apart;

    #[test]
    fn clusters_of_one_name_are_told_apart() {
        let ids = [ClusterId::random(), ClusterId::random(), ClusterId::random()];
        let named = ids.into_iter().zip(["prod", "prod", "test"].map(str::to_owned));
        let told = told_apart(named.collect());
        assert_eq!(told[&ids[2]], "test");
        assert_ne!(told[&ids[0]], told[&ids[1]]);
        assert!(
            told[&ids[0]].starts_with(&format!("prod ({}", &ids[0].to_string()[..8])),
            "{told:?}"
        );
    }
}
