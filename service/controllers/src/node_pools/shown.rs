//! Converts node pools, Machines and quotas to what REST answers: pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use kube::ResourceExt;
use kube::core::DynamicObject;
use muster_api::node_pools::{MachinePlacement, NamespaceQuota, NodePool, ResourceProblem};
use muster_api::search::HostWait;
use muster_api::time::millis;
use muster_cluster_api::capi::wait_of;
use muster_controller::conditions::without_overdue;
use muster_controller::references::{cluster_api_owner, kube_ref};
use muster_controller::times::timestamp;
use muster_controller::waits::{Until, Wait};
use muster_core::record::KubeRef;
use muster_operations::node_pools::{AgentSeen, MachineSeen};
use muster_resources::hypershift::{self, NODE_POOL};
use muster_resources::{
    AgentMachine, AgentMachineStatus, AgentQuota, LabelSelector, NamespacedReference, QuotaConsumer,
    StandardCondition,
};
use serde_json::Value;

/// The reason of Agents that `status.candidates` leaves out, where their reasons are not counted: the status is of an earlier version.
const NOT_LISTED: &str = "NotListed";

/// Conditions of a NodePool that should be true.
const GOOD: [&str; 8] = [
    "Ready",
    "AllMachinesReady",
    "AllNodesHealthy",
    "ReconciliationActive",
    "ValidReleaseImage",
    "ValidPlatformImage",
    "ValidMachineConfig",
    "ReachedIgnitionEndpoint",
];

/// Conditions of a NodePool that are true while something goes on.
const UNDER_WAY: [&str; 2] = ["UpdatingConfig", "UpdatingVersion"];

/// Conditions of a HostedCluster that should be true.
const GOOD_OF_CLUSTER: [&str; 8] = [
    "Available",
    "ValidConfiguration",
    "ReconciliationActive",
    "SupportedHostedCluster",
    "InfrastructureReady",
    "EtcdAvailable",
    "KubeAPIServerAvailable",
    "IgnitionEndpointAvailable",
];

/// Conditions of a HostedCluster that should be false.
const BAD_OF_CLUSTER: [&str; 2] = ["Degraded", "Progressing"];

/// Reasons that are worth a look, whatever the status of their condition is.
const NOTABLE: [&str; 3] = ["ValidationFailed", "TooManyUnhealthy", "InplaceUpgradeFailed"];

/// Conditions of a Machine that its AgentMachine does not have, and that should be true.
const OF_MACHINE: [&str; 2] = ["BootstrapConfigReady", "HealthCheckSucceeded"];

/// Conditions of AgentMachines and AgentQuotas that are there only while something is wrong or under way.
const BAD_WHILE_TRUE: [&str; 6] = [
    "Deleting",
    "Paused",
    "Stalled",
    "Duplicate",
    "Overcommitted",
    "AboveLimit",
];

pub fn node_pool(pool: &hypershift::NodePool) -> NodePool {
    let (spec, name) = (&pool.spec, kube_ref(pool));
    let status = pool.status.clone().unwrap_or_default();
    let scaling = spec.auto_scaling.as_ref();
    let least = scaling.map_or(spec.replicas.unwrap_or_default(), |scaling| scaling.min);
    let selector = spec.platform.agent.as_ref();
    let selector = selector.and_then(|agent| agent.agent_label_selector.as_ref());
    let control_plane = QuotaConsumer {
        namespace: None,
        hosted_cluster: Some(NamespacedReference {
            namespace: name.namespace.clone(),
            name: spec.cluster_name.clone(),
        }),
    };
    let problems = status.conditions.iter().filter(|one| {
        let type_ = one.type_.as_str();
        (GOOD.contains(&type_) && one.status != "True")
            || (UNDER_WAY.contains(&type_) && one.status == "True")
            || NOTABLE.contains(&one.reason.as_str())
    });
    NodePool {
        cluster: spec.cluster_name.clone(),
        cluster_id: None,
        machines_namespace: control_plane.machines_namespace(),
        wanted: least.into(),
        most: scaling.map(|scaling| scaling.max.into()),
        there: status.replicas.into(),
        version: status.version.clone().unwrap_or_default(),
        selector: selector.map(selector_text).unwrap_or_default(),
        problems: problems.map(problem).collect(),
        namespace: name.namespace,
        name: name.name,
    }
}

/// The conditions of a HostedCluster that are not as they should be.
pub fn cluster_problems(cluster: &hypershift::HostedCluster) -> Vec<ResourceProblem> {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    let open = conditions.filter(|one| {
        let type_ = one.type_.as_str();
        (GOOD_OF_CLUSTER.contains(&type_) && one.status != "True")
            || (BAD_OF_CLUSTER.contains(&type_) && one.status == "True")
    });
    open.map(problem).collect()
}

/// `key=value, key2 In (a, b)`, as kubectl writes selectors.
fn selector_text(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|one| {
        let values = one.values.clone().unwrap_or_default();
        match values.is_empty() {
            true => format!("{} {}", one.key, one.operator),
            false => format!("{} {} ({})", one.key, one.operator, values.join(", ")),
        }
    });
    labels.chain(expressions).collect::<Vec<_>>().join(", ")
}

