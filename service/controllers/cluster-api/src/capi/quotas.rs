//! Holds the AgentQuotas, once they are listed, and turns them into the quotas of placement. Source of the rules: docs/quotas.md.
//!
//! The consumer of a quota is the namespace of AgentMachines, which the API server proves: who may make them there counts for that consumer.
//! For a HostedCluster it is the namespace of its control plane, NAMESPACE-NAME, in which HyperShift alone makes them. The annotation of a Cluster that
//! names a HostedCluster is not read for quotas, since users of a namespace can write it.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::reflector::Store;
use muster_controller::times::timestamp;
use muster_core::rules::placement::{self, Open, Quota};
use muster_resources::AgentQuota;
use tokio::sync::{Notify, watch};

use super::selectors::selector;

/// The AgentQuotas.
#[derive(Debug)]
pub struct Quotas {
    state: watch::Sender<State>,
    order: Notify,
    statuses: Notify,
}

#[derive(Debug, Clone)]
enum State {
    /// It is not known yet whether there are any.
    Unknown,
    /// The API server does not have the kind, or the service may not read it.
    NotApplied,
    Applied(Store<AgentQuota>),
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(State::Unknown),
            order: Notify::new(),
            statuses: Notify::new(),
        }
    }
}

/// The quotas of a namespace.
#[derive(Debug, Default)]
pub struct OfNamespace {
    /// Those that count, the oldest first.
    pub in_force: Vec<Quota>,
    /// For each other one its name, and the name of the one that counts in its place.
    pub duplicates: BTreeMap<String, String>,
    /// Those that cannot be read, with the reason.
    pub invalid: BTreeMap<String, String>,
}

impl Quotas {
    /// Returns when it is known which quotas there are, or that none are applied.
    pub async fn known(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as this value.
        let _ = state.wait_for(|state| !matches!(state, State::Unknown)).await;
    }

    /// No quotas are applied.
    pub fn without(&self) {
        self.state.send_replace(State::NotApplied);
    }

    /// Those of a store are, which lists them all.
    pub fn apply(&self, store: Store<AgentQuota>) {
        self.state.send_replace(State::Applied(store));
        self.reorder();
    }

    /// The quotas of the Agents in `namespace`. `open`: the Agents there that are open to AgentMachines of a namespace.
    pub fn of(&self, namespace: &str, open: impl Fn(&str) -> Open) -> OfNamespace {
        let found = match &*self.state.borrow() {
            State::Applied(store) => store.state_filter(|one| one.namespace().as_deref() == Some(namespace)),
            State::Unknown | State::NotApplied => Vec::new(),
        };
        let (mut all, mut invalid) = (Vec::new(), BTreeMap::new());
        for one in found {
            match read(&one, &open) {
                Ok(quota) => all.push(quota),
                Err(why) => {
                    invalid.insert(one.name_any(), why);
                }
            }
        }
        let (in_force, duplicates) = placement::in_force(all);
        OfNamespace {
            in_force,
            duplicates,
            invalid,
        }
    }

    /// AgentMachines may come first now that did not before: those that wait are reconciled.
    pub fn reorder(&self) {
        self.order.notify_one();
        self.statuses.notify_one();
    }

    /// Statuses of AgentQuotas may differ.
    pub fn recount(&self) {
        self.statuses.notify_one();
    }

    /// Returns after [`Self::reorder`]. For one listener.
    pub async fn reordered(&self) {
        self.order.notified().await;
    }

    /// Returns after [`Self::recount`]. For one listener.
    pub async fn recounted(&self) {
        self.statuses.notified().await;
    }
}

fn read(quota: &AgentQuota, open: &impl Fn(&str) -> Open) -> Result<Quota, String> {
    let spec = &quota.spec;
    let consumer = spec.consumer.machines_namespace();
    if consumer.is_empty() {
        return Err(
            "spec.consumer names neither a namespace nor a HostedCluster; give one of them".to_owned(),
        );
    }
    let number = |number: Option<i64>| number.map(|number| usize::try_from(number).unwrap_or_default());
    let since = quota.creation_timestamp().as_ref().and_then(timestamp);
    Ok(Quota {
        name: quota.name_any(),
        selector: selector(spec.agent_selector.as_ref(), "spec.agentSelector")?,
        open: open(&consumer),
        consumer,
        limit: number(spec.limit),
        reserved: number(spec.reserved).unwrap_or_default(),
        priority: spec.priority.unwrap_or_default(),
        since: since.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use muster_core::record::KubeRef;
    use serde_json::{Value, json};

    use super::*;

    fn store<K>(objects: impl IntoIterator<Item = K>) -> Store<K>
    where
        K: kube::Resource<DynamicType = ()> + Clone + 'static,
    {
        let (store, mut writer) = reflector::store();
        for object in objects {
            writer.apply_watcher_event(&Event::Apply(object));
        }
        store
    }

    fn quota(name: &str, minute: u32, spec: Value) -> AgentQuota {
        serde_json::from_value(json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "AgentQuota", "spec": spec,
            "metadata": {"name": name, "namespace": "hardware", "creationTimestamp": format!("2026-11-22T08:{minute:02}:00Z")},
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn the_oldest_quota_of_a_namespace_counts_and_one_that_cannot_be_read_costs_itself() {
        let open = |consumer: &str| {
            let of_hardware = (consumer == "clusters-east").then(|| KubeRef::new("hardware", "hw"));
            Open::Of(of_hardware.into_iter().collect())
        };
        let quotas = Quotas::default();
        assert!(quotas.of("hardware", open).in_force.is_empty());
        let hosted = json!({"hostedCluster": {"namespace": "clusters", "name": "east"}});
        let unreadable = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
        quotas.apply(store([
            quota(
                "young",
                9,
                json!({"consumer": {"namespace": "clusters-east"}, "limit": 9}),
            ),
            quota(
                "old",
                1,
                json!({"consumer": hosted, "limit": 3, "reserved": 2, "priority": 5}),
            ),
            quota(
                "wrong",
                2,
                json!({"consumer": {"namespace": "b"}, "agentSelector": unreadable}),
            ),
        ]));
        quotas.known().await;
        let found = quotas.of("hardware", open);
        let [old] = found.in_force.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (old.name.as_str(), old.consumer.as_str()),
            ("old", "clusters-east")
        );
        assert_eq!((old.limit, old.reserved, old.priority), (Some(3), 2, 5));
        assert_eq!(old.open, open("clusters-east"));
        assert_eq!(found.duplicates["young"], "old");
        assert!(found.invalid["wrong"].contains("spec.agentSelector"), "{found:?}");
        assert!(quotas.of("elsewhere", open).in_force.is_empty());
    }
}
