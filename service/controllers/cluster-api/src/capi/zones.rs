//! Derives the failure domains of clusters from the zones of Agents. Source: docs/protocol/capi-day1.md, section 1.
//!
//! The zones of those Agents count that a cluster's Machines may have: approved ones, of its namespace or given to it, that belong to no other
//! cluster. Momentary states of hosts do not count, so that the list changes seldom: a control-plane provider replaces first what is in no domain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Store;
use muster_controller::references::kube_ref;
use muster_core::record::KubeRef;
use muster_core::rules::placement::Candidate;
use muster_resources::names::annotation;
use muster_resources::{FailureDomain, InfraEnv};
use tokio::sync::Notify;

use super::agents::AgentView;

/// Most failure domains of a cluster, a limit of Cluster API.
const MOST: usize = 100;

/// The InfraEnvs in `namespace` that give their hosts to AgentMachines of the namespace `machines`.
pub fn open_to(
    infra_envs: &Store<PartialObjectMeta<InfraEnv>>,
    machines: &str,
    namespace: &str,
) -> BTreeSet<KubeRef> {
    let open = infra_envs.state_filter(|infra_env| {
        infra_env.namespace().as_deref() == Some(namespace) && is_open_to(infra_env, machines)
    });
    open.iter().map(|infra_env| kube_ref(&**infra_env)).collect()
}

/// True when the object's annotation names the namespace.
fn is_open_to(infra_env: &impl ResourceExt, namespace: &str) -> bool {
    let given = infra_env.annotations().get(annotation::INFRA_ENV_OPEN_TO);
    given.is_some_and(|given| given.split(',').any(|one| one.trim() == namespace))
}

/// The zones of all Agents, and a signal for their changes.
pub struct Zones {
    agents: Store<AgentView>,
    infra_envs: Store<PartialObjectMeta<InfraEnv>>,
    are_agents_listed: AtomicBool,
    are_infra_envs_listed: AtomicBool,
    changed: Notify,
}

/// The cluster that failure domains are for.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Namespace of its AgentMachines.
    pub machines: &'a str,
    /// Namespace of the Agents that they take.
    pub agents: &'a str,
    /// The ClusterDeployment that the Agents are bound to; `None`: it does not exist yet.
    pub deployment: Option<&'a KubeRef>,
}

