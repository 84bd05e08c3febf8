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

/// Run a check of a host again
///
/// `sufficient-installation-disk-speed` or `container-images-available`.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset-validation/{validation_id}", operation_id = "v2ResetHostValidation",
    tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), ("validation_id" = String, Path)),
    responses(
        (status = 200, body = Host),
        (status = 400, body = ApiError, description = "This check cannot be reset"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Not in the host's present state"),
    )
)]
pub async fn reset_host_validation(
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path((infra_env_id, host_id, validation_id)): Path<(InfraEnvId, HostId, String)>,
) -> Result<Json<Host>, Problem> {
    let event = HostEvent::ValidationReset(validation_id);
    let updated = hosts.apply(infra_env_id, host_id, event).await?;
    Ok(Json(views.host(&updated).await?))
}
