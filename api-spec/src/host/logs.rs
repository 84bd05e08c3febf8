use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// State of the last request for a host's logs. An addition to the protocol.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HostLogsState {
    /// There was no request.
    #[default]
    NotAsked,
    /// The host gets the request with its next poll, or sends them now.
    Asked,
    /// The host has sent them.
    Came,
    /// The host did not send them; `reason` is for users.
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
    /// The request fails if they have not been sent by then. Only while they are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub until: Option<String>,
    /// The latest time at which the host polls, and so receives the request. Only while they are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next_poll_at: Option<String>,
    /// The reason of a failure, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last stored logs of the host, requested or not.
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

/// The files in a host's logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogFiles {
    /// When the logs came: RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub came_at: String,
    pub files: Vec<HostLogFile>,
    /// The archive is larger than what is read of it, or damaged: there may be more.
    pub is_cut: bool,
}

/// A file in a host's logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogFile {
    pub name: String,
    /// Bytes.
    pub size: u64,
}

/// Lines of a file in a host's logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogLines {
    /// When the logs came: RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub came_at: String,
    /// Bytes of the file.
    pub size: u64,
    pub lines: Vec<HostLogLine>,
    /// There are further lines of the selection behind these; of the last ones, before these.
    pub more: bool,
    /// The archive is larger than what is read of it, or damaged: the file may have more lines.
    pub is_cut: bool,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostLogLine {
    /// From 1.
    pub number: u64,
    pub text: String,
}
