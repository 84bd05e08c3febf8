use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::cluster::BindHostParams;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::body::{Body, Path};
use muster_http::{Caller, Problem};
use muster_operations::Operations;

use crate::views::Views;

/// Bind a host to a cluster
///
/// Its agent registers again by itself, and the host is in the cluster then.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/bind", operation_id = "BindHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = BindHostParams,
    responses(
        (status = 200, body = Host),
        (status = 400, body = ApiError, description = "The cluster does not exist, or is made of other processors"),
        (status = 404, body = ApiError, description = "The host does not exist"),
        (status = 409, body = ApiError, description = "It is bound already, or not known; the reason names its state"),
    )
)]
pub async fn bind_host(
    State(operations): State<Arc<Operations>>,
    views: Views,
    Extension(caller): Extension<Caller>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<BindHostParams>,
) -> Result<Json<Host>, Problem> {
    if let Caller::OperatorOf(own) = caller {
        // A member of a cluster gets the cluster's credentials.
        return Err(Problem::Framework(
            StatusCode::FORBIDDEN,
            format!("this operator's token is for InfraEnv {own} alone, and does not reach into clusters"),
        ));
    }
    let event = HostEvent::Bound {
        cluster_id: params.cluster_id,
    };
    let done = operations
        .hosts
        .apply_by_user(&operations.bridge, infra_env_id, host_id, event)
        .await?;
    Ok(Json(views.host_after_action(&done).await?))
}
