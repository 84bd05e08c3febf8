//! Counts the Agents that each AgentClassification labels. Source: docs/protocol/kube-controllers.md#5.
//!
//! The labels themselves are set while Agents are reconciled ([`agent_labels`](super::agent_labels)). They are
//! counted here, for all classifications in one pass, at most once each [`COUNT_INTERVAL`]: a thousand
//! new Agents are a few writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt, future, stream};
use kube::runtime::Controller;
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, ResourceExt};
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus, DesiredCondition};
use muster_controller::drive::{CONCURRENCY, drive};
use muster_controller::finalizers;
use muster_controller::health::{self, Sign};
use muster_operations::now;
use muster_resources::names::{finalizer, label};
use muster_resources::{AgentClassification, AgentClassificationStatus, Condition};
use strum::{EnumString, IntoStaticStr};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::agent::cache::AgentCache;
use super::agent_labels::{Labels, error_value, key, unusable};
use super::context::Context;
use super::error::Error;

/// Between two counts.
const COUNT_INTERVAL: Duration = Duration::from_millis(400);

/// Namespace, key and value of a label, and the number of Agents that have it.
type Counts = HashMap<(String, String, String), i64>;

/// Counts of one classification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Agents with the label.
    pub matched: i64,
    /// Agents on which the query failed.
    pub failed: i64,
    /// The error, if the query failed or cannot be evaluated at all.
    pub why: Option<String>,
}

/// The type of the only condition.
#[derive(Debug, Clone, Copy, IntoStaticStr)]
enum Type {
    QueryErrors,
}

/// Reasons of the condition.
#[derive(Debug, Clone, Copy, IntoStaticStr, EnumString)]
pub enum Reason {
    HasQueryErrors,
    NoQueryErrors,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::HasQueryErrors => Some(EventType::Warning),
            Self::NoQueryErrors => (!is_new).then_some(EventType::Normal),
        }
    }
}

/// A query that fails is corrected by its author.
const SIGNS: [Sign; 1] = [Sign::stalled("QueryErrors", "True", &[])];

muster_controller::has_conditions!(AgentClassificationStatus, Condition, Reason);

/// Returns the status that follows `before`.
pub fn status(
    before: &AgentClassificationStatus,
    found: &Found,
    now: Timestamp,
) -> AgentClassificationStatus {
    let mut conditions = before.conditions.clone();
    let fails = found.failed > 0 || found.why.is_some();
    let (status, reason, message) = if fails {
        let count = found.failed;
        let why = found
            .why
            .as_deref()
            .unwrap_or("the reason follows when they are evaluated next");
        (
            ConditionStatus::True,
            Reason::HasQueryErrors,
            format!("{count} Agents could not be classified: {why}"),
        )
    } else {
        (
            ConditionStatus::False,
            Reason::NoQueryErrors,
            "The query could be evaluated for every Agent".to_owned(),
        )
    };
    let desired = DesiredCondition::new(Type::QueryErrors, status, reason, message);
    conditions::set(&mut conditions, desired, now);
    AgentClassificationStatus {
        matched_count: Some(found.matched).filter(|count| *count != 0),
        error_count: Some(found.failed).filter(|count| *count != 0),
        conditions,
    }
}

/// Runs the controller until `stop`. `changes`: classifications that changed, from the watch that fills
/// `classifications`.
pub(super) async fn run(
    context: Arc<Context>,
    agents: Arc<AgentCache>,
    classifications: Store<AgentClassification>,
    mut changes: UnboundedReceiver<ObjectRef<AgentClassification>>,
    labels: Arc<Labels>,
    stop: CancellationToken,
) {
    let counts = Arc::new(Mutex::new(Arc::new(Counts::new())));
    let recounted = {
        let (classifications, labels, counts) = (classifications.clone(), labels.clone(), counts.clone());
        stream::once(future::ready(()))
            .chain(changed(agents.clone()))
            .inspect(move |()| {
                let all = classifications.state();
                let queries: Vec<&str> = all.iter().map(|one| one.spec.query.as_str()).collect();
                labels.forget_failures_but(&queries);
                let new = if all.is_empty() {
                    Counts::new()
                } else {
                    count(&agents)
                };
                *counts.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            })
    };
    let changes = stream::poll_fn(move |context| changes.poll_recv(context));
    let others = classifications.clone();
    let controller = Controller::for_stream(stream::pending(), classifications)
        .reconcile_on(changes)
        .reconcile_all_on(recounted);
    let reconcile = move |classification: Arc<AgentClassification>, context: Arc<Context>| {
        let counts = counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = found(&classification, &counts, &labels);
        // A label that another classification sets, too, stays; that delays nothing.
        let is_wanted = |other: &AgentClassification| {
            other.metadata.deletion_timestamp.is_none()
                && other.metadata.uid != classification.metadata.uid
                && other.metadata.namespace == classification.metadata.namespace
                && key(other) == key(&classification)
                && other.spec.label_value == classification.spec.label_value
        };
        if classification.metadata.deletion_timestamp.is_some() && !others.state_filter(is_wanted).is_empty()
        {
            (found.matched, found.failed) = (0, 0);
        }
        async move {
            write(&context, &classification, &found).await?;
            Ok::<_, Error>(Action::await_change())
        }
    };
    let name = "agent_classification";
    drive(name, CONCURRENCY, controller, context, stop, reconcile).await;
}

