//! Who requested which change, over all records. An addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::ids::InfraEnvId;

/// A part of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// In the order of their numbers.
    pub entries: Vec<AuditedChange>,
    /// For `after` of the next request: the number of the newest of these entries, or the `after` of this request.
    pub next: i64,
    /// There are more entries in the direction of the request.
    pub more: bool,
}

/// A request for a change, or a command that changed something. No body of a request and no secret is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditedChange {
    /// In the order in which entries were written, without gaps.
    pub number: i64,
    /// When the response was made, RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// As in the response's `X-Request-ID`; empty for commands.
    pub request_id: String,
    /// Name of the operator's token; `anybody` where the service requires none, `command line` for a command on the service's database.
    pub who: String,
    /// Id of the operator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// Id of the session in a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Of HTTP; empty for commands.
    pub method: String,
    /// Id of the operation in the description of the API, or the command.
    pub operation: String,
    /// What the request names; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<AuditObject>,
    /// Of the response; 499 if the client went away before it: the change may have been made. 0 for commands, which succeeded.
    pub status: u16,
}

/// The record that a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditObject {
    /// `host`, `bmc`, `cluster`, `infra-env`, `token` or `session`.
    pub kind: String,
    pub id: String,
    /// As it was just after the change; empty: not known.
    pub name: String,
    /// That of a host or BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<InfraEnvId>,
}
