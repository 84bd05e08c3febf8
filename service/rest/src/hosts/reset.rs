use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Reset a host of a cluster
///
/// It has to be booted into discovery again.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset", operation_id = "v2ResetHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is bound to no cluster, or in a state that cannot be reset; the reason names it"),
    )
)]
pub async fn reset_host(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let host = hosts
        .apply(infra_env_id, host_id, HostEvent::ResetRequested)
        .await?;
    Ok(Json(views.host_after_action(&host).await?))
}
