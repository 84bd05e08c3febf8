//! An Agent as it is cached: without what is large.
//!
//! Ten thousand Agents with their inventories would be hundreds of megabytes, so what is large is replaced by
//! a digest while an Agent is decoded: enough to know whether there is something to write.

use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use muster_controller::digest::{digest, digest_of};
use muster_resources::names::annotation::{AGENT_AGREED, AGENT_NODE_FAILED};
use muster_resources::{Agent, AgentSpec, AgentStatus};
use serde::Deserialize;

use super::status::conditions;

/// Texts longer than this are replaced by digests, bytes.
const LONG: usize = 160;

/// Start of the digest that replaces a long text; no annotation begins with it.
const DIGEST_MARK: &str = "\u{1}digest:";

/// An Agent without managed fields, inventory and validations; long annotations are [`short`].
#[derive(Debug, Clone, Deserialize, Resource)]
#[resource(inherit = "Agent")]
#[serde(from = "Agent")]
pub struct CachedAgent {
    pub metadata: ObjectMeta,
    pub spec: AgentSpec,
    /// `status` without inventory and validations, as JSON: in one piece it takes less than half of the memory.
    status: Option<Box<str>>,
    /// True if a condition shows that the spec is followed.
    pub is_synced: bool,
    /// Digest of `status.inventory`; `None`: the status has no inventory.
    pub inventory: Option<u64>,
    /// Digest of `status.validationsInfo`; `None`: the status has no validations.
    pub validations: Option<u64>,
}

impl From<Agent> for CachedAgent {
    fn from(mut agent: Agent) -> Self {
        let has_status = agent.status.is_some();
        agent.metadata.managed_fields = None;
        for (key, text) in agent.annotations_mut() {
            if text.len() > LONG && key != AGENT_AGREED && key != AGENT_NODE_FAILED {
                *text = short(text);
            }
        }
        let mut status = agent.status.unwrap_or_default();
        let inventory = status.inventory.take().map(|inventory| digest(&inventory));
        let checks = std::mem::take(&mut status.validations_info);
        Self {
            metadata: agent.metadata,
            spec: agent.spec,
            is_synced: conditions::is_synced(&status),
            status: has_status.then(|| {
                serde_json::to_string(&status)
                    .expect("a status has text keys and finite numbers")
                    .into()
            }),
            inventory,
            validations: (!checks.is_empty()).then(|| digest(&checks)),
        }
    }
}

impl CachedAgent {
    /// True when `other` is the same object at the same version or a later one. Source: resource versions of
    /// one kind can be compared as numbers since Kubernetes 1.35; etcd's always could.
    pub fn is_covered_by(&self, other: &Self) -> bool {
        let version =
            |agent: &Self| -> Option<u64> { agent.metadata.resource_version.as_deref()?.parse().ok() };
        let newer = match (version(self), version(other)) {
            (Some(own), Some(others)) => own > others,
            (None, _) | (_, None) => true,
        };
        !newer && self.metadata.uid == other.metadata.uid
    }

    pub fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// The Agent's status without inventory and validations; empty if it has no status.
    pub fn status(&self) -> AgentStatus {
        let status = self.status.as_deref().map(serde_json::from_str);
        status
            .transpose()
            .expect("what was written of a status is one")
            .unwrap_or_default()
    }

    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// A text, or its digest when it is long: equal for equal texts.
pub fn short(text: &str) -> String {
    if text.len() > LONG {
        format!("{DIGEST_MARK}{:016x}", digest_of(text.as_bytes()))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_texts_are_replaced_by_digests_that_differ() {
        let (one, other) = ("x".repeat(500), "y".repeat(500));
        assert_eq!(short(&one), short(&one));
        assert_ne!(short(&one), short(&other));
        assert!(short(&one).len() < 64);
        assert_eq!(short("short"), "short");
    }

    #[test]
    fn an_agent_is_decoded_without_what_is_large() {
        let agent: CachedAgent = serde_json::from_value(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": {
                "name": "a", "namespace": "lab", "managedFields": [{"manager": "x"}],
                "annotations": {"long": "x".repeat(500), "short": "x"},
            },
            "spec": {"approved": true, "role": ""},
            "status": {"role": "worker", "inventory": {"hostname": "h"}, "validationsInfo": {"network": [
                {"id": "connected", "message": "m", "status": "success"},
            ]}},
        }))
        .unwrap();
        assert!(agent.annotations()["long"].starts_with(DIGEST_MARK));
        assert_eq!(agent.annotations()["short"], "x");
        assert!(agent.metadata.managed_fields.is_none());
        assert!(agent.inventory.is_some() && agent.validations.is_some());
        let status = agent.status();
        assert!(status.inventory.is_none() && status.validations_info.is_empty());
        assert_eq!(status.role.as_deref(), Some("worker"));
        assert!(agent.has_status() && !agent.is_synced);
    }
}
