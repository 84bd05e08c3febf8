//! Answers about node pools, Machines and where these are placed. The objects are in a Kubernetes API: a [`NodePoolReader`] reads them, with
//! the controllers' client.

mod reader;

use std::collections::{HashMap, HashSet};

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::node_pools::{
    CandidateStep, Controllers, MachinePlacement, NamedCandidate, NodePool, NodePoolDetails, NodePools,
    PlacedHost, Placements,
};
use muster_core::query::HostSummary;
use muster_core::record::KubeRef;
use muster_core::rules::placement::funnel;

use crate::bridge::BridgeStatus;
use crate::{Operations, Result};
pub use reader::{AgentSeen, MOST, MachineSeen, MachinesOf, NodePoolReader, Part};

impl Operations {
    /// The node pools.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn node_pools(&self) -> Result<NodePools> {
        let (controllers, note) = self.controllers();
        let mut answer = NodePools {
            controllers,
            note,
            ..NodePools::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(answer);
        };
        match reader.node_pools(None).await {
            Ok(part) => {
                answer.node_pools = part.items;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        self.name_clusters(&mut answer.node_pools).await?;
        Ok(answer)
    }

    /// A node pool with its Machines; `None`: there is no such pool.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn node_pool(&self, name: &KubeRef) -> Result<Option<NodePoolDetails>> {
        let (controllers, note) = self.controllers();
        let mut answer = NodePoolDetails {
            controllers,
            note,
            ..NodePoolDetails::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(Some(answer));
        };
        let mut pools = match reader.node_pools(Some(name)).await {
            Ok(part) => part.items,
            Err(why) => {
                answer.note = why;
                return Ok(Some(answer));
            }
        };
        self.name_clusters(&mut pools).await?;
        let Some(pool) = pools.pop() else {
            return Ok(None);
        };
        let of = MachinesOf::NodePool {
            pool: name.clone(),
            place: pool.machines_namespace.clone(),
        };
        match reader.machines(&of).await {
            Ok(part) => {
                answer.machines = self.placed(part.items).await?;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        // What is missing first is named first.
        let mut missing = |why: String| {
            if answer.note.is_empty() {
                answer.note = why;
            }
        };
        let cluster = KubeRef::new(pool.namespace.clone(), pool.cluster.clone());
        match reader.cluster_problems(&cluster).await {
            Ok(problems) => answer.cluster_problems = problems,
            Err(why) => missing(why),
        }
        match reader.quotas(&pool.machines_namespace).await {
            Ok(quotas) => answer.quotas = quotas,
            Err(why) => missing(why),
        }
        answer.node_pool = Some(pool);
        Ok(Some(answer))
    }

    /// The places of Machines; with `machine` that Machine alone.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn placements(&self, machine: Option<KubeRef>) -> Result<Placements> {
        let (controllers, note) = self.controllers();
        let mut answer = Placements {
            controllers,
            note,
            ..Placements::default()
        };
        let Some(reader) = self.bridge.node_pools() else {
            return Ok(answer);
        };
        let of = machine.map_or(MachinesOf::All, MachinesOf::One);
        match reader.machines(&of).await {
            Ok(part) => {
                answer.placements = self.placed(part.items).await?;
                answer.more = part.more;
            }
            Err(why) => answer.note = why,
        }
        Ok(answer)
    }

    /// The place of the controllers, and the reason why what they read is missing; empty: it is not.
    fn controllers(&self) -> (Controllers, String) {
        let status = self.bridge.status();
        let is_readable = self.bridge.node_pools().is_some();
        match status {
            BridgeStatus::Off => (
                Controllers::Off,
                "this service has no Kubernetes API (--kube-api off), so it has no node pools and takes no hosts for Machines".to_owned(),
            ),
            BridgeStatus::Elsewhere => (
                Controllers::Elsewhere,
                "this replica has no access to the Kubernetes API (--kube-api elsewhere): send the request to one that has".to_owned(),
            ),
            BridgeStatus::Following(_) if is_readable => (Controllers::Elsewhere, String::new()),
            BridgeStatus::Following(_) => (
                Controllers::Elsewhere,
                "this replica does not read node pools yet; try again in a few seconds".to_owned(),
            ),
            BridgeStatus::Leading | BridgeStatus::LeadingBut(_) if is_readable => {
                (Controllers::Here, String::new())
            }
            BridgeStatus::Leading
            | BridgeStatus::LeadingBut(_)
            | BridgeStatus::Starting
            | BridgeStatus::LacksKinds(_)
            | BridgeStatus::Waiting(_)
            | BridgeStatus::Unreachable { .. } => (
                Controllers::Here,
                format!("the controllers do not work at present: {status}"),
            ),
        }
    }

    /// Sets the clusters of node pools: that of a HostedCluster has its name, in the namespace of its control plane.
    async fn name_clusters(&self, pools: &mut [NodePool]) -> Result<()> {
        if pools.is_empty() {
            return Ok(());
        }
        let stored = self.clusters.list(false).await?;
        let resources = stored.iter().filter_map(|stored| {
            let cluster = &stored.cluster;
            Some((cluster.kube.clone()?, cluster.id))
        });
        let by_name: HashMap<KubeRef, ClusterId> = resources.collect();
        for pool in pools {
            let name = KubeRef::new(pool.machines_namespace.clone(), pool.cluster.clone());
            pool.cluster_id = by_name.get(&name).copied();
        }
        Ok(())
    }

    /// Machines with their hosts, and with the reasons against others.
    async fn placed(&self, machines: Vec<MachineSeen>) -> Result<Vec<MachinePlacement>> {
        let agents = machines.iter().flat_map(|seen| {
            let named = seen.named.iter().map(|named| &named.agent);
            named.chain(&seen.agent)
        });
        let ids: HashSet<HostId> = agents.filter_map(host_id).collect();
        let found = match ids.is_empty() {
            true => Vec::new(),
            false => self.host_index.of_ids(ids).await?,
        };
        let mut hosts: HashMap<HostId, Vec<HostSummary>> = HashMap::new();
        for host in found {
            hosts.entry(host.id).or_default().push(host);
        }
        let infra_envs = self.infra_envs.list(None).await?;
        let namespaces = infra_envs.into_iter().filter_map(|infra_env| {
            let namespace = infra_env.kube?.namespace;
            Some((infra_env.id, namespace))
        });
        let known = Known {
            hosts,
            namespaces: namespaces.collect(),
        };
        Ok(machines.into_iter().map(|seen| known.placed(seen)).collect())
    }
}

/// The id of the host of an Agent: its name.
fn host_id(agent: &KubeRef) -> Option<HostId> {
    agent.name.parse().ok()
}

/// Most InfraEnvs that a query names, which is below the length that queries may have.
const MOST_NAMED: usize = 100;

/// The hosts of Agents.
struct Known {
    /// By id, which several InfraEnvs may have.
    hosts: HashMap<HostId, Vec<HostSummary>>,
    /// Of the custom resources of InfraEnvs.
    namespaces: HashMap<InfraEnvId, String>,
}

impl Known {
    fn host(&self, agent: &KubeRef) -> Option<&HostSummary> {
        let of_id = self.hosts.get(&host_id(agent)?)?;
        let is_there =
            |host: &&HostSummary| self.namespaces.get(&host.infra_env_id) == Some(&agent.namespace);
        of_id.iter().find(is_there)
    }

