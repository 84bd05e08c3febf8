//! Decides which Machines of a NodePool are replaced because their nodes are unhealthy (`spec.management.autoRepair`), like the
//! MachineHealthCheck that HyperShift makes. Source: docs/protocol/capi-agent-provider.md#8.2.
//!
//! Only time that was watched without a break counts: not that before a start of this service, nor any in which it did not look, or the
//! workload cluster did not respond.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use kube::ResourceExt;
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_resources::cluster_api::Machine;
use muster_resources::cluster_api::conversion::seconds_of;
use muster_resources::hypershift::NodePool;

use crate::nodepool::machine::in_place;
use crate::nodepool::machine::status::Reason;

/// Annotations of a NodePool, or else of its HostedCluster. Source: HyperShift, api/hypershift/v1beta1/hostedcluster_types.go.
const TIMEOUT: &str = "hypershift.openshift.io/machine-health-check-timeout";
const STARTUP_TIMEOUT: &str = "hypershift.openshift.io/machine-health-check-node-startup-timeout";
const MOST: &str = "hypershift.openshift.io/machine-health-check-max-unhealthy";

/// Longest time between two looks that counts as watched.
const GAP: TimeDelta = TimeDelta::minutes(3);

/// Longest and shortest time between two looks while a node is unhealthy.
const INTERVAL: Duration = Duration::from_secs(30);
const SHORTEST: Duration = Duration::from_secs(1);

/// The rules of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Time for which a node may be not ready.
    pub timeout: TimeDelta,
    /// Time for which an installed machine may be without a Node.
    pub startup: TimeDelta,
    /// With more unhealthy nodes, none is replaced.
    pub most: Most,
    /// Annotations that cannot be read, whose defaults count.
    pub mistakes: Vec<String>,
}

/// A number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Most {
    Number(usize),
    Percent(usize),
}

impl Most {
    fn of(self, nodes: usize) -> usize {
        match self {
            Self::Number(number) => number,
            Self::Percent(percent) => nodes * percent / 100,
        }
    }
}

/// The rules by the annotations of a NodePool, or else of its HostedCluster.
pub fn rules(pool: &NodePool, hosted: &impl ResourceExt) -> Rules {
    let mut mistakes = Vec::new();
    let given = |key: &str| {
        pool.annotations()
            .get(key)
            .or_else(|| hosted.annotations().get(key))
    };
    let mut time = |key: &str, usual: TimeDelta| {
        let Some(text) = given(key) else { return usual };
        let seconds = seconds_of(text).filter(|seconds| *seconds > 0);
        seconds.and_then(TimeDelta::try_seconds).unwrap_or_else(|| {
            mistakes.push(format!(
                "the annotation {key} is {text:?}; write a time such as 16m"
            ));
            usual
        })
    };
    let timeout = time(TIMEOUT, TimeDelta::minutes(16));
    let startup = time(STARTUP_TIMEOUT, TimeDelta::minutes(20));
    let most = given(MOST).map_or(Most::Number(2), |text| {
        let read = match text.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse::<usize>().ok();
                percent.filter(|percent| *percent <= 100).map(Most::Percent)
            }
            None => text.parse().ok().map(Most::Number),
        };
        read.unwrap_or_else(|| {
            mistakes.push(format!(
                "the annotation {MOST} is {text:?}; write a number, or a percentage such as 40%"
            ));
            Most::Number(2)
        })
    });
    Rules {
        timeout,
        startup,
        most,
        mistakes,
    }
}

/// What is wrong with the node of a Machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Illness {
    /// It is not ready, or its kubelet is silent.
    NotReady,
    /// It has none though its host is installed.
    Missing,
}

/// A Machine as far as repairs are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    Well,
    Ill(Illness),
    /// The workload cluster does not respond.
    Unknown,
    /// Its node is not expected to be ready: it is being installed, upgraded or deleted.
    Busy,
}

/// Reads the conditions of a Machine.
pub fn look(machine: &Machine) -> Look {
    if machine.metadata.deletion_timestamp.is_some() || in_place::upgrade(machine).is_some() {
        return Look::Busy;
    }
    let Some(status) = &machine.status else {
        return Look::Busy;
    };
    let ready = status.conditions.iter().find(|one| one.type_ == "NodeReady");
    let initialization = status.initialization.as_ref();
    let is_installed = initialization.and_then(|it| it.infrastructure_provisioned) == Some(true);
    match ready.map(|ready| ready.reason.parse()) {
        Some(Ok(Reason::NodeReady)) => Look::Well,
        Some(Ok(Reason::NodeNotReady | Reason::NodeReadyUnknown)) => Look::Ill(Illness::NotReady),
        Some(Ok(Reason::NodeDoesNotExist)) if is_installed => Look::Ill(Illness::Missing),
        Some(Ok(Reason::ConnectionDown)) => Look::Unknown,
        _ => Look::Busy,
    }
}

