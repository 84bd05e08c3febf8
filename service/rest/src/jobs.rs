//! `/jobs`: one action on many hosts, with a plan before it and a result for each host (docs/jobs.md). One file an operation.

mod begin;
mod cancel;
mod get;
mod list;
mod requester;
mod retry;

use axum::extract::DefaultBodyLimit;
use muster_http::body::JOB_LIMIT;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// The operations, for users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    let large = OpenApiRouter::new()
        .routes(routes!(begin::begin_job, list::list_jobs))
        .layer(DefaultBodyLimit::max(JOB_LIMIT));
    OpenApiRouter::new()
        .routes(routes!(get::get_job, cancel::cancel_job))
        .routes(routes!(retry::retry_job))
        .merge(large)
}
