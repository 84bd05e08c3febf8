use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::ApiError;
use muster_api::host::{Host, SettleIdentityParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Settle a duplicate host id
///
/// For an operator who has looked at the two machines with one id: the finding is removed, and the same two cause no new one.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/settle-identity", operation_id = "MusterSettleHostIdentity",
    tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = SettleIdentityParams,
    responses((status = 200, body = Host), (status = 404, body = ApiError))
)]
pub async fn settle_identity(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<SettleIdentityParams>,
) -> Result<Json<Host>, Problem> {
    let event = HostEvent::IdentitySettled {
        other: params.other_host_id,
    };
    let host = hosts.apply(infra_env_id, host_id, event).await?;
    Ok(Json(views.host(&host).await?))
}
