use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::bmc::{Bmc, BmcUpdateParams};
use muster_api::error::ApiError;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::view;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;

/// Update a BMC
///
/// A discovery that failed or is in progress starts again when a setting that it needs has changed.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}", operation_id = "MusterUpdateBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    request_body = BmcUpdateParams,
    responses(
        (status = 200, body = Bmc),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Another BMC has the name or the address, it cannot move now, or a custom resource decides about it"),
    )
)]
pub async fn update_bmc(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
    Body(params): Body<BmcUpdateParams>,
) -> Result<Json<Bmc>, Problem> {
    let changed = operations
        .bmcs
        .update_by_user(&operations.bridge, infra_env_id, bmc_id, &params)
        .await?;
    Ok(Json(view(&changed)))
}

/// Delete a BMC with its password
///
/// The host that its machine has become stays.
#[utoipa::path(
    delete, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}", operation_id = "MusterDeleteBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    responses(
        (status = 204),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Its machine is being discovered, the image is being taken out, or a custom resource decides about it"),
    )
)]
pub async fn delete_bmc(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
) -> Result<StatusCode, Problem> {
    operations
        .bmcs
        .delete_by_user(&operations.bridge, infra_env_id, bmc_id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
