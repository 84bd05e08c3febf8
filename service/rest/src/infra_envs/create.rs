use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::{InfraEnv, InfraEnvCreateParams};
use muster_core::lifecycle::infra_env;
use muster_http::body::Body;
use muster_http::{Made, Problem};
use muster_operations::Operations;
use muster_operations::clusters::Clusters;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::now;
use muster_operations::random;

use crate::views::Views;

/// Register an InfraEnv
#[utoipa::path(
    post, path = "/infra-envs", operation_id = "RegisterInfraEnv", tag = "installer",
    request_body = InfraEnvCreateParams,
    responses(
        (status = 201, body = InfraEnv),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError, description = "The cluster does not exist"),
        (status = 409, body = ApiError, description = "No image applies one of the static networks"),
    )
)]
pub async fn create_infra_env(
    State(infra_envs): State<Arc<InfraEnvs>>,
    State(clusters): State<Arc<Clusters>>,
    State(operations): State<Arc<Operations>>,
    views: Views,
    Body(mut params): Body<InfraEnvCreateParams>,
) -> Result<(StatusCode, Extension<Made>, Json<InfraEnv>), Problem> {
    if let Some(cluster_id) = params.cluster_id {
        let cluster = clusters.get(cluster_id).await?;
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
    let unapplied = infra_env::refused_network(params.static_network_config.as_deref())?;
    let asked = params.openshift_version.clone().unwrap_or_default();
    if asked.is_empty() {
        params.openshift_version = operations.newest_version().map(str::to_owned);
    }
    let version = params.openshift_version.as_deref().unwrap_or_default();
    let images = operations.os_images.list();
    let own = operations.live_images.other_architectures();
    infra_env::check_image(&images, &own, version, params.cpu_architecture, params.image_type)?;
    let made = infra_env::create(params, InfraEnvId::random(), random::boot_id(), now())?;
    operations.check_version(&asked)?;
    operations.check_image(&made)?;
    if let Some(why) = unapplied {
        return Err(Problem::conflict(why));
    }
    let stored = infra_envs.create(made).await?;
    let made = Extension(Made::infra_env(stored.id));
    Ok((StatusCode::CREATED, made, Json(views.infra_env(&stored))))
}
