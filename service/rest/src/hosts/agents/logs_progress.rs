use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::LogsProgressParams;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::hosts::Hosts;

use super::turn::apply;

/// Report the progress of log collection
#[utoipa::path(
    put, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs-progress", operation_id = "v2UpdateHostLogsProgress", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = LogsProgressParams,
    responses(
        (status = 204),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError),
    )
)]
pub async fn update_host_logs_progress(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<LogsProgressParams>,
) -> Result<StatusCode, Problem> {
    let event = HostEvent::LogsProgressed {
        state: params.logs_state,
    };
    apply(&hosts, infra_env_id, host_id, event).await?;
    Ok(StatusCode::NO_CONTENT)
}