/// Yields an item whenever Agents changed, at most one each [`COUNT_INTERVAL`].
fn changed(agents: Arc<AgentCache>) -> impl Stream<Item = ()> + Send {
    stream::unfold(agents, |agents| async move {
        sleep(COUNT_INTERVAL).await;
        agents.changed.notified().await;
        Some(((), agents))
    })
}

fn count(agents: &AgentCache) -> Counts {
    let mut counts = Counts::new();
    for agent in agents.all() {
        let namespace = agent.namespace().unwrap_or_default();
        let labels = agent.labels().iter();
        for (key, value) in labels.filter(|(key, _)| key.starts_with(label::CLASSIFICATION_PREFIX)) {
            let place = (namespace.clone(), key.clone(), value.clone());
            *counts.entry(place).or_default() += 1;
        }
    }
    counts
}

fn found(classification: &AgentClassification, counts: &Counts, labels: &Labels) -> Found {
    let namespace = classification.namespace().unwrap_or_default();
    let of = |value: String| {
        let place = (namespace.clone(), key(classification), value);
        counts.get(&place).copied().unwrap_or(0)
    };
    let failed = of(error_value(classification));
    let why = unusable(classification).or_else(|| {
        let error = labels.failure(&classification.spec.query);
        error.filter(|_| failed > 0)
    });
    Found {
        matched: of(classification.spec.label_value.clone()),
        failed,
        why,
    }
}

async fn write(context: &Context, classification: &AgentClassification, found: &Found) -> Result<(), Error> {
    let namespace = classification.namespace().unwrap_or_default();
    let api = Api::<AgentClassification>::namespaced(context.client.clone(), &namespace);
    let is_leaving = classification.metadata.deletion_timestamp.is_some();
    if is_leaving && found.matched == 0 && found.failed == 0 {
        finalizers::remove(&api, classification, finalizer::AGENT_CLASSIFICATION).await?;
        return Ok(());
    }
    if !is_leaving {
        finalizers::set(&api, classification, finalizer::AGENT_CLASSIFICATION).await?;
    }
    let before = classification.status.as_ref();
    let mut next = status(&before.cloned().unwrap_or_default(), found, now());
    health::show(&mut next.conditions, &SIGNS, now());
    Ok(muster_controller::status::write(context, classification, before, &next).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_795_000_000 + seconds, 0).expect("a moment")
    }

    fn found(matched: i64, failed: i64, why: Option<&str>) -> Found {
        Found {
            matched,
            failed,
            why: why.map(str::to_owned),
        }
    }

    #[test]
    fn counts_of_zero_are_left_out_and_errors_are_told_with_their_number() {
        let good = status(&AgentClassificationStatus::default(), &found(1, 0, None), at(0));
        assert_eq!((good.matched_count, good.error_count), (Some(1), None));
        assert_eq!(good.conditions[0].status, "False");
        assert_eq!(good.conditions[0].reason.as_deref(), Some("NoQueryErrors"));
        assert_eq!(status(&good, &found(1, 0, None), at(9)), good, "nothing new");
        let bad = status(&good, &found(0, 3, Some("it is not jq")), at(9));
        assert_eq!((bad.matched_count, bad.error_count), (None, Some(3)));
        assert_eq!(bad.conditions[0].reason.as_deref(), Some("HasQueryErrors"));
        let message = bad.conditions[0].message.as_deref().unwrap_or_default();
        assert!(
            message.starts_with("3 ") && message.contains("it is not jq"),
            "{message}"
        );
        assert_ne!(
            bad.conditions[0].last_transition_time,
            good.conditions[0].last_transition_time
        );
    }
}
