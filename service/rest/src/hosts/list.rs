use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::Host;
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::hosts::Hosts;
use muster_operations::infra_envs::InfraEnvs;

use crate::views::Views;

/// List the hosts of an InfraEnv.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts", operation_id = "v2ListHosts", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 200, body = Vec<Host>),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn list_hosts(
    State(hosts): State<Arc<Hosts>>,
    State(infra_envs): State<Arc<InfraEnvs>>,
    views: Views,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<Vec<Host>>, Problem> {
    infra_envs.get(infra_env_id).await?;
    let found = hosts.list(infra_env_id).await?;
    let mut listed = Vec::with_capacity(found.len());
    for host in &found {
        listed.push(views.host(host).await?);
    }
    Ok(Json(listed))
}
