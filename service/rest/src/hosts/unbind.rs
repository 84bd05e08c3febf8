use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;

use crate::views::Views;

/// Unbind a host from its cluster
///
/// It returns to the pool of its InfraEnv. A node with our agent boots into discovery after its next poll.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/unbind", operation_id = "UnbindHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It belongs to no cluster, to one with its whole InfraEnv, or is being installed; the reason names its state"),
    )
)]
pub async fn unbind_host(
    State(operations): State<Arc<Operations>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let done = operations
        .hosts
        .apply_by_user(&operations.bridge, infra_env_id, host_id, HostEvent::Unbound)
        .await?;
    Ok(Json(views.host_after_action(&done).await?))
}
