//! The kinds of logs that are sent or requested.

use muster_api::ids::HostId;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

/// Whose logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogsType {
    /// A host's.
    Host,
    /// The installation controller's.
    Controller,
    /// All that there are; only in requests.
    All,
}

/// Which logs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DownloadQuery {
    /// `all` when absent.
    #[param(inline)]
    pub logs_type: Option<LogsType>,
    /// Required with `host`.
    pub host_id: Option<HostId>,
}
