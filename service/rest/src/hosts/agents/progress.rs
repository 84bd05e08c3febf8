use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::HostProgressParams;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::hosts::Hosts;

use super::turn::apply;

/// Report the progress of an installation
#[utoipa::path(
    put, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/progress", operation_id = "v2UpdateHostInstallProgress", tag = "installer",
    params(
        ("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path),
        ("discovery_agent_version" = Option<String>, Header),
    ),
    request_body = HostProgressParams,
    responses(
        (status = 200),
        (status = 400, body = ApiError, description = "The host belongs to no cluster"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is not being installed, or has passed that stage"),
    )
)]
pub async fn update_progress(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<HostProgressParams>,
) -> Result<StatusCode, Problem> {
    let event = HostEvent::Progressed {
        stage: params.current_stage,
        info: params.progress_info.unwrap_or_default(),
    };
    apply(&hosts, infra_env_id, host_id, event).await?;
    Ok(StatusCode::OK)
}
