//! Defines AgentQuotas: the shares of consumers in a pool of Agents. A kind of Muster's own (docs/quotas.md).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LabelSelector, NamespacedReference, StandardCondition, schema, selector};

/// The share of one consumer in the Agents of the namespace.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentQuotaSpec")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(self.limit) || !has(self.reserved) || self.reserved <= self.limit",
    "message": "reserved is above limit: give at most limit"
}]))]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "AgentQuota",
    plural = "agentquotas",
    namespaced,
    status = "AgentQuotaStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "How many Agents of its namespace the AgentMachines of another namespace may have, how many are kept free for them, and which of those that wait come first. Nothing is ever taken away. It counts for the provider of AgentMachines (`--capi-provider`).",
    printcolumn(name = "Consumer", json_path = ".status.consumerNamespace", type_ = "string"),
    printcolumn(name = "Used", json_path = ".status.used", type_ = "integer"),
    printcolumn(name = "Limit", json_path = ".spec.limit", type_ = "integer"),
    printcolumn(name = "Reserved", json_path = ".spec.reserved", type_ = "integer"),
    printcolumn(name = "Waiting", json_path = ".status.waiting", type_ = "integer"),
    printcolumn(
        name = "Ready",
        json_path = ".status.conditions[?(@.type=='Ready')].reason",
        type_ = "string"
    ),
    printcolumn(name = "Age", json_path = ".metadata.creationTimestamp", type_ = "date"),
    printcolumn(
        name = "Priority",
        json_path = ".spec.priority",
        type_ = "integer",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        json_path = ".status.conditions[?(@.type=='Ready')].message",
        type_ = "string",
        priority = 1
    )
)]
pub struct AgentQuotaSpec {
    /// The AgentMachines that it is for. Of two quotas for one consumer the older one counts.
    pub consumer: QuotaConsumer,
    /// The Agents that it is about. Without it, all of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selector::schema")]
    pub agent_selector: Option<LabelSelector>,
    /// Most Agents of the consumer. Without it there is no limit. One below the Agents in use takes none away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub limit: Option<i64>,
    /// Agents that are kept for the consumer, those in use included: others take a free one only where enough are left. At most `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub reserved: Option<i64>,
    /// AgentMachines of a consumer with a higher number come first when several wait for the same Agents, then the older ones. Without it,
    /// and for consumers without a quota, 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: Option<i64>,
}

/// A consumer: one of the two members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.__namespace__) != has(self.hostedCluster)",
    "message": "give either namespace or hostedCluster"
}]))]
pub struct QuotaConsumer {
    /// Namespace of AgentMachines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// HostedCluster whose nodes the Agents become: it stands for the namespace of its control plane, NAMESPACE-NAME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted_cluster: Option<NamespacedReference>,
}

impl QuotaConsumer {
    /// The namespace of the AgentMachines. That of a HostedCluster is where HyperShift makes them; a namespace has no dots. Source:
    /// docs/protocol/capi-agent-provider.md#8.
    pub fn machines_namespace(&self) -> String {
        match (&self.namespace, &self.hosted_cluster) {
            (Some(namespace), _) => namespace.clone(),
            (None, Some(hosted)) => format!("{}-{}", hosted.namespace, hosted.name.replace('.', "-")),
            (None, None) => String::new(),
        }
    }
}

/// Observed state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentQuotaStatus {
    /// `metadata.generation` of the quota that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub observed_generation: Option<i64>,
    /// Namespace of the AgentMachines that it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_namespace: Option<String>,
    /// Agents that the consumer has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub used: Option<i64>,
    /// Free Agents that are kept for the consumer now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub held: Option<i64>,
    /// AgentMachines of the consumer that wait for an Agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_from_zero")]
    pub waiting: Option<i64>,
    /// `Ready`: the quota counts, and its reservation can be kept. Only while they are true: `Duplicate` (an older quota is for the same
    /// consumer, and counts), `Overcommitted` (the reservations of older quotas and this one are above the pool), `AboveLimit` (more are in
    /// use than `limit`), `Stalled` (it does not count before its spec, or another quota, is changed).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StandardCondition>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosted_cluster_stands_for_the_namespace_of_its_control_plane() {
        let of = |namespace: &str, name: &str| QuotaConsumer {
            hosted_cluster: Some(NamespacedReference {
                name: name.into(),
                namespace: namespace.into(),
            }),
            ..QuotaConsumer::default()
        };
        assert_eq!(of("clusters", "east").machines_namespace(), "clusters-east");
        assert_eq!(
            of("clusters", "east.one").machines_namespace(),
            "clusters-east-one"
        );
        let plain = QuotaConsumer {
            namespace: Some("team".into()),
            ..QuotaConsumer::default()
        };
        assert_eq!(plain.machines_namespace(), "team");
    }
}
