use std::sync::Arc;

use axum::extract::State;
use http::{HeaderMap, StatusCode};
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_http::Problem;
use muster_http::body::Path;
use muster_http::download::check_accept;
use muster_operations::infra_envs::InfraEnvs;

/// Download the initrd of a minimal ISO
///
/// It is empty: the live image carries everything in its configuration area.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/downloads/minimal-initrd", operation_id = "DownloadMinimalInitrd", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses(
        (status = 204),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn download_minimal_initrd(
    State(infra_envs): State<Arc<InfraEnvs>>,
    Path(infra_env_id): Path<InfraEnvId>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    check_accept(&headers)?;
    infra_envs.get(infra_env_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
