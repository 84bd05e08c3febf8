use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use muster_api::error::ApiError;
use muster_api::ids::JobId;
use muster_api::jobs::Job;
use muster_http::body::Path;
use muster_http::{Caller, Problem};
use muster_operations::Operations;

use crate::scopes::scope_of;

/// Cancel a job
///
/// Hosts that it has not begun with stay as they are. A job that has ended stays as it is.
#[utoipa::path(
    delete, path = "/jobs/{job_id}", operation_id = "MusterCancelJob", tag = "jobs",
    params(("job_id" = JobId, Path)),
    responses(
        (status = 200, body = Job),
        (status = 404, body = ApiError),
    )
)]
pub async fn cancel_job(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Path(job_id): Path<JobId>,
) -> Result<Json<Job>, Problem> {
    Ok(Json(operations.cancel_job(job_id, scope_of(caller)).await?))
}
