use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::JobId;
use muster_api::jobs::{Job, JobRetryParams};
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_http::gate::SignedIn;
use muster_operations::Operations;

use super::requester::requester;

/// Begin a job again for the hosts that failed
///
/// A new job of the same action, of the hosts for which it was refused. Each is to get the name or the disk that the plan before had for it.
#[utoipa::path(
    post, path = "/jobs/{job_id}/retry", operation_id = "MusterRetryJob", tag = "jobs",
    params(("job_id" = JobId, Path)),
    request_body = JobRetryParams,
    responses(
        (status = 201, body = Job),
        (status = 400, body = ApiError, description = "None of these hosts is there any more"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "No host has failed, or too many jobs run"),
        (status = 422, body = ApiError, description = "The number that has to be typed is missing, or is another"),
    )
)]
pub async fn retry_job(
    State(operations): State<Arc<Operations>>,
    signed_in: Option<Extension<SignedIn>>,
    Path(job_id): Path<JobId>,
    Body(params): Body<JobRetryParams>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let requester = requester(signed_in.map(|Extension(signed_in)| signed_in));
    let job = operations.retry_job(job_id, params.confirm, &requester).await?;
    Ok((StatusCode::CREATED, Json(job)))
}
