//! Reads all hosts of a service, each with its InfraEnv and its inventory.

use anyhow::Result;
use muster_api::host::Host;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::Inventory;

use super::client::Client;
use super::failure::{Kind, failure_in};

/// A host and where it is.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its InfraEnv.
    pub pool: InfraEnv,
    /// Itself.
    pub host: Host,
    /// What it reported, once it has.
    pub inventory: Option<Inventory>,
}

impl Member {
    /// Its name: as requested, or as it calls itself. Until it is known that is its id.
    pub fn name(&self) -> String {
        let called = self
            .inventory
            .as_ref()
            .map(|inventory| inventory.hostname.as_str());
        let names = [Some(self.host.requested_hostname.as_str()), called];
        let id = self.host.id.to_string();
        let known = names
            .into_iter()
            .flatten()
            .find(|name| !name.is_empty() && *name != id);
        known.map_or(id.clone(), str::to_owned)
    }

    /// The path of its operations.
    pub fn path(&self) -> String {
        format!("/infra-envs/{}/hosts/{}", self.pool.id, self.host.id)
    }
}

/// The hosts of `only`, or all.
pub async fn members(client: &Client, only: Option<InfraEnvId>) -> Result<Vec<Member>> {
    let mut all = Vec::new();
    for pool in client.get::<Vec<InfraEnv>>("/infra-envs").await? {
        if only.is_some_and(|id| id != pool.id) {
            continue;
        }
        let hosts: Result<Vec<Host>> = client.get(&format!("/infra-envs/{}/hosts", pool.id)).await;
        let hosts = match hosts {
            // It was deleted since.
            Err(error) if failure_in(&error).is_some_and(|failure| failure.kind == Kind::NotFound) => {
                continue;
            }
            hosts => hosts?,
        };
        all.extend(hosts.into_iter().map(|host| Member {
            pool: pool.clone(),
            inventory: serde_json::from_str(&host.inventory).ok(),
            host,
        }));
    }
    Ok(all)
}