    /// A query for the hosts of a namespace that also fit `query`; of all namespaces where this one has too many InfraEnvs for a query.
    fn in_namespace(&self, namespace: &str, query: &str) -> String {
        let of_it = self.namespaces.iter().filter(|(_, name)| *name == namespace);
        let mut ids: Vec<String> = of_it.map(|(id, _)| id.to_string()).collect();
        ids.sort();
        match ids.len() {
            1..=MOST_NAMED => format!("pool:{} {query}", ids.join(",")),
            _ => query.to_owned(),
        }
    }

    fn placed(&self, seen: MachineSeen) -> MachinePlacement {
        let not_taken: usize = seen.reasons.iter().map(|(_, hosts)| hosts).sum();
        let considered = not_taken + usize::from(seen.agent.is_some());
        let reasons = seen
            .reasons
            .iter()
            .map(|(reason, hosts)| (reason.as_str(), *hosts));
        // All Agents that are considered are in one namespace.
        let first = seen
            .named
            .first()
            .map(|named| &named.agent)
            .or(seen.agent.as_ref());
        let namespace = first.map(|agent| agent.namespace.clone()).unwrap_or_default();
        let steps = funnel(considered, reasons).into_iter().map(|step| {
            let of_reason = seen.named.iter().filter(|named| named.reason == step.reason);
            let ids: Vec<String> = of_reason
                .filter_map(|named| host_id(&named.agent))
                .map(|id| id.to_string())
                .collect();
            let is_by_reason = ids.len() < step.hosts && !step.query.is_empty();
            let (query, listed) = match (is_by_reason, ids.is_empty()) {
                (true, _) => (self.in_namespace(&namespace, step.query), 0),
                (false, true) => (String::new(), 0),
                (false, false) => (format!("id:{}", ids.join(",")), ids.len()),
            };
            CandidateStep {
                reason: step.reason,
                what: step.what.to_owned(),
                hosts: step.hosts,
                left: step.left,
                query,
                listed,
            }
        });
        let named = seen.named.iter().map(|named| {
            let host = self.host(&named.agent);
            NamedCandidate {
                host_id: host.map(|host| host.id),
                infra_env_id: host.map(|host| host.infra_env_id),
                name: host.map_or_else(|| named.agent.to_string(), |host| host.name.clone()),
                reason: named.reason.clone(),
                message: named.message.clone(),
            }
        });
        let host = seen.agent.as_ref().and_then(|agent| self.host(agent));
        MachinePlacement {
            agent: seen.agent.as_ref().map(KubeRef::to_string).unwrap_or_default(),
            host: host.map(|host| PlacedHost {
                id: host.id,
                infra_env_id: host.infra_env_id,
                name: host.name.clone(),
                status: host.status,
                stage: host.stage,
                percentage: host.percentage,
                sleep: host.sleep.word().to_owned(),
            }),
            considered,
            candidates: steps.collect(),
            named: named.collect(),
            ..seen.placement
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_core::query::Query;

    use super::*;

    fn agent(number: u32) -> KubeRef {
        KubeRef::new("lab", format!("00000000-0000-0000-0000-{number:012}"))
    }

    fn named(number: u32, reason: &str) -> AgentSeen {
        AgentSeen {
            agent: agent(number),
            reason: reason.to_owned(),
            message: format!("why {number}"),
        }
    }

    #[test]
    fn the_funnel_has_the_numbers_of_the_status_and_queries_of_the_named_hosts() {
        let seen = MachineSeen {
            agent: Some(agent(9)),
            reasons: [("NotApproved", 3), ("TakenBy", 2), ("TooSmall", 1)]
                .map(|(reason, hosts)| (reason.to_owned(), hosts))
                .into(),
            named: vec![
                named(1, "NotApproved"),
                named(2, "NotApproved"),
                named(3, "TooSmall"),
                named(4, "TakenBy"),
                named(5, "TakenBy"),
            ],
            ..MachineSeen::default()
        };
        let pool = InfraEnvId::random();
        let known = Known {
            hosts: HashMap::new(),
            namespaces: HashMap::from([
                (pool, "lab".to_owned()),
                (InfraEnvId::random(), "other".to_owned()),
            ]),
        };
        let placed = known.placed(seen);
        assert_eq!(placed.considered, 7);
        let steps: Vec<(&str, usize, usize, usize)> = placed
            .candidates
            .iter()
            .map(|step| (step.reason.as_str(), step.hosts, step.left, step.listed))
            .collect();
        let expected = [
            ("TakenBy", 2, 5, 2),
            ("TooSmall", 1, 4, 1),
            ("NotApproved", 3, 1, 0),
        ];
        assert_eq!(steps, expected);
        // Not all that are not approved are named.
        let queries = [
            format!("id:{},{}", agent(4).name, agent(5).name),
            format!("id:{}", agent(3).name),
            format!("pool:{pool} approved:no"),
        ];
        for (step, query) in placed.candidates.iter().zip(queries) {
            assert_eq!(step.query, query);
            assert!(Query::parse(&step.query).is_ok(), "{query}");
        }
        let first = &placed.named[0];
        assert_eq!(
            (first.name.clone(), first.host_id, first.message.as_str()),
            (agent(1).to_string(), None, "why 1")
        );
        assert_eq!(placed.agent, agent(9).to_string());
    }
}
