use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::{Host, HostWakeParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::{SleepCause, WakeCause};
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::bmcs::Bmcs;
use muster_operations::hosts::Hosts;

use crate::views::Views;

/// Switch a host off until it is wanted
///
/// Its BMC shuts it down; it stays a candidate, and a bind wakes it. Poll the host until `sleep.stage` is `asleep`, or `sleep` is gone, which
/// means that it could not be switched off. It stays asleep until a bind or a request wakes it, whatever the warm spares of its InfraEnv.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/sleep", operation_id = "MusterSleepHost",
    tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 202, body = Host),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is not known-unbound, its Agent names a cluster, or no BMC that can be used has booted it"),
    )
)]
pub async fn sleep_host(
    State(bmcs): State<Arc<Bmcs>>,
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path(key): Path<(InfraEnvId, HostId)>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let host = bmcs.put_to_sleep(&hosts, key, SleepCause::Person).await?;
    Ok((StatusCode::ACCEPTED, Json(views.host(&host).await?)))
}

/// Wake a host
///
/// Its BMC boots it from the discovery image. With `keep` it stays awake until a person puts it to sleep; that may be requested of a host
/// that is awake, too.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/actions/wake", operation_id = "MusterWakeHost",
    tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = HostWakeParams,
    responses(
        (status = 202, body = Host),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "It is awake, or did not wake the last time"),
    )
)]
pub async fn wake_host(
    State(bmcs): State<Arc<Bmcs>>,
    State(hosts): State<Arc<Hosts>>,
    views: Views,
    Path(key): Path<(InfraEnvId, HostId)>,
    Body(params): Body<HostWakeParams>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let host = bmcs.wake(&hosts, key, WakeCause::Person, params.keep).await?;
    Ok((StatusCode::ACCEPTED, Json(views.host(&host).await?)))
}
