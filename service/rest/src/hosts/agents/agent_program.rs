use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::{HostId, InfraEnvId};
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::hosts::Hosts;
use serde::Deserialize;
use utoipa::IntoParams;

/// The program, and the part of it that the host has already.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProgramQuery {
    /// Of the program, hexadecimal.
    sha256: String,
    /// Bytes to leave out from the start.
    offset: Option<u64>,
}

/// Download the agent program
///
/// That of the live image, compressed, for a host whose agent is older.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/agent-program", operation_id = "MusterDownloadAgentProgram",
    tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), ProgramQuery),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream", description = "One frame of zstd with a newc archive, in which the program is `init`"),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "There is no such host, or the live image holds another program"),
    )
)]
pub async fn download_agent_program(
    State(hosts): State<Arc<Hosts>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Query(query): Query<ProgramQuery>,
) -> Result<Response, Problem> {
    if !hosts.exists(infra_env_id, host_id).await? {
        return Err(Problem::not_found(format!("host {host_id}")));
    }
    let Some(packed) = hosts.agent_program(&query.sha256).await? else {
        return Err(Problem::absent(
            "the live image holds another agent than this one",
        ));
    };
    let packed = Bytes::from_owner(packed);
    let offset = usize::try_from(query.offset.unwrap_or_default()).unwrap_or(usize::MAX);
    if offset > packed.len() {
        return Err(Problem::bad_request(format!(
            "offset: the program has {} bytes, packed",
            packed.len()
        )));
    }
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((kind, packed.slice(offset..)).into_response())
}
