use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use muster_api::error::ApiError;
use muster_api::host::HostLogs;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::Path;
use muster_http::download::{check_accept, streamed};
use muster_operations::Operations;
use muster_operations::hosts::Hosts;
use muster_operations::records::LogOwner;

use super::download::{content, name_in_file};
use super::upload::{UploadForm, store_upload};
use crate::hosts::turn::apply;

/// Request the logs of a host
///
/// Bound or not. Its agent receives the request with its next poll and uploads the logs; a request in progress stays as it is.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs", operation_id = "MusterAskHostForLogs", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 202, body = HostLogs),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "The host would not answer; the reason gives the time of its last report, or what it runs"),
    )
)]
pub async fn ask_host_for_logs(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<(StatusCode, Json<HostLogs>), Problem> {
    let logs = hosts.ask_for_logs(infra_env_id, host_id).await?;
    Ok((StatusCode::ACCEPTED, Json(logs)))
}

/// Get the state of a host's logs
///
/// The last request for them, and which logs there are.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs", operation_id = "MusterGetHostLogs", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses((status = 200, body = HostLogs), (status = 404, body = ApiError))
)]
pub async fn get_host_logs(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<HostLogs>, Problem> {
    Ok(Json(hosts.logs(infra_env_id, host_id).await?))
}

/// Download the logs of a host
///
/// The last ones, requested or uploaded at the end of an installation: a gzipped tar archive.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs/archive", operation_id = "MusterDownloadHostLogs", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "None have come, or they were deleted by age or size"),
    )
)]
pub async fn download_host_logs(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_accept(&headers)?;
    let host = operations.hosts.get(infra_env_id, host_id).await?;
    let log = operations.logs.last_of_host(infra_env_id, host_id).await?;
    let log = log.ok_or_else(|| {
        Problem::conflict(format!(
            "there are no logs of host {host_id}: none have come, or they were deleted by age or size; request them by POST on the path of its logs"
        ))
    })?;
    Ok(streamed(
        &format!("{}.tar.gz", name_in_file(&host)),
        log.size as u64,
        Body::from_stream(content(operations.clone(), log)),
    ))
}

/// Upload requested logs of a host
///
/// They replace the logs uploaded before.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs/archive", operation_id = "MusterUploadHostLogs", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (status = 204),
        (status = 400, body = ApiError, description = "The form is not as described, or too large"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "No logs were requested from this host, or it was too late"),
    )
)]
pub async fn upload_host_logs(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let host = operations.hosts.get(infra_env_id, host_id).await?;
    if !host.data.awaits_logs() {
        return Err(Problem::conflict(format!(
            "nobody waits for logs of host {host_id}: they were not requested, came already, or were given up"
        )));
    }
    let owner = LogOwner::Host {
        infra_env_id,
        host_id,
    };
    store_upload(&operations, None, owner, request).await?;
    let event = HostEvent::AskedLogsUploaded;
    apply(&operations.hosts, infra_env_id, host_id, event).await?;
    Ok(StatusCode::NO_CONTENT)
}
