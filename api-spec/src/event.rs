//! Defines events on the wire. Source: docs/protocol/events.tsv and docs/protocol/rest-behaviour.md#7.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::{ClusterId, EventId, HostId, InfraEnvId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

impl Severity {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Audience of an event; lists show `user` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Category {
    User,
    Metrics,
}

impl Category {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Body of `POST /v2/events`, sent by agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TriggeredEvent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    pub severity: Severity,
    /// `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    pub message: String,
    /// RFC 3339. The service takes its own time: clocks of hosts are not to be trusted.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub event_time: crate::time::Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Uuid))]
    pub request_id: Option<uuid::Uuid>,
    /// JSON object as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub props: Option<String>,
}

/// An event as `GET /v2/events` answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// RFC 3339, milliseconds.
    pub event_time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// JSON object as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub props: Option<String>,
    pub severity: Severity,
}

/// A part of the events in the order of their ids, an addition to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowedEvents {
    pub events: Vec<FollowedEvent>,
    /// `after` of the next request. Its answer may have events of this one again.
    pub next: EventId,
    /// True when there are more events now.
    pub more: bool,
}

/// An event with its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowedEvent {
    pub id: EventId,
    #[serde(flatten)]
    pub event: Event,
}
