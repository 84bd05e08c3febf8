//! Machines with their hosts, and with the reasons against others as steps and as queries of hosts.

use std::collections::{HashMap, HashSet};

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::node_pools::{CandidateStep, MachinePlacement, NamedCandidate, PlacedHost};
use muster_core::query::HostSummary;
use muster_core::record::KubeRef;
use muster_core::rules::placement::funnel;

use super::reader::MachineSeen;
use crate::{Operations, Result};

impl Operations {
    /// Machines with their hosts, and with the reasons against others.
    pub(super) async fn placed(&self, machines: Vec<MachineSeen>) -> Result<Vec<MachinePlacement>> {
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

/// Most hosts of a Machine that are named.
const MOST_SHOWN: usize = 20;

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

    fn placed(&self, mut seen: MachineSeen) -> MachinePlacement {
        // Other clients write statuses, too: lists and numbers can be of any length.
        seen.named.truncate(MOST_SHOWN);
        let taken = usize::from(seen.agent.is_some());
        let considered = seen
            .reasons
            .iter()
            .fold(taken, |sum, (_, hosts)| sum.saturating_add(*hosts));
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

    use super::super::reader::AgentSeen;
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

    #[test]
    fn what_a_status_has_beyond_reason_is_bounded() {
        let seen = MachineSeen {
            agent: Some(agent(9)),
            reasons: vec![
                ("TakenBy".to_owned(), usize::MAX),
                ("TooSmall".to_owned(), usize::MAX),
            ],
            named: (0..2000).map(|number| named(number, "TooSmall")).collect(),
            ..MachineSeen::default()
        };
        let known = Known {
            hosts: HashMap::new(),
            namespaces: HashMap::new(),
        };
        let placed = known.placed(seen);
        assert_eq!((placed.considered, placed.named.len()), (usize::MAX, MOST_SHOWN));
        let small = placed
            .candidates
            .iter()
            .find(|step| step.reason == "TooSmall")
            .unwrap();
        assert_eq!(small.listed, MOST_SHOWN);
        assert!(Query::parse(&small.query).is_ok(), "{}", small.query);
    }
}