pub fn machine(object: &AgentMachine) -> MachineSeen {
    let name = kube_ref(object);
    let status = object.status.clone().unwrap_or_default();
    let wait = wait_of(&status);
    let awaited = wait.as_ref().map(|wait| wait.what.clone()).unwrap_or_default();
    let problems = status.conditions.iter().filter(|one| {
        let is_bad = match BAD_WHILE_TRUE.contains(&one.type_.as_str()) {
            true => one.status == "True",
            false => one.status != "True" && one.type_ != "Ready" && one.reason != "AgentNotYetFound",
        };
        // The wait has the same text.
        is_bad && (one.message.is_empty() || !awaited.contains(without_overdue(&one.message)))
    });
    let owner = cluster_api_owner(object, "Machine");
    MachineSeen {
        placement: MachinePlacement {
            machine: owner.map(|owner| owner.name.clone()).unwrap_or_default(),
            node_pool: object.annotations().get(NODE_POOL).cloned().unwrap_or_default(),
            ready: status.ready,
            deleting: object.metadata.deletion_timestamp.is_some(),
            problems: problems.map(problem).collect(),
            wait: wait.map(host_wait),
            namespace: name.namespace,
            name: name.name,
            ..MachinePlacement::default()
        },
        agent: status
            .agent_ref
            .as_ref()
            .map(|agent| KubeRef::new(&agent.namespace, &agent.name)),
        reasons: reasons(&status),
        named: status
            .candidates
            .iter()
            .map(|one| AgentSeen {
                agent: KubeRef::new(&one.namespace, &one.name),
                reason: one.reason.clone(),
                message: one.message.clone(),
            })
            .collect(),
    }
}

/// The number of Agents that were not taken, by reason.
fn reasons(status: &AgentMachineStatus) -> Vec<(String, usize)> {
    let size = |number: i64| usize::try_from(number).unwrap_or_default();
    if !status.candidate_reasons.is_empty() {
        let counts = status.candidate_reasons.iter();
        return counts.map(|one| (one.reason.clone(), size(one.agents))).collect();
    }
    let mut counts = BTreeMap::<String, usize>::new();
    for one in &status.candidates {
        *counts.entry(one.reason.clone()).or_default() += 1;
    }
    if let Some(omitted) = status.candidates_omitted.filter(|omitted| *omitted > 0) {
        counts.insert(NOT_LISTED.to_owned(), size(omitted));
    }
    counts.into_iter().collect()
}

/// Adds what Machines alone have: those that have no AgentMachine yet, and their own conditions.
pub fn add_machines(seen: &mut Vec<MachineSeen>, machines: &HashMap<String, DynamicObject>) {
    for one in &mut *seen {
        if let Some(machine) = machines.get(&one.placement.machine) {
            one.placement.problems.extend(problems_of(machine));
        }
    }
    let provided: HashSet<String> = seen.iter().map(|one| one.placement.machine.clone()).collect();
    let others = machines.iter().filter(|(name, _)| !provided.contains(*name));
    seen.extend(others.map(|(name, machine)| MachineSeen {
        placement: MachinePlacement {
            namespace: machine.namespace().unwrap_or_default(),
            name: name.clone(),
            machine: name.clone(),
            node_pool: machine.annotations().get(NODE_POOL).cloned().unwrap_or_default(),
            deleting: machine.metadata.deletion_timestamp.is_some(),
            problems: problems_of(machine),
            ..MachinePlacement::default()
        },
        ..MachineSeen::default()
    }));
}

fn problems_of(machine: &DynamicObject) -> Vec<ResourceProblem> {
    let conditions = machine
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let conditions = conditions.into_iter().flatten();
    // In another version of the kind they have other members.
    let conditions =
        conditions.filter_map(|one| serde_json::from_value::<StandardCondition>(one.clone()).ok());
    let open = conditions.filter(|one| OF_MACHINE.contains(&one.type_.as_str()) && one.status == "False");
    open.map(|one| problem(&one)).collect()
}

pub fn quota(quota: &AgentQuota) -> NamespaceQuota {
    let name = kube_ref(quota);
    let status = quota.status.clone().unwrap_or_default();
    let problems =
        status
            .conditions
            .iter()
            .filter(|one| match BAD_WHILE_TRUE.contains(&one.type_.as_str()) {
                true => one.status == "True",
                false => one.status != "True",
            });
    NamespaceQuota {
        namespace: name.namespace,
        name: name.name,
        consumer: quota.spec.consumer.machines_namespace(),
        limit: quota.spec.limit,
        reserved: quota.spec.reserved.unwrap_or_default(),
        used: status.used.unwrap_or_default(),
        held: status.held.unwrap_or_default(),
        waiting: status.waiting.unwrap_or_default(),
        problems: problems.map(problem).collect(),
    }
}

fn problem(condition: &StandardCondition) -> ResourceProblem {
    ResourceProblem {
        condition: condition.type_.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since: millis(timestamp(&condition.last_transition_time)),
    }
}

fn host_wait(wait: Wait) -> HostWait {
    let (until, then) = match wait.until {
        None => (None, ""),
        Some(Until::GivenUp(until, then)) => (Some(until), then),
        Some(Until::Due(until)) => (Some(until), "it is overdue, and goes on"),
    };
    HostWait {
        what: wait.what,
        since: millis(Some(wait.since)),
        until: until.map(|until| millis(Some(until))),
        then: then.to_owned(),
        what_to_do: wait.todo.trim_end_matches('.').to_owned(),
    }
}

#[cfg(test)]
mod tests;
