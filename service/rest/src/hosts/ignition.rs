//! Sets and renders the ignition that a host is installed with.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use muster_api::error::{ApiError, InfraError};
use muster_api::host::HostIgnitionParams;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::Secret;
use muster_core::rules::ignition::node::node;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_http::download::{attachment, check_accept};
use muster_operations::{Operations, now};

/// Set the ignition override of a host
///
/// It is merged into the ignition of the host; an empty text removes it.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/ignition", operation_id = "v2UpdateHostIgnition", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = HostIgnitionParams,
    responses(
        (status = 201),
        (status = 400, body = ApiError, description = "Ignition would refuse it; the reason has the paths of the members"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError),
    )
)]
pub async fn update_host_ignition(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<HostIgnitionParams>,
) -> Result<StatusCode, Problem> {
    let event = HostEvent::IgnitionOverrideSet(Secret::new(params.config.unwrap_or_default()));
    operations
        .hosts
        .apply_by_user(&operations.bridge, infra_env_id, host_id, event)
        .await?;
    Ok(StatusCode::CREATED)
}

/// Get the ignition of a bound host
///
/// The whole one that the host is installed with; where cloud-init configures its image, the files of its seed as JSON.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/ignition", operation_id = "v2GetHostIgnition", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = HostIgnitionParams),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "There is no such host, or it is bound to no cluster"),
        (status = 409, body = ApiError, description = "None can be made; the text gives the reason"),
    )
)]
pub async fn get_host_ignition(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<HostIgnitionParams>, Problem> {
    let config = render(&operations, infra_env_id, host_id).await?;
    Ok(Json(HostIgnitionParams { config: Some(config) }))
}

/// Download the ignition of a host
///
/// As v2GetHostIgnition, as a file.
#[utoipa::path(
    get, path = "/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition", operation_id = "v2DownloadHostIgnition", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream"),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "There is no such host, or it is bound to no cluster"),
        (status = 409, body = ApiError, description = "None can be made; the text gives the reason"),
    )
)]
pub async fn download_host_ignition(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_accept(&headers)?;
    let config = render(&operations, infra_env_id, host_id).await?;
    Ok(attachment(&format!("{host_id}.ign"), now(), config))
}

async fn render(
    operations: &Operations,
    infra_env_id: InfraEnvId,
    host_id: HostId,
) -> Result<String, Problem> {
    let host = operations.hosts.get(infra_env_id, host_id).await?;
    let Some(cluster_id) = host.cluster_id else {
        return Err(Problem::absent(format!(
            "host {host_id} is bound to no cluster: it has no ignition"
        )));
    };
    if let Some(seed) = operations.hosts.seed(&host).await? {
        return seed.map_err(Problem::conflict);
    }
    let context = operations.clusters.context(cluster_id, host_id).await?;
    let Some(facts) = context.as_ref().and_then(|context| context.facts()) else {
        return Err(Problem::not_found(format!(
            "cluster {cluster_id} of host {host_id}"
        )));
    };
    let infra_env = operations.infra_envs.get(infra_env_id).await?;
    let agent = operations.node_agent_config(&infra_env, host_id);
    node(&host, facts, &agent).map_err(|error| Problem::conflict(error.to_string()))
}
