//! Follows what annotations of an Agent request once, and removes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::{Resource, ResourceExt};
use muster_controller::events::warning;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::Host;
use muster_operations::OperationError;
use muster_resources::names::annotation;
use serde_json::{Map, Value, json};

use crate::agent::cached::CachedAgent;
use crate::agent::reconcile::Reconciler;
use crate::error::Error;

/// The events that the annotations request, by the annotation. A failure comes before its end.
fn requested(annotations: &BTreeMap<String, String>) -> Vec<(&'static str, HostEvent)> {
    let failed = annotations.get(annotation::AGENT_NODE_FAILED);
    let failed = failed.map(|reason| {
        let reason = reason.clone();
        (annotation::AGENT_NODE_FAILED, HostEvent::NodeFailed { reason })
    });
    let forget = annotations.get(annotation::AGENT_FORGET_FAILURES);
    let forget = forget
        .filter(|value| *value == "true")
        .map(|_| (annotation::AGENT_FORGET_FAILURES, HostEvent::FailuresForgotten));
    let erase = annotations.get(annotation::AGENT_ERASE);
    let erase = erase.and_then(|value| match value.as_str() {
        "retry" => Some((annotation::AGENT_ERASE, HostEvent::ErasureRetried)),
        "skip" => Some((annotation::AGENT_ERASE, HostEvent::ErasureSkipped)),
        _ => None,
    });
    failed.into_iter().chain(forget).chain(erase).collect()
}

impl Reconciler {
    /// Does what the annotations request. `begins_anew`: they are about another host, and are only removed. `None`: the Agent is gone.
    ///
    /// # Errors
    /// Fails if the reconcile must be tried again.
    pub(in crate::agent) async fn follow_requests(
        &self,
        known: Arc<CachedAgent>,
        host: &mut Host,
        begins_anew: bool,
    ) -> Result<Option<Arc<CachedAgent>>, Error> {
        let requested = requested(known.annotations());
        if requested.is_empty() {
            return Ok(Some(known));
        }
        let mut done = Map::new();
        for (key, event) in requested {
            if !begins_anew {
                let operations = &self.context.operations;
                match operations.hosts.apply_registered(host, event).await {
                    Ok(changed) => *host = changed,
                    // Nothing is to be erased, or not now: the annotation is no request that lasts.
                    Err(OperationError::Refused(refused)) if key == annotation::AGENT_ERASE => {
                        self.not_followed(&known, &refused.reason);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            done.insert(key.to_owned(), Value::Null);
        }
        self.patch(&known, &json!({"metadata": {"annotations": done}}))
            .await
    }
}

impl Reconciler {
    /// Reports a request that was refused.
    fn not_followed(&self, known: &CachedAgent, why: &str) {
        let event = warning("Erase", "NotFollowed", why);
        self.context.events.publish(event, known.object_ref(&()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_request_once_and_other_values_nothing() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let events = requested(&pairs.collect());
            events.into_iter().map(|(_, event)| event).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("other", "true")]), []);
        assert_eq!(of(&[(annotation::AGENT_FORGET_FAILURES, "no")]), []);
        assert_eq!(of(&[(annotation::AGENT_ERASE, "true")]), []);
        assert_eq!(
            of(&[(annotation::AGENT_ERASE, "retry")]),
            [HostEvent::ErasureRetried]
        );
        assert_eq!(
            of(&[(annotation::AGENT_ERASE, "skip")]),
            [HostEvent::ErasureSkipped]
        );
        let failed = HostEvent::NodeFailed {
            reason: "not ready".into(),
        };
        assert_eq!(
            of(&[
                (annotation::AGENT_FORGET_FAILURES, "true"),
                (annotation::AGENT_NODE_FAILED, "not ready"),
            ]),
            [failed, HostEvent::FailuresForgotten]
        );
    }
}
