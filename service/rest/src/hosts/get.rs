use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Get a host
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2GetHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_host(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let found = hosts.get(infra_env_id, host_id).await?;
    Ok(Json(views.host(&found).await?))
}