/// True if the Machine was to be replaced before: an interruption may have come before its deletion.
fn is_condemned(machine: &Machine) -> bool {
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|one| one.type_ == "HealthCheckSucceeded")
        .any(|one| one.status == "False")
}

/// An illness that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    illness: Illness,
    since: Timestamp,
    last: Timestamp,
}

/// The illness from now on.
fn watched(before: Option<Watched>, illness: Illness, now: Timestamp) -> Watched {
    let goes_on =
        before.filter(|before| before.illness == illness && now - before.last <= GAP && before.since <= now);
    Watched {
        illness,
        since: goes_on.map_or(now, |before| before.since),
        last: now,
    }
}

/// A Machine to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    pub name: String,
    pub reason: Reason,
    /// For users.
    pub why: String,
}

/// The decision for a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub repair: Vec<Repair>,
    /// The reason for which nothing is repaired though nodes are unhealthy for too long.
    pub held: Option<String>,
    /// Time after which to look again.
    pub again: Option<Duration>,
}

/// Illnesses by the uid of the Machine, of each pool.
#[derive(Default)]
pub struct Ward(Mutex<HashMap<KubeRef, HashMap<String, Watched>>>);

impl Ward {
    /// Notes the Machines of a pool, and decides.
    pub fn look(&self, pool: &KubeRef, machines: &[Machine], rules: &Rules, now: Timestamp) -> Decision {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.remove(pool).unwrap_or_default();
        let mut present = HashMap::new();
        let (mut due, mut nodes, mut is_unknown) = (Vec::new(), 0, false);
        let mut soon = INTERVAL;
        for machine in machines {
            let look = look(machine);
            nodes += usize::from(look != Look::Busy);
            is_unknown |= look == Look::Unknown;
            let (Look::Ill(illness), Some(uid)) = (look, machine.uid()) else {
                continue;
            };
            let ill = watched(before.get(&uid).copied(), illness, now);
            present.insert(uid, ill);
            let limit = match illness {
                Illness::NotReady => rules.timeout,
                Illness::Missing => rules.startup,
            };
            let left = (ill.since + limit - now).to_std().unwrap_or_default();
            if is_condemned(machine) || left.is_zero() {
                due.push(repair(machine, illness, limit));
            } else {
                soon = soon.min(left).max(SHORTEST);
            }
        }
        if is_unknown {
            // Nothing is known about the others for sure, either.
            return Decision {
                again: Some(INTERVAL),
                ..Decision::default()
            };
        }
        let again = (!present.is_empty()).then_some(soon);
        if !present.is_empty() {
            all.insert(pool.clone(), present);
        }
        let most = rules.most.of(nodes);
        if due.len() > most {
            let held = format!(
                "{} of {nodes} nodes are unhealthy, and with more than {most} the fault is taken to be elsewhere: none is replaced",
                due.len()
            );
            return Decision {
                held: Some(held),
                again,
                ..Decision::default()
            };
        }
        Decision {
            repair: due,
            held: None,
            again,
        }
    }

    /// Forgets a pool.
    pub fn forget(&self, pool: &KubeRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(pool);
    }
}

