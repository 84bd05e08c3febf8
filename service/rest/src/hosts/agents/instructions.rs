use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use muster_api::agent::AGENT_BUILD_HEADER;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::Steps;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use muster_operations::hosts::check_ins::Seen;
use serde::Deserialize;
use utoipa::IntoParams;

use super::register::agent_version;

/// Digits of a SHA-256.
const DIGEST_DIGITS: usize = 64;

/// The host's clock.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// Seconds since 1970 on the host.
    timestamp: Option<i64>,
}

/// Get the next steps of a host
///
/// The request is the heartbeat of the host, too.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/instructions", operation_id = "v2GetNextSteps", tag = "installer",
    params(
        ("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), PollQuery,
        ("discovery_agent_version" = Option<String>, Header),
        ("x-muster-agent-build" = Option<String>, Header, description = "SHA-256 of the agent's program; of Muster agents that can become another one in place"),
    ),
    responses(
        (status = 200, body = Steps),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_next_steps(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Query(query): Query<PollQuery>,
    headers: HeaderMap,
) -> Result<Json<Steps>, Problem> {
    let seen = Seen {
        at: operations.now(),
        host_clock: query.timestamp.filter(|clock| *clock != 0),
        agent_version: agent_version(&headers),
    };
    let build = agent_build(&headers);
    let steps = operations.next_steps(infra_env_id, host_id, seen, build).await?;
    Ok(Json(steps))
}

fn agent_build(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AGENT_BUILD_HEADER)?.to_str().ok()?;
    let is_digest = text.len() == DIGEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then_some(text)
}
