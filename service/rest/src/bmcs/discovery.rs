use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::bmc::Bmc;
use muster_api::error::ApiError;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::view;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::Operations;
use muster_operations::bmcs::Bmcs;

/// Discover the machine of a BMC
///
/// The machine is switched off and booted from the InfraEnv's image. Refused credentials and untrusted certificates are not tried
/// again; change them.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}/actions/discover", operation_id = "MusterDiscoverBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    responses(
        (status = 202, body = Bmc),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is under way, what was refused is unchanged, or a custom resource disables its discovery"),
    )
)]
pub async fn discover_bmc(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
) -> Result<(StatusCode, Json<Bmc>), Problem> {
    let bmc = operations
        .bmcs
        .discover_by_user(&operations.bridge, infra_env_id, bmc_id)
        .await?;
    Ok((StatusCode::ACCEPTED, Json(view(&bmc))))
}

/// Stop the discovery of a machine
///
/// The image is ejected; the power of the machine stays as it is.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}/actions/stop", operation_id = "MusterStopBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    responses((status = 202, body = Bmc), (status = 404, body = ApiError), (status = 409, body = ApiError))
)]
pub async fn stop_bmc(
    State(bmcs): State<Arc<Bmcs>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
) -> Result<(StatusCode, Json<Bmc>), Problem> {
    let bmc = bmcs.stop(infra_env_id, bmc_id).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&bmc))))
}
