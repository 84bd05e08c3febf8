use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Install a host into its cluster
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/install", operation_id = "v2InstallHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 202, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is bound to no cluster, not known, or there is no OS image for it; the reason states what to do"),
    )
)]
pub async fn install_host(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let host = hosts
        .apply(infra_env_id, host_id, HostEvent::InstallRequested)
        .await?;
    Ok((StatusCode::ACCEPTED, Json(views.host_after_action(&host).await?)))
}
