//! Logs of hosts and of installation controllers: up, down, and how it goes. Source: docs/protocol/rest-behaviour.md#3.5.

mod download;
mod progress;
mod upload;

use axum::extract::DefaultBodyLimit;
use muster_api::ids::HostId;
use muster_http::Allowed;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Largest upload, bytes: the protocol's limit.
pub const UPLOAD_LIMIT: usize = 262_144_000;

/// Largest request that holds one, bytes.
const REQUEST_LIMIT: usize = UPLOAD_LIMIT + (1 << 20);

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = OpenApiRouter::new();
    match allowed {
        Allowed::Agent => {
            let uploads = OpenApiRouter::new()
                .routes(routes!(upload::upload_logs))
                .layer(DefaultBodyLimit::max(REQUEST_LIMIT));
            routes
                .routes(routes!(progress::update_cluster_logs_progress))
                .merge(uploads)
        }
        Allowed::UserOrUrl => routes.routes(routes!(download::download_cluster_logs)),
        Allowed::User | Allowed::UserOrAgent | Allowed::All => routes,
    }
}

/// Whose logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LogsType {
    /// A host's.
    Host,
    /// The installation controller's.
    Controller,
    /// All that there are; only to be asked for.
    All,
}

/// Which logs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DownloadQuery {
    /// `all` when absent.
    #[param(inline)]
    logs_type: Option<LogsType>,
    /// Required with `host`.
    host_id: Option<HostId>,
}
