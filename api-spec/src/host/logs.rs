use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// How a request for a host's logs stands. An addition to the protocol.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HostLogsState {
    /// Nobody has asked for them.
    #[default]
    NotAsked,
    /// The host is asked with its next poll, or sends them now.
    Asked,
    /// They have come.
    Came,
    /// The host did not send them; `reason` says why.
    Failed,
}

/// The last request for a host's logs. An addition to the protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogs {
    pub state: HostLogsState,
    /// RFC 3339 with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub asked_at: Option<String>,
    /// The request fails when they have not come by then. Only while they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub until: Option<String>,
    /// The latest time at which the host polls, and so learns of the request. Only while they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next_poll_at: Option<String>,
    /// Why they did not come, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last logs of the host that are kept, asked for or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<HostLogArchive>,
}

/// An archive of a host's logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogArchive {
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub came_at: String,
    /// Bytes.
    pub size: i64,
}
