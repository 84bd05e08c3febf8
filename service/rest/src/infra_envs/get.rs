use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnv;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::infra_envs::InfraEnvs;

use crate::views::Views;

/// Get an InfraEnv
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}", operation_id = "GetInfraEnv", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 200, body = InfraEnv),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_infra_env(
    State(infra_envs): State<Arc<InfraEnvs>>,
    views: Views,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<InfraEnv>, Problem> {
    let found = infra_envs.get(infra_env_id).await?;
    Ok(Json(views.infra_env(&found)))
}
