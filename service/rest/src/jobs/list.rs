use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use muster_api::jobs::Jobs;
use muster_http::{Caller, Problem};
use muster_operations::Operations;

use crate::scopes::scope_of;

/// List jobs over many hosts
///
/// Those that run, and those that ended within a day, newest first. A token for one InfraEnv sees jobs of such tokens.
#[utoipa::path(
    get, path = "/jobs", operation_id = "MusterListJobs", tag = "jobs",
    responses((status = 200, body = Jobs))
)]
pub async fn list_jobs(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Jobs>, Problem> {
    Ok(Json(operations.jobs(scope_of(caller)).await?))
}
