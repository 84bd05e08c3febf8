use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};

use super::{unknown, view};
use crate::app::App;
use crate::http::body::Path;
use crate::http::problem::Problem;

/// Get a host.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2GetHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = Host),
        (status = 400, body = InfraError),
        (status = 401, body = InfraError),
        (status = 403, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_host(
    State(app): State<Arc<App>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<Host>, Problem> {
    let found = app
        .hosts
        .find(infra_env_id, host_id)
        .await?
        .ok_or_else(|| unknown(infra_env_id, host_id))?;
    Ok(Json(view(&app, &found).await?))
}
