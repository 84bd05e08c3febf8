use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::HostStateChange;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::millis;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::hosts::Hosts;
use muster_operations::records::HistoryRecord;
use serde::Deserialize;
use utoipa::IntoParams;

/// Changes that are returned by default.
const LIMIT: u32 = 100;

/// Which of the changes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// At most so many, the newest [default: 100].
    #[param(minimum = 1)]
    limit: Option<i64>,
}

/// List the state changes of a host
///
/// Oldest first.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/history", operation_id = "MusterListHostHistory", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), HistoryQuery),
    responses(
        (status = 200, body = Vec<HostStateChange>),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn list_host_history(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Vec<HostStateChange>>, Problem> {
    let limit = match query.limit {
        Some(..1) => return Err(Problem::bad_request("limit: at least 1 change")),
        Some(limit) => u32::try_from(limit).unwrap_or(u32::MAX),
        None => LIMIT,
    };
    hosts.get(infra_env_id, host_id).await?;
    let told = hosts.history(infra_env_id, host_id, limit).await?;
    Ok(Json(told.into_iter().map(change).collect()))
}

fn change(HistoryRecord { entry, .. }: HistoryRecord) -> HostStateChange {
    HostStateChange {
        at: millis(Some(entry.at)),
        from: entry.from,
        to: entry.to,
        who: entry.who,
        event: entry.event,
        reason: entry.reason,
    }
}
