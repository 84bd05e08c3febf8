use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use muster_api::error::ApiError;
use muster_api::ids::JobId;
use muster_api::jobs::Job;
use muster_http::body::{Path, Query};
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::host_jobs::ResultsWindow;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::scopes::scope_of;

/// Results in one answer, unless the request has another number.
const USUAL: u32 = 100;

/// Most results in one answer.
const MOST: i64 = 1000;

/// The window of results.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// The place after which to continue: `next` of the part before.
    after: Option<String>,
    /// At most so many results: 100 unless given, at most 1,000; 0: none.
    #[param(minimum = 0, maximum = 1000)]
    limit: Option<i64>,
    /// Only hosts for which the action was refused.
    failed: bool,
}

/// Get a job with a part of its results
#[utoipa::path(
    get, path = "/jobs/{job_id}", operation_id = "MusterGetJob", tag = "jobs",
    params(("job_id" = JobId, Path), JobQuery),
    responses(
        (status = 200, body = Job),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_job(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Path(job_id): Path<JobId>,
    Query(query): Query<JobQuery>,
) -> Result<Json<Job>, Problem> {
    let window = window(&query)?;
    Ok(Json(operations.job(job_id, scope_of(caller), window).await?))
}

fn window(query: &JobQuery) -> Result<ResultsWindow, Problem> {
    let limit = match query.limit {
        Some(limit) if !(0..=MOST).contains(&limit) => {
            return Err(Problem::bad_request(format!("limit: 0 to {MOST} results")));
        }
        Some(limit) => u32::try_from(limit).unwrap_or(USUAL),
        None => USUAL,
    };
    let after = query.after.as_deref().filter(|after| !after.is_empty());
    let after = after.map_or(Ok(0), str::parse::<i64>);
    let after = after.map_err(|_| {
        Problem::bad_request("after: it is no place in a list of results: begin again without it")
    })?;
    Ok(ResultsWindow {
        after,
        limit,
        only_failed: query.failed,
    })
}
