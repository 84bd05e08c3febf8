use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::bmc::{Bmc, BmcCreateParams};
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_core::lifecycle::bmc::view;
use muster_http::body::{Body, Path};
use muster_http::{Made, Problem};
use muster_operations::bmcs::Bmcs;
use muster_operations::infra_envs::InfraEnvs;

/// Add a BMC
///
/// Its machine is switched off, booted from the InfraEnv's image and discovered, unless `discover` is false.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/bmcs", operation_id = "MusterCreateBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path)),
    request_body = BmcCreateParams,
    responses(
        (status = 201, body = Bmc),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Another BMC has the name or the address"),
    )
)]
pub async fn create_bmc(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(bmcs): State<Arc<Bmcs>>,
    Path(infra_env_id): Path<InfraEnvId>,
    Body(params): Body<BmcCreateParams>,
) -> Result<(StatusCode, Extension<Made>, Json<Bmc>), Problem> {
    infra_envs.get(infra_env_id).await?;
    let made = bmcs.add(infra_env_id, vec![params], false).await?;
    let shown = made.first().map(view).ok_or_else(Problem::internal)?;
    let made = Extension(Made::bmc(infra_env_id, shown.id));
    Ok((StatusCode::CREATED, made, Json(shown)))
}
