//! AgentClassifications: how many Agents each of them labels. Source: docs/protocol/kube-controllers.md#5.
//!
//! The labels themselves are set while Agents are looked at ([`agent_labels`](super::agent_labels)). Here they are counted, for all
//! classifications in one pass, and not more often than [`REST`] allows: a thousand Agents that come are a few writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::Patch;
use kube::runtime::reflector::Store;
use kube::{Api, Client, ResourceExt};
use muster_api::time::Timestamp;
use muster_resources::names::{finalizer, label};
use muster_resources::{AgentClassification, AgentClassificationStatus};
use serde_json::json;
use tokio::time::sleep;

use super::agent::known::Agents;
use super::agent::patch_params;
use super::agent_labels::{Labels, error_value, key, unusable};
use super::conditions::{condition, set};
use super::{Error, finalizers};
use muster_operations::now;

/// From one count to the next.
const REST: Duration = Duration::from_millis(400);

/// Before what failed is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// Namespace, key and value of a label, and on how many Agents it is.
type Counts = HashMap<(String, String, String), i64>;

/// What a classification's status says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Agents with the label.
    pub matched: i64,
    /// Agents on which the query failed.
    pub failed: i64,
    /// Why, if it did or cannot be asked at all.
    pub why: Option<String>,
}

/// The status that follows `before`.
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
            .unwrap_or("the reason is told when they are looked at next");
        (
            "True",
            "HasQueryErrors",
            format!("{count} Agents could not be classified: {why}"),
        )
    } else {
        (
            "False",
            "NoQueryErrors",
            "The query could be asked of every Agent".to_owned(),
        )
    };
    set(
        &mut conditions,
        condition("QueryErrors", status, reason, message, now),
    );
    AgentClassificationStatus {
        matched_count: Some(found.matched).filter(|count| *count != 0),
        error_count: Some(found.failed).filter(|count| *count != 0),
        conditions,
    }
}

/// Keeps the statuses right for as long as it is polled.
pub(super) async fn follow(
    client: Client,
    agents: Arc<Agents>,
    classifications: Store<AgentClassification>,
    labels: Arc<Labels>,
) {
    loop {
        let all = classifications.state();
        let queries: Vec<&str> = all.iter().map(|one| one.spec.query.as_str()).collect();
        labels.forget_failures_but(&queries);
        let counts = if all.is_empty() {
            Counts::new()
        } else {
            count(&agents)
        };
        let mut failed = false;
        for classification in &all {
            let found = found(classification, &counts, &labels);
            if let Err(error) = write(&client, classification, &found).await
                && !error.is_absent()
            {
                failed = true;
                tracing::debug!(name = %classification.name_any(), %error, "an AgentClassification could not be written; trying again");
            }
        }
        sleep(REST).await;
        tokio::select! {
            () = agents.relabelled.notified() => {}
            () = sleep(AGAIN), if failed => {}
        }
    }
}

fn count(agents: &Agents) -> Counts {
    let mut counts = Counts::new();
    agents.each(|agent, known| {
        let labels = known.agent.labels().iter();
        for (key, value) in labels.filter(|(key, _)| key.starts_with(label::CLASSIFICATION_PREFIX)) {
            let place = (agent.namespace.clone(), key.clone(), value.clone());
            *counts.entry(place).or_default() += 1;
        }
    });
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
        let told = labels.failure(&classification.spec.query);
        told.filter(|_| failed > 0)
    });
    Found {
        matched: of(classification.spec.label_value.clone()),
        failed,
        why,
    }
}

async fn write(client: &Client, classification: &AgentClassification, found: &Found) -> Result<(), Error> {
    let namespace = classification.namespace().unwrap_or_default();
    let api = Api::<AgentClassification>::namespaced(client.clone(), &namespace);
    let is_leaving = classification.metadata.deletion_timestamp.is_some();
    if is_leaving && found.matched == 0 && found.failed == 0 {
        return finalizers::remove(&api, classification, finalizer::AGENT_CLASSIFICATION).await;
    }
    if !is_leaving {
        finalizers::set(&api, classification, finalizer::AGENT_CLASSIFICATION).await?;
    }
    let before = classification.status.clone().unwrap_or_default();
    let next = status(&before, found, now());
    if classification.status.as_ref() == Some(&next) {
        return Ok(());
    }
    // Counts of zero are taken away by name.
    let patch = json!({"status": {
        "matchedCount": next.matched_count,
        "errorCount": next.error_count,
        "conditions": next.conditions,
    }});
    api.patch_status(&classification.name_any(), &patch_params(), &Patch::Merge(patch))
        .await?;
    Ok(())
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
