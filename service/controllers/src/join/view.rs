//! The Nodes and certificate requests of one cluster, as last seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use muster_api::time::Timestamp;
use muster_workload::node::{self, NodeFacts};

use super::csr::{self, Csr};
use super::own_names::OwnNames;

/// The watched objects, by name.
#[derive(Debug, Default)]
pub struct View {
    /// Names and addresses of the cluster itself.
    pub own: OwnNames,
    nodes: Listed<NodeFacts>,
    csrs: Listed<Csr>,
}

impl View {
    /// Returns an empty view of the cluster with these names.
    pub fn of(own: OwnNames) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Stores an event. True when something relevant changed.
    pub fn note_node(&mut self, event: Event<Node>) -> bool {
        self.nodes.note(event, |node| Some(node::read(node)))
    }

    /// Stores an event. True when something relevant changed.
    pub fn note_csr(&mut self, event: Event<CertificateSigningRequest>) -> bool {
        self.csrs.note(event, csr::read)
    }

    /// True when both kinds were listed, so that an object that is not here does not exist.
    pub fn is_complete(&self) -> bool {
        self.nodes.is_complete && self.csrs.is_complete
    }

    pub fn nodes(&self) -> impl Iterator<Item = &NodeFacts> + Clone {
        self.nodes.known.values()
    }

    pub fn csrs(&self) -> impl Iterator<Item = &Csr> {
        self.csrs.known.values()
    }

    /// Addresses of all living nodes but the one called `name`.
    pub fn addresses_of_others(&self, name: &str, now: Timestamp) -> BTreeSet<IpAddr> {
        let others = self.nodes().filter(|node| node.name != name && node.lives(now));
        others.flat_map(|node| node.addresses.iter().copied()).collect()
    }
}

/// Objects of one kind by name. While they are listed again, the former ones stay.
#[derive(Debug)]
struct Listed<T> {
    known: BTreeMap<String, T>,
    coming: HashMap<String, T>,
    is_complete: bool,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            coming: HashMap::new(),
            is_complete: false,
        }
    }
}

impl<T: PartialEq> Listed<T> {
    fn note<K: ResourceExt>(&mut self, event: Event<K>, read: impl Fn(&K) -> Option<T>) -> bool
    where
        String: Hash,
    {
        match event {
            Event::Init => {
                self.coming.clear();
                false
            }
            Event::InitApply(object) => {
                if let Some(facts) = read(&object) {
                    self.coming.insert(object.name_any(), facts);
                }
                false
            }
            Event::InitDone => {
                let listed: BTreeMap<String, T> = std::mem::take(&mut self.coming).into_iter().collect();
                let differs = !self.is_complete || self.known != listed;
                self.known = listed;
                self.is_complete = true;
                differs
            }
            Event::Apply(object) => match read(&object) {
                Some(facts) => {
                    let differs = self.known.get(&object.name_any()) != Some(&facts);
                    self.known.insert(object.name_any(), facts);
                    differs
                }
                None => self.known.remove(&object.name_any()).is_some(),
            },
            Event::Delete(object) => self.known.remove(&object.name_any()).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, heartbeat: &str, label: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"x": label}},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}]},
        }))
        .unwrap()
    }

    #[test]
    fn heartbeats_do_not_count_as_changes() {
        let mut view = View::default();
        let (first, second) = ("2026-11-22T08:00:00Z", "2026-11-22T08:00:10Z");
        assert!(!view.note_node(Event::Init));
        assert!(!view.note_node(Event::InitApply(node("a", first, "1"))));
        assert_eq!(view.nodes().count(), 0);
        assert!(view.note_node(Event::InitDone) && !view.is_complete());
        assert!(!view.note_node(Event::Apply(node("a", second, "1"))));
        assert!(view.note_node(Event::Apply(node("a", second, "2"))));
        assert!(view.note_node(Event::Delete(node("a", second, "2"))));
    }

    #[test]
    fn a_list_takes_the_place_of_what_was_known_at_its_end() {
        let mut view = View::default();
        let when = "2026-11-22T08:00:00Z";
        for event in [
            Event::Init,
            Event::InitApply(node("a", when, "1")),
            Event::InitDone,
        ] {
            view.note_node(event);
        }
        view.note_node(Event::Init);
        view.note_node(Event::InitApply(node("b", when, "1")));
        assert_eq!(view.nodes().next().map(|node| node.name.as_str()), Some("a"));
        assert!(view.note_node(Event::InitDone));
        let names: Vec<_> = view.nodes().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["b"]);
        for event in [Event::Init, Event::InitApply(node("b", when, "1"))] {
            view.note_node(event);
        }
        assert!(!view.note_node(Event::InitDone), "the same again");
    }
}
