use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnv, InfraEnvCreateParams};
use muster_core::infra_env;

use super::view;
use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;
use muster_operations::random;

/// Create an InfraEnv.
#[utoipa::path(
    post, path = "/infra-envs", operation_id = "RegisterInfraEnv", tag = "installer",
    request_body = InfraEnvCreateParams,
    responses(
        (status = 201, body = InfraEnv),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 401, body = InfraError),
        (status = 403, body = InfraError),
        (status = 404, body = ApiError, description = "The cluster does not exist"),
    )
)]
pub async fn create_infra_env(
    State(app): State<Arc<App>>,
    Body(mut params): Body<InfraEnvCreateParams>,
) -> Result<(StatusCode, Json<InfraEnv>), Problem> {
    if let Some(cluster_id) = params.cluster_id {
        let cluster = app.clusters.get(cluster_id).await?;
        let asked = params.cpu_architecture.unwrap_or_default().normalized();
        let wanted = cluster.data.cpu_architecture.unwrap_or(asked).normalized();
        if asked != wanted {
            return Err(Problem::invalid(format!(
                "cpu_architecture: the cluster {} is made of {}, not of {}",
                cluster.data.name,
                wanted.name(),
                asked.name()
            )));
        }
    }
    if params.openshift_version.as_deref().unwrap_or_default().is_empty() {
        params.openshift_version = app.newest_version().map(str::to_owned);
    }
    let made = infra_env::create(params, InfraEnvId::random(), random::boot_id(), app.now())?;
    let stored = app.infra_envs.create(made).await?;
    Ok((StatusCode::CREATED, Json(view(&app, &stored))))
}
