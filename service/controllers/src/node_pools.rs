//! Reads node pools and Machines for code that does not depend on Kubernetes: REST shows why a Machine has its host, and no other.

mod shown;

use std::collections::HashMap;
use std::fmt::Debug;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, DynamicObject, NamespaceResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::node_pools::{NamespaceQuota, NodePool, ResourceProblem};
use muster_cluster_api::capi::kinds::Kinds;
use muster_controller::error::{is_forbidden, words};
use muster_controller::namespaces::Namespaces;
use muster_controller::references::cluster_api_owner;
use muster_core::record::KubeRef;
use muster_operations::node_pools::{MOST, MachineSeen, MachinesOf, NodePoolReader, Part};
use muster_resources::cluster_api::names::DEPLOYMENT_NAME;
use muster_resources::hypershift::{self, NODE_POOL};
use muster_resources::{AgentMachine, AgentQuota};
use serde::de::DeserializeOwned;

/// Parts of a namespace, of [`MOST`] objects each, that are looked through for one Machine.
const MOST_PARTS: usize = 20;

/// Reads objects of the watched namespaces.
pub struct NodePoolLooks {
    pub client: Client,
    pub namespaces: Namespaces,
}

impl NodePoolReader for NodePoolLooks {
    fn node_pools<'a>(&'a self, name: Option<&'a KubeRef>) -> BoxFuture<'a, Result<Part<NodePool>, String>> {
        async move {
            let found = match name {
                None => self.list::<hypershift::NodePool>(None, None).await,
                Some(name) => self.one::<hypershift::NodePool>(name).await,
            };
            let found = found.map_err(|error| why("NodePools", &error))?;
            let mut items: Vec<NodePool> = found.items.iter().map(shown::node_pool).collect();
            items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
            Ok(Part {
                items,
                more: found.more,
            })
        }
        .boxed()
    }

    fn cluster_problems<'a>(
        &'a self,
        name: &'a KubeRef,
    ) -> BoxFuture<'a, Result<Vec<ResourceProblem>, String>> {
        async move {
            match self.one::<hypershift::HostedCluster>(name).await {
                Ok(found) => Ok(found.items.iter().flat_map(shown::cluster_problems).collect()),
                Err(error) if is_absent(&error) || is_forbidden(&error) => Ok(Vec::new()),
                Err(error) => Err(why("HostedClusters", &error)),
            }
        }
        .boxed()
    }

    fn machines<'a>(&'a self, of: &'a MachinesOf) -> BoxFuture<'a, Result<Part<MachineSeen>, String>> {
        async move {
            let found = self.agent_machines(of).await;
            let found = found.map_err(|error| why("AgentMachines", &error))?;
            let mut items: Vec<MachineSeen> = found.items.iter().map(shown::machine).collect();
            if let MachinesOf::NodePool { pool, place } = of {
                // Without the right to read Machines, what their AgentMachines show is left.
                let machines = self.machines_of(pool, place).await.unwrap_or_default();
                shown::add_machines(&mut items, &machines);
            }
            items.sort_by(|a, b| {
                let key =
                    |seen: &MachineSeen| (seen.placement.namespace.clone(), seen.placement.name.clone());
                key(a).cmp(&key(b))
            });
            let more = found.more || items.len() > MOST;
            items.truncate(MOST);
            Ok(Part { items, more })
        }
        .boxed()
    }

    fn quotas<'a>(&'a self, machines: &'a str) -> BoxFuture<'a, Result<Vec<NamespaceQuota>, String>> {
        async move {
            match self.list::<AgentQuota>(None, None).await {
                Ok(found) => {
                    let mut quotas: Vec<NamespaceQuota> = found
                        .items
                        .iter()
                        .filter(|quota| quota.spec.consumer.machines_namespace() == machines)
                        .map(shown::quota)
                        .collect();
                    quotas.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
                    Ok(quotas)
                }
                // Then no controller here applies any.
                Err(error) if is_absent(&error) || is_forbidden(&error) => Ok(Vec::new()),
                Err(error) => Err(why("AgentQuotas", &error)),
            }
        }
        .boxed()
    }
}