fn repair(machine: &Machine, illness: Illness, limit: TimeDelta) -> Repair {
    let minutes = limit.num_minutes();
    let conditions = machine.status.iter().flat_map(|status| &status.conditions);
    let mut healthy = conditions.filter(|one| one.type_ == "NodeHealthy");
    let what = healthy.next().map_or("", |one| one.message.as_str());
    let (reason, why) = match illness {
        Illness::NotReady => (
            Reason::UnhealthyNode,
            format!("its node was not ready for {minutes} minutes: {what}"),
        ),
        Illness::Missing => (
            Reason::NodeStartupTimeout,
            format!("it had no Node {minutes} minutes after its installation: {what}"),
        ),
    };
    Repair {
        name: machine.name_any(),
        reason,
        why,
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::hypershift::HostedCluster;
    use serde_json::{Value, json};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + 60 * minutes, 0).unwrap()
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({"type": type_, "status": status, "reason": reason, "message": "why", "lastTransitionTime": "2026-11-22T08:00:00Z"})
    }

    fn machine(name: &str, reason: &str) -> Machine {
        let status = if reason == "NodeReady" { "True" } else { "Unknown" };
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": name, "uid": name}, "spec": {},
            "status": {
                "initialization": {"infrastructureProvisioned": true},
                "conditions": [condition("NodeReady", status, reason), condition("NodeHealthy", status, reason)],
            },
        }))
        .unwrap()
    }

    fn pool(annotations: Value) -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": {"name": "p", "namespace": "clusters", "annotations": annotations}, "spec": {},
        }))
        .unwrap()
    }

    fn usual() -> Rules {
        rules(&pool(json!({})), &HostedCluster::default())
    }

    fn name() -> KubeRef {
        KubeRef::new("clusters", "p")
    }

    /// The first minute in which a Machine is to be replaced, looking at these.
    fn first(
        ward: &Ward,
        minutes: impl Iterator<Item = i64>,
        reason: impl Fn(i64) -> &'static str,
    ) -> Option<i64> {
        for minute in minutes {
            let machines = [machine("a", reason(minute)), machine("b", "NodeReady")];
            let decision = ward.look(&name(), &machines, &usual(), at(minute));
            if let [one] = &decision.repair[..] {
                assert_eq!(one.name, "a");
                return Some(minute);
            }
        }
        None
    }

    #[test]
    fn a_node_is_replaced_after_its_time_and_one_that_recovers_begins_again() {
        assert_eq!(first(&Ward::default(), 0..60, |_| "NodeNotReady"), Some(16));
        assert_eq!(first(&Ward::default(), 0..60, |_| "NodeReadyUnknown"), Some(16));
        assert_eq!(first(&Ward::default(), 0..60, |_| "NodeDoesNotExist"), Some(20));
        let recovers = |minute| if minute == 10 { "NodeReady" } else { "NodeNotReady" };
        assert_eq!(first(&Ward::default(), 0..60, recovers), Some(27));
    }

    #[test]
    fn time_in_which_nobody_could_look_does_not_count() {
        let away = |minute| {
            if (5..40).contains(&minute) {
                "ConnectionDown"
            } else {
                "NodeNotReady"
            }
        };
        assert_eq!(first(&Ward::default(), 0..90, away), Some(56));
        let stopped = (0..10).chain(60..90);
        assert_eq!(first(&Ward::default(), stopped, |_| "NodeNotReady"), Some(76));
    }

    #[test]
    fn with_too_many_unhealthy_nodes_none_is_replaced() {
        let ward = Ward::default();
        let ill: Vec<Machine> = ["a", "b", "c"].map(|name| machine(name, "NodeNotReady")).into();
        for minute in 0..30 {
            let decision = ward.look(&name(), &ill, &usual(), at(minute));
            assert_eq!(decision.repair, []);
            assert_eq!(decision.held.is_some(), minute >= 16);
            assert!(decision.again.is_some());
        }
        let two = ward.look(&name(), &ill[..2], &usual(), at(30));
        assert_eq!(two.repair.len(), 2);
        assert!(
            two.repair[0].why.contains("16 minutes: why"),
            "{:?}",
            two.repair[0]
        );
    }

    #[test]
    fn what_is_busy_is_not_ill_and_what_was_condemned_is_replaced_at_once() {
        let mut upgrading = machine("a", "NodeReadyUnknown");
        let text = r#"{"began":"2026-11-22T15:00:00.000Z","dataSecretName":"d","template":"t"}"#;
        let key = muster_resources::names::annotation::IN_PLACE_UPGRADE;
        upgrading.annotations_mut().insert(key.into(), text.into());
        assert_eq!(look(&upgrading), Look::Busy);
        let mut fresh = machine("a", "NodeDoesNotExist");
        fresh.status.as_mut().unwrap().initialization = None;
        assert_eq!(look(&fresh), Look::Busy);
        let mut condemned = machine("a", "NodeNotReady");
        let verdict = condition("HealthCheckSucceeded", "False", "UnhealthyNode");
        let status = condemned.status.as_mut().unwrap();
        status.conditions.push(serde_json::from_value(verdict).unwrap());
        let decision = Ward::default().look(&name(), &[condemned], &usual(), at(0));
        assert_eq!(decision.repair.len(), 1);
    }

    #[test]
    fn annotations_of_the_pool_come_before_those_of_its_cluster() {
        let hosted: HostedCluster = serde_json::from_value(json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
            "metadata": {"name": "h", "annotations": {TIMEOUT: "8m", STARTUP_TIMEOUT: "1h", MOST: "40%"}}, "spec": {},
        }))
        .unwrap();
        let of = rules(&pool(json!({TIMEOUT: "90s"})), &hosted);
        assert_eq!(
            (of.timeout, of.startup),
            (TimeDelta::seconds(90), TimeDelta::hours(1))
        );
        assert_eq!((of.most, of.most.of(5)), (Most::Percent(40), 2));
        let bad = rules(
            &pool(json!({TIMEOUT: "soon", MOST: "-1"})),
            &HostedCluster::default(),
        );
        assert_eq!((bad.timeout, bad.most), (TimeDelta::minutes(16), Most::Number(2)));
        assert_eq!(bad.mistakes.len(), 2);
        assert!(bad.mistakes[0].contains("\"soon\""), "{:?}", bad.mistakes);
    }
}
