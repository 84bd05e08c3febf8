use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::bmc::Bmc;
use muster_api::error::ApiError;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::view;
use muster_http::Problem;
use muster_http::body::Path;
use muster_operations::bmcs::Bmcs;
use muster_operations::infra_envs::InfraEnvs;

/// List the BMCs of an InfraEnv
///
/// By name, without the inventories of their machines.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/bmcs", operation_id = "MusterListBmcs", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path)),
    responses((status = 200, body = Vec<Bmc>), (status = 404, body = ApiError))
)]
pub async fn list_bmcs(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(bmcs): State<Arc<Bmcs>>,
    Path(infra_env_id): Path<InfraEnvId>,
) -> Result<Json<Vec<Bmc>>, Problem> {
    infra_envs.get(infra_env_id).await?;
    let list = bmcs.list(infra_env_id).await?;
    let brief = |bmc| Bmc {
        inventory: None,
        ..view(bmc)
    };
    Ok(Json(list.iter().map(brief).collect()))
}

/// Get a BMC
///
/// With the progress of its machine's discovery, and the machine as the BMC reports it.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/bmcs/{bmc_id}", operation_id = "MusterGetBmc", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ("bmc_id" = BmcId, Path)),
    responses((status = 200, body = Bmc), (status = 404, body = ApiError))
)]
pub async fn get_bmc(
    State(bmcs): State<Arc<Bmcs>>,
    Path((infra_env_id, bmc_id)): Path<(InfraEnvId, BmcId)>,
) -> Result<Json<Bmc>, Problem> {
    Ok(Json(view(&bmcs.get(infra_env_id, bmc_id).await?)))
}
