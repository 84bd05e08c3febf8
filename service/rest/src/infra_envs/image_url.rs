use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::PresignedUrl;
use muster_api::time::NEVER_MILLIS;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::urls::Urls;

/// Get the URL of the discovery ISO
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/downloads/image-url", operation_id = "GetInfraEnvDownloadURL", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 200, body = PresignedUrl),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_image_url(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(urls): State<Arc<Urls>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<PresignedUrl>, Problem> {
    let found = infra_envs.get(infra_env_id).await?;
    Ok(Json(PresignedUrl {
        url: urls.iso(&found),
        expires_at: NEVER_MILLIS.into(),
    }))
}