impl Zones {
    pub fn new(agents: Store<AgentView>, infra_envs: Store<PartialObjectMeta<InfraEnv>>) -> Self {
        Self {
            agents,
            infra_envs,
            are_agents_listed: AtomicBool::new(false),
            are_infra_envs_listed: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// Signals a change if an Agent's zone, or what it depends on, differs. `None`: the Agent does not exist.
    pub fn note(&self, before: Option<&AgentView>, after: Option<&AgentView>) {
        let [before, after] = [before, after].map(|agent| Part::of(&agent?.candidate));
        if before != after {
            self.changed.notify_one();
        }
    }

    pub fn agents_listed(&self) {
        self.are_agents_listed.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    pub fn infra_envs_listed(&self) {
        self.are_infra_envs_listed.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Signals that InfraEnvs give their hosts to other namespaces.
    pub fn infra_envs_changed(&self) {
        self.changed.notify_one();
    }

    /// Returns when something has changed since the last return. For one listener.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The failure domains for `place`, in the order of their names; `None`: they are not known yet.
    pub fn domains(&self, place: Place<'_>) -> Option<Vec<FailureDomain>> {
        let is_listed = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        if !is_listed(&self.are_agents_listed) || !is_listed(&self.are_infra_envs_listed) {
            return None;
        }
        let open = open_to(&self.infra_envs, place.machines, place.agents);
        let agents = self.agents.state();
        let candidates = agents.iter().map(|agent| &agent.candidate);
        Some(domains(place, &open, candidates))
    }
}

/// The part of an Agent that failure domains depend on. `None`: it has no zone.
#[derive(PartialEq)]
struct Part<'a> {
    zone: &'a str,
    infra_env: Option<&'a KubeRef>,
    cluster: Option<&'a KubeRef>,
    may_be_taken: bool,
}

impl<'a> Part<'a> {
    fn of(agent: &'a Candidate) -> Option<Self> {
        Some(Self {
            zone: agent.zone()?,
            infra_env: agent.infra_env.as_ref(),
            cluster: agent.cluster.as_ref(),
            may_be_taken: agent.is_approved && !agent.is_leaving,
        })
    }
}

fn domains<'a>(
    place: Place<'_>,
    open: &BTreeSet<KubeRef>,
    agents: impl Iterator<Item = &'a Candidate>,
) -> Vec<FailureDomain> {
    let may_have = |agent: &Candidate, part: &Part<'_>| {
        agent.host.namespace == place.agents
            && (place.agents == place.machines || part.infra_env.is_some_and(|it| open.contains(it)))
            && part.may_be_taken
            && (part.cluster.is_none() || part.cluster == place.deployment)
    };
    let zones: BTreeSet<&str> = agents
        .filter_map(|agent| {
            let part = Part::of(agent)?;
            may_have(agent, &part).then_some(part.zone)
        })
        .collect();
    let domain = |name: &str| FailureDomain {
        name: name.to_owned(),
        control_plane: Some(true),
        attributes: BTreeMap::new(),
    };
    zones.into_iter().take(MOST).map(domain).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn agent(zone: &str, changed: &Value) -> AgentView {
        let mut agent = json!({
            "metadata": {
                "name": format!("agent-{zone}"), "namespace": "hardware", "labels": {
                    "infraenvs.agent-install.openshift.io": "hw", "topology.kubernetes.io/zone": zone,
                },
            },
            "spec": {"approved": true, "role": ""},
        });
        for (pointer, value) in changed.as_object().unwrap() {
            let (parent, member) = pointer.rsplit_once('/').unwrap();
            agent.pointer_mut(parent).unwrap()[member] = value.clone();
        }
        serde_json::from_value(agent).unwrap()
    }

    fn names(agents: &[AgentView], place: Place<'_>, open: &BTreeSet<KubeRef>) -> Vec<String> {
        let found = domains(place, open, agents.iter().map(|agent| &agent.candidate));
        assert!(found.iter().all(|domain| domain.control_plane == Some(true)));
        found.into_iter().map(|domain| domain.name).collect()
    }

    #[test]
    fn zones_of_agents_that_machines_may_have_are_the_failure_domains() {
        let own = KubeRef::new("hardware", "one");
        let cluster =
            |name: &str| json!({"/spec/clusterDeploymentName": {"name": name, "namespace": "hardware"}});
        let agents = [
            agent("west", &json!({})),
            agent("east", &cluster("one")),
            agent("west", &json!({"/spec/approved": false})),
            agent("north", &cluster("two")),
            agent("south", &json!({"/spec/approved": false})),
            agent("", &json!({})),
            agent(
                "leaving",
                &json!({"/metadata/deletionTimestamp": "2026-11-22T08:00:00Z"}),
            ),
            agent("elsewhere", &json!({"/metadata/namespace": "others"})),
        ];
        let place = Place {
            machines: "hardware",
            agents: "hardware",
            deployment: Some(&own),
        };
        let nothing = BTreeSet::new();
        assert_eq!(names(&agents, place, &nothing), ["east", "west"]);
        // Of another namespace, only those that are given.
        let guest = Place {
            machines: "clusters",
            deployment: None,
            ..place
        };
        assert!(names(&agents, guest, &nothing).is_empty());
        let open = BTreeSet::from([KubeRef::new("hardware", "hw")]);
        assert_eq!(names(&agents, guest, &open), ["west"]);
        let many: Vec<_> = (0..150).map(|n| agent(&format!("z{n:03}"), &json!({}))).collect();
        let names = names(&many, place, &nothing);
        assert_eq!(
            (names.len(), names.last().map(String::as_str)),
            (100, Some("z099"))
        );
    }

    #[test]
    fn what_no_failure_domain_depends_on_is_no_change() {
        let part = |agent: &AgentView| Part::of(&agent.candidate).is_some();
        let differs =
            |before: &AgentView, after: &AgentView| Part::of(&before.candidate) != Part::of(&after.candidate);
        let east = agent("east", &json!({}));
        let busy = agent(
            "east",
            &json!({"/spec/hostname": "a", "/metadata/resourceVersion": "9"}),
        );
        assert!(!differs(&east, &busy) && part(&east));
        assert!(differs(&east, &agent("east", &json!({"/spec/approved": false}))));
        assert!(differs(&east, &agent("west", &json!({}))));
        let (plain, silent) = (
            agent("", &json!({})),
            agent("", &json!({"/spec/approved": false})),
        );
        assert!(!differs(&plain, &silent));
    }
}
