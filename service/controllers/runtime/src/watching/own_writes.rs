//! Recognises own writes of statuses in watches: the controller knows their content already.
//!
//! Comparing generations would not suffice: an object of a restored backup has its old generation and an old status, and a status that
//! others change is to be written again. So the status itself is compared with the one written last.

use std::collections::HashMap;
use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::watcher::Event;
use moka::sync::Cache;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::digest::digest;

/// Time for which a digest is kept. A watch shows a status long before; after that the status is reconciled once without need.
const KEPT: Duration = Duration::from_secs(600);

/// Digests of the statuses that were written last, by the uid of their object.
#[derive(Debug, Clone)]
pub struct WrittenStatuses(Cache<String, u64>);

impl Default for WrittenStatuses {
    fn default() -> Self {
        Self(Cache::builder().time_to_live(KEPT).build())
    }
}

impl WrittenStatuses {
    /// Records a status before it is written, since the watch may be faster than the response.
    pub fn note(&self, object: &impl ResourceExt, status: &Map<String, Value>) {
        if let Some(uid) = object.uid() {
            self.0.insert(uid, digest(status));
        }
    }

    /// Returns the filter for one watch.
    pub fn own_writes(&self) -> OwnWrites {
        OwnWrites {
            written: self.clone(),
            seen: HashMap::new(),
        }
    }
}

/// The objects that one watch has shown: digests of all but the status, by the uid of the object.
#[derive(Debug)]
pub struct OwnWrites {
    written: WrittenStatuses,
    seen: HashMap<String, u64>,
}

impl OwnWrites {
    /// True for an event that shows nothing but a status written by this service. An object of a list is none.
    pub fn is_own_write<K: ResourceExt + Serialize>(&mut self, event: &Event<K>) -> bool {
        if matches!(event, Event::Init) {
            // Objects that were deleted while no watch ran are not listed again.
            self.seen.clear();
        }
        let (Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) = event else {
            return false;
        };
        let Some(uid) = object.uid() else { return false };
        if matches!(event, Event::Delete(_)) {
            self.seen.remove(&uid);
            self.written.0.invalidate(&uid);
            return false;
        }
        let (status, rest) = parts(object);
        let is_written = status.is_some() && self.written.0.get(&uid) == status;
        let is_same = self.seen.insert(uid, rest) == Some(rest);
        is_same && is_written && matches!(event, Event::Apply(_))
    }
}

/// Returns the digests of the status, and of all else that has a meaning.
fn parts(object: &impl Serialize) -> (Option<u64>, u64) {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    let status = value.as_object_mut().and_then(|members| members.remove("status"));
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    (status.map(|status| digest(&status)), digest(&value))
}

#[cfg(test)]
mod tests {
    use muster_resources::{InfraEnv, InfraEnvStatus};
    use serde_json::json;

    use super::*;
    use crate::status::members;

    struct Watch {
        written: WrittenStatuses,
        own_writes: OwnWrites,
        object: InfraEnv,
    }

    impl Watch {
        fn new() -> Self {
            let written = WrittenStatuses::default();
            let object = json!({
                "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
                "metadata": {"name": "hw", "namespace": "lab", "uid": "u", "resourceVersion": "1", "generation": 1},
                "spec": {"pullSecretRef": {"name": "p"}},
            });
            Self {
                own_writes: written.own_writes(),
                written,
                object: serde_json::from_value(object).unwrap(),
            }
        }

        /// True when an event with the next version of the object is an own write, after `change`.
        fn passes_over(&mut self, change: impl FnOnce(&mut InfraEnv)) -> bool {
            change(&mut self.object);
            let version = self.object.resource_version().unwrap_or_default();
            self.object.metadata.resource_version = Some(format!("{version}1"));
            self.own_writes.is_own_write(&Event::Apply(self.object.clone()))
        }

        fn write(&mut self, url: &str) -> bool {
            let status = of(url);
            self.written.note(&self.object, &members(&status));
            self.passes_over(|object| object.status = Some(status))
        }
    }

    fn of(url: &str) -> InfraEnvStatus {
        InfraEnvStatus {
            iso_download_url: Some(url.into()),
            ..InfraEnvStatus::default()
        }
    }

    #[test]
    fn own_statuses_are_passed_over_and_nothing_else_is() {
        let mut watch = Watch::new();
        assert!(!watch.passes_over(|_| {}), "it is new");
        assert!(watch.write("one"));
        assert!(watch.write("two"));
        assert!(!watch.passes_over(|object| object.metadata.generation = Some(2)));
        assert!(
            !watch.passes_over(|object| object.metadata.labels = Some([("a".into(), "b".into())].into()))
        );
        assert!(!watch.passes_over(|object| {
            object.metadata.annotations = Some([("a".into(), "b".into())].into());
        }));
        assert!(!watch.passes_over(|object| object.metadata.finalizers = Some(vec!["f".into()])));
        assert!(!watch.passes_over(|object| {
            object.metadata.deletion_timestamp = serde_json::from_value("2026-01-01T00:00:00Z".into()).ok();
        }));
        assert!(!watch.passes_over(|object| object.status = Some(of("of others"))));
        assert!(!watch.passes_over(|object| object.status = None));
    }

    #[test]
    fn a_change_that_comes_with_a_status_of_ours_is_seen() {
        let mut watch = Watch::new();
        watch.passes_over(|_| {});
        watch.written.note(&watch.object, &members(&of("one")));
        assert!(!watch.passes_over(|object| {
            object.status = Some(of("one"));
            object.metadata.generation = Some(2);
        }));
    }

    #[test]
    fn what_a_list_shows_is_news_also_when_it_is_what_was_written() {
        let mut watch = Watch::new();
        watch.passes_over(|_| {});
        watch.write("one");
        let listed = Event::InitApply(watch.object.clone());
        assert!(!watch.own_writes.is_own_write(&listed));
        assert!(
            !watch
                .own_writes
                .is_own_write(&Event::Delete(watch.object.clone()))
        );
        assert!(!watch.passes_over(|_| {}), "it was made again");
    }

    #[test]
    fn each_watch_sees_a_change_by_itself() {
        let mut watch = Watch::new();
        let mut other = watch.written.own_writes();
        watch.passes_over(|_| {});
        other.is_own_write(&Event::Apply(watch.object.clone()));
        watch.write("one");
        assert!(other.is_own_write(&Event::Apply(watch.object.clone())));
        assert!(!watch.passes_over(|object| object.metadata.generation = Some(2)));
        assert!(!other.is_own_write(&Event::Apply(watch.object.clone())));
    }
}
