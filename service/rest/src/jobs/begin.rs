use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::jobs::{Job, JobPlan, JobRequest};
use muster_http::Problem;
use muster_http::body::Body;
use muster_http::gate::SignedIn;
use muster_operations::Operations;

use super::requester::requester;

/// Begin a job over many hosts, or plan it
///
/// With `dry_run` nothing is changed, and the answer is the plan. A job goes on when its client leaves and when the service restarts. For each
/// host it does what the operation for one host does, with the same refusals.
#[utoipa::path(
    post, path = "/jobs", operation_id = "MusterBeginJob", tag = "jobs",
    request_body = JobRequest,
    responses(
        (status = 200, body = JobPlan, description = "With `dry_run`"),
        (status = 201, body = Job, description = "It runs"),
        (status = 400, body = ApiError, description = "The selection or the action cannot be read, or there is no host, or there are too many"),
        (status = 409, body = ApiError, description = "The hosts are others than those of the digest, or too many jobs run"),
        (status = 422, body = ApiError, description = "The number that has to be typed is missing, or is another"),
    )
)]
pub async fn begin_job(
    State(operations): State<Arc<Operations>>,
    signed_in: Option<Extension<SignedIn>>,
    Body(request): Body<JobRequest>,
) -> Result<Response, Problem> {
    let requester = requester(signed_in.map(|Extension(signed_in)| signed_in));
    if request.dry_run {
        let plan = operations.plan_job(&request, &requester).await?;
        return Ok(Json(plan).into_response());
    }
    let job = operations.begin_job(&request, &requester).await?;
    Ok((StatusCode::CREATED, Json(job)).into_response())
}
