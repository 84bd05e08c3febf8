use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::bmc::{Bmc, BmcImportParams};
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_core::lifecycle::bmc::view;
use muster_http::Problem;
use muster_http::body::{Body, Path, Query};
use muster_operations::bmcs::Bmcs;
use muster_operations::infra_envs::InfraEnvs;
use serde::Deserialize;
use utoipa::IntoParams;

/// How to import.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ImportQuery {
    /// Report whether they could be added, and add none.
    #[serde(default)]
    dry_run: bool,
}

/// Add several BMCs
///
/// All or none; at most 1000 at once. The reason of a refusal begins with the index in the list, from 0: `[3].address`.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/bmcs/import", operation_id = "MusterImportBmcs", tag = "bmcs",
    params(("infra_env_id" = InfraEnvId, Path), ImportQuery),
    request_body = BmcImportParams,
    responses(
        (status = 200, body = Vec<Bmc>, description = "They could be added"),
        (status = 201, body = Vec<Bmc>),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Another BMC has a name or an address"),
    )
)]
pub async fn import_bmcs(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(bmcs): State<Arc<Bmcs>>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ImportQuery>,
    Body(params): Body<BmcImportParams>,
) -> Result<(StatusCode, Json<Vec<Bmc>>), Problem> {
    infra_envs.get(infra_env_id).await?;
    let made = bmcs.add(infra_env_id, params.bmcs, query.dry_run).await?;
    let status = match query.dry_run {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    Ok((status, Json(made.iter().map(view).collect())))
}