impl NodePoolLooks {
    /// Objects of a kind; with `namespace` those in it, with `label` those that have it. One that cannot be read counts as absent.
    async fn list<K>(&self, namespace: Option<&str>, label: Option<&str>) -> kube::Result<Part<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let apis: Vec<Api<DeserializeGuard<K>>> = match namespace {
            Some(namespace) if !self.namespaces.contains(namespace) => Vec::new(),
            Some(namespace) => vec![Api::namespaced(self.client.clone(), namespace)],
            None => self.namespaces.apis(&self.client),
        };
        let mut params = ListParams::default().limit(u32::try_from(MOST).unwrap_or(u32::MAX));
        if let Some(label) = label {
            params = params.labels(label);
        }
        let (mut items, mut more) = (Vec::new(), false);
        for api in apis {
            let listed = api.list(&params).await?;
            more |= listed.metadata.continue_.is_some_and(|token| !token.is_empty());
            items.extend(listed.items.into_iter().filter_map(|one| one.0.ok()));
            if items.len() > MOST {
                items.truncate(MOST);
                more = true;
                break;
            }
        }
        Ok(Part { items, more })
    }

    /// The object of that name, if there is one.
    async fn one<K>(&self, name: &KubeRef) -> kube::Result<Part<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        if !self.namespaces.contains(&name.namespace) {
            return Ok(Part {
                items: Vec::new(),
                more: false,
            });
        }
        let api = Api::<K>::namespaced(self.client.clone(), &name.namespace);
        let found = api.get_opt(&name.name).await?;
        Ok(Part {
            items: found.into_iter().collect(),
            more: false,
        })
    }

    async fn agent_machines(&self, of: &MachinesOf) -> kube::Result<Part<AgentMachine>> {
        match of {
            MachinesOf::All => self.list(None, None).await,
            MachinesOf::NodePool { pool, place } => {
                let label = of_pool(pool);
                let mut found = self.list::<AgentMachine>(Some(place), Some(&label)).await?;
                found.items.retain(|machine| may_be_of(pool, machine));
                Ok(found)
            }
            MachinesOf::One(name) => self.machine_of_name(name).await,
        }
    }

    /// The AgentMachines that have this name, or are of the Machine of this name. All of the namespace are looked through: what an API
    /// server selects by is no owner.
    async fn machine_of_name(&self, name: &KubeRef) -> kube::Result<Part<AgentMachine>> {
        let mut found = Part {
            items: Vec::new(),
            more: false,
        };
        if !self.namespaces.contains(&name.namespace) {
            return Ok(found);
        }
        let api: Api<DeserializeGuard<AgentMachine>> = Api::namespaced(self.client.clone(), &name.namespace);
        let mut params = ListParams::default().limit(u32::try_from(MOST).unwrap_or(u32::MAX));
        for _ in 0..MOST_PARTS {
            let listed = api.list(&params).await?;
            let next = listed.metadata.continue_.filter(|token| !token.is_empty());
            let machines = listed.items.into_iter().filter_map(|one| one.0.ok());
            found.items.extend(machines.filter(|machine| {
                let owner = cluster_api_owner(machine, "Machine");
                machine.name_any() == name.name || owner.is_some_and(|owner| owner.name == name.name)
            }));
            match next {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(found),
            }
        }
        found.more = true;
        Ok(found)
    }

    /// The Machines of a node pool by name, in the version that the API server has.
    async fn machines_of(&self, pool: &KubeRef, place: &str) -> kube::Result<HashMap<String, DynamicObject>> {
        if !self.namespaces.contains(place) {
            return Ok(HashMap::new());
        }
        let Some(kinds) = Kinds::served(&self.client).await? else {
            return Ok(HashMap::new());
        };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), place, &kinds.machine);
        let params = ListParams::default()
            .labels(&of_pool(pool))
            .limit(u32::try_from(MOST).unwrap_or(u32::MAX));
        let machines = api.list(&params).await?.items.into_iter();
        let machines = machines.filter(|machine| may_be_of(pool, machine));
        Ok(machines.map(|machine| (machine.name_any(), machine)).collect())
    }
}

/// The label of a node pool's objects.
fn of_pool(pool: &KubeRef) -> String {
    format!("{DEPLOYMENT_NAME}={}", pool.name)
}

/// True unless the object is of another pool with the same name.
fn may_be_of(pool: &KubeRef, object: &impl ResourceExt) -> bool {
    let named = object.annotations().get(NODE_POOL);
    named.is_none_or(|named| *named == pool.to_string())
}

fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// The reason why objects of a kind cannot be read.
fn why(kind: &str, error: &kube::Error) -> String {
    if is_absent(error) {
        return format!(
            "the Kubernetes API has no {kind}: no HyperShift, or no provider of Agents, is installed there"
        );
    }
    if is_forbidden(error) {
        return format!(
            "this service may not read {kind}, which deploy/capi would allow: {}",
            words(error)
        );
    }
    format!("{kind} cannot be read at present: {}", words(error))
}

#[cfg(test)]
mod tests;
