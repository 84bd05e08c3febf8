use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::bmc::{Bmc, BmcPowerParams};
use muster_api::error::ApiError;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::view;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::bmcs::Bmcs;

/// Switch, reset or query the power of a machine
///
/// It is done as soon as the BMC is free: poll the BMC until the outcome of `power.request` is not `pending`. A query of the state
/// while the machine is being switched returns that request.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}/actions/power", operation_id = "MusterPowerBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    request_body = BmcPowerParams,
    responses(
        (status = 202, body = Bmc),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "The machine is being discovered or installed and it is not forced, another request is under way, or the last login was refused"),
    )
)]
pub async fn power_bmc(
    State(bmcs): State<Arc<Bmcs>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
    Body(params): Body<BmcPowerParams>,
) -> Result<(StatusCode, Json<Bmc>), Problem> {
    let bmc = bmcs.power(infra_env_id, bmc_id, params).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&bmc))))
}
