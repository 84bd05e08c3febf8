use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::host::HostEvent;

use super::acted_on;
use crate::app::App;
use crate::http::body::Path;
use crate::http::problem::Problem;

/// Install a known host into its cluster.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/install", operation_id = "v2InstallHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 202, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is bound to no cluster, or not known; the reason names its state"),
    )
)]
pub async fn install_host(
    State(app): State<Arc<App>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let host = app
        .hosts
        .apply(infra_env_id, host_id, HostEvent::InstallRequested)
        .await?;
    Ok((StatusCode::ACCEPTED, Json(acted_on(&app, &host).await?)))
}
