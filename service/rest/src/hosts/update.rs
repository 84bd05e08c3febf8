use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::{Host, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;

use crate::views::Views;

/// Change what a user decides about a host: name, role, disks, labels. All of it or nothing.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2UpdateHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = HostUpdateParams,
    responses(
        (status = 201, body = Host),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Not in the host's present state"),
    )
)]
pub async fn update_host(
    State(app): State<Arc<Operations>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<HostUpdateParams>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let updated = app
        .hosts
        .apply_by_user(&app.bridge, infra_env_id, host_id, HostEvent::Edited(params))
        .await?;
    Ok((StatusCode::CREATED, Json(views.host(&updated).await?)))
}
