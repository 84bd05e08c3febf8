//! Logs of hosts and of installation controllers: upload, download, and progress. Source: docs/protocol/rest-behaviour.md#3.5. Logs that
//! an operator requests from a host are an addition to the protocol, with a path of their own.

mod archive;
mod asked;
mod download;
mod progress;
mod read;
mod upload;
mod which;

use axum::extract::DefaultBodyLimit;
use muster_http::Allowed;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Largest request with an upload, bytes.
const REQUEST_LIMIT: usize = upload::LIMIT + (1 << 20);

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
        Allowed::User | Allowed::Scoped | Allowed::Session | Allowed::UserOrAgent | Allowed::All => routes,
    }
}

/// The operations of these callers about logs that an operator requests.
pub fn asked_routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = OpenApiRouter::new();
    match allowed {
        Allowed::User => routes
            .routes(routes!(asked::ask_host_for_logs, asked::get_host_logs))
            .routes(routes!(asked::download_host_logs))
            .routes(routes!(read::list_host_log_files))
            .routes(routes!(read::read_host_log)),
        Allowed::Agent => routes
            .routes(routes!(asked::upload_host_logs))
            .layer(DefaultBodyLimit::max(REQUEST_LIMIT)),
        Allowed::Scoped | Allowed::Session | Allowed::UserOrAgent | Allowed::UserOrUrl | Allowed::All => {
            routes
        }
    }
}
