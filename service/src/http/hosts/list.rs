use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::Host;
use muster_api::ids::InfraEnvId;

use super::view;
use crate::app::App;
use crate::http::body::Path;
use crate::http::problem::Problem;

/// List the hosts of an InfraEnv.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts", operation_id = "v2ListHosts", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 200, body = Vec<Host>),
        (status = 400, body = InfraError),
        (status = 401, body = InfraError),
        (status = 403, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn list_hosts(
    State(app): State<Arc<App>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<Vec<Host>>, Problem> {
    app.infra_envs.get(infra_env_id).await?;
    let found = app.hosts.list(infra_env_id).await?;
    let mut views = Vec::with_capacity(found.len());
    for host in &found {
        views.push(view(&app, host).await?);
    }
    Ok(Json(views))
}
