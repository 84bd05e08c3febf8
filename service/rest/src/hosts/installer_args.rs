use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::{Host, InstallerArgsParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;

use crate::views::Views;

/// Set the installer arguments of a host
///
/// coreos-installer gets them in addition to those of the service; an empty list removes them.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/installer-args", operation_id = "v2UpdateHostInstallerArgs", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = InstallerArgsParams,
    responses(
        (status = 201, body = Host),
        (status = 400, body = ApiError, description = "A word is not taken; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError),
    )
)]
pub async fn update_installer_args(
    State(operations): State<Arc<Operations>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<InstallerArgsParams>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let event = HostEvent::InstallerArgsSet(params.args.unwrap_or_default());
    let updated = operations
        .hosts
        .apply_by_user(&operations.bridge, infra_env_id, host_id, event)
        .await?;
    Ok((
        StatusCode::CREATED,
        Json(views.host_after_action(&updated).await?),
    ))
}
