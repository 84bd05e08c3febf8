use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::host::{Host, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path, Query};
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::views::Views;

/// How to change a host.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UpdateHostQuery {
    /// Answer as the change would be answered, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Update a host
///
/// What a user decides: name, role, disks, labels. All of it or nothing.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2UpdateHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), UpdateHostQuery),
    request_body = HostUpdateParams,
    responses(
        (status = 200, body = Host, description = "It could be changed so (`dry_run`)"),
        (status = 201, body = Host),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Not in the host's present state, or its Agent decides; the reason explains how to change that"),
    )
)]
pub async fn update_host(
    State(operations): State<Arc<Operations>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Query(query): Query<UpdateHostQuery>,
    Body(params): Body<HostUpdateParams>,
) -> Result<(StatusCode, Json<Host>), Problem> {
    let (hosts, bridge, event) = (&operations.hosts, &operations.bridge, HostEvent::Edited(params));
    let (status, updated) = if query.dry_run {
        let changed = hosts
            .dry_run_by_user(bridge, infra_env_id, host_id, &event)
            .await?;
        (StatusCode::OK, changed)
    } else {
        let changed = hosts.apply_by_user(bridge, infra_env_id, host_id, event).await?;
        (StatusCode::CREATED, changed)
    };
    Ok((status, Json(views.host(&updated).await?)))
}
