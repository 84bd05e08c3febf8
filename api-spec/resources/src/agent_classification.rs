use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::absent::absent_is_default;
use crate::schema;

/// A label, and the query that selects the Agents that get it.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "camelCase")]
#[schemars(rename = "AgentClassificationSpec")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentClassification",
    plural = "agentclassifications",
    namespaced,
    status = "AgentClassificationStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Puts a label on each Agent of its namespace whose inventory fits a query: the label's key is `agentclassification.agent-install.openshift.io/` followed by `labelKey`."
)]
pub struct AgentClassificationSpec {
    /// The part of the label's key after the slash. Cannot be changed.
    pub label_key: String,
    /// The label's value. It must not begin with `QUERYERROR`: an Agent with a failing query gets `QUERYERROR-` and this value. Cannot be
    /// changed.
    pub label_value: String,
    /// A jq query over the Agent's `status.inventory`, such as `.cpu.count > 4`. The label is set where its only result is `true`.
    pub query: String,
}
absent_is_default!(AgentClassificationSpec);

/// Number of Agents that match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentClassificationStatus {
    /// Number of Agents that have the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub matched_count: Option<i64>,
    /// Number of Agents with an inventory on which the query failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub error_count: Option<i64>,
    /// `QueryErrors`: whether the query failed on some Agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
