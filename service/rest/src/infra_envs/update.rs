use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnv, InfraEnvUpdateParams};
use muster_core::lifecycle::infra_env;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;
use muster_operations::infra_envs::InfraEnvs;

use crate::views::Views;

/// Update an InfraEnv
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}", operation_id = "UpdateInfraEnv", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path)),
    request_body = InfraEnvUpdateParams,
    responses(
        (status = 201, body = InfraEnv),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "No image applies one of the static networks, a custom resource decides (the reason explains how to change that), or somebody else changed it again and again"),
    )
)]
pub async fn update_infra_env(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(operations): State<Arc<Operations>>,
    views: Views,
    Path(infra_env_id): Path<InfraEnvId>,
    Body(params): Body<InfraEnvUpdateParams>,
) -> Result<(StatusCode, Json<InfraEnv>), Problem> {
    infra_env::check_image(&[], &[], "", None, params.image_type)?;
    if let Some(version) = &params.openshift_version {
        operations.check_version(version)?;
    }
    if let Some(why) = infra_env::refused_network(params.static_network_config.as_deref())? {
        infra_envs.get(infra_env_id).await?;
        return Err(Problem::conflict(why));
    }
    let updated = infra_envs
        .update_by_user(&operations.bridge, infra_env_id, &params, |next| {
            operations.check_image(next)
        })
        .await?;
    Ok((StatusCode::CREATED, Json(views.infra_env(&updated))))
}
