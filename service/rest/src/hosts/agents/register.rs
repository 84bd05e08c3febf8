use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use http::{HeaderMap, Method, StatusCode, Uri};
use muster_api::AGENT_VERSION_HEADER;
use muster_api::error::ApiError;
use muster_api::fingerprint::{FINGERPRINT_HEADER, Fingerprint};
use muster_api::host::{HostCreateParams, HostRegistrationResponse};
use muster_api::ids::InfraEnvId;
use muster_core::lifecycle::host::{Machine, Shown, registration_view, repeated_registration_view};
use muster_core::rules::agent_version::answered_agent_version;
use muster_http::body::{Body, Path};
use muster_http::{Caller, Problem, proof};
use muster_operations::hosts::Hosts;
use muster_operations::hosts::Registration;

use super::turn::turn;
use crate::views::USER;

/// Register a host
///
/// Also a known one that booted again. A second machine with the id of another is registered under an id of its own, which
/// is in the response and in its command.
#[utoipa::path(
    post, path = "/infra-envs/{infra_env_id}/hosts", operation_id = "v2RegisterHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("discovery_agent_version" = Option<String>, Header),
        ("x-muster-host-key" = Option<String>, Header, description = "The public part of the machine's key, which later requests prove; of Muster agents"),
        ("x-muster-fingerprint" = Option<String>, Header, description = "Distinguishes the machine from others of the same id; of Muster agents")),
    request_body = HostCreateParams,
    responses(
        (status = 201, body = HostRegistrationResponse),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError, description = "The InfraEnv does not exist"),
        (status = 409, body = ApiError),
        (status = 503, body = ApiError, description = "Another machine holds this id by its key, and still reports"),
    )
)]
pub async fn register_host(
    State(hosts): State<Arc<Hosts>>,
    Path(infra_env_id): Path<InfraEnvId>,
    Extension(caller): Extension<Caller>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    Body(params): Body<HostCreateParams>,
) -> Result<(StatusCode, Json<HostRegistrationResponse>), Problem> {
    let reported = params
        .discovery_agent_version
        .or_else(|| agent_version(&headers))
        .unwrap_or_default();
    let told = answered_agent_version(&reported, hosts.agent_version(), hosts.agent_image());
    let shown = Shown {
        user: USER,
        ..Shown::default()
    };
    // Without authentication no proof is required.
    let public_key = match caller {
        Caller::InfraEnv(_) => {
            proof::public_key(&hosts, params.host_id, (method.as_str(), uri.path()), &headers)?
        }
        _ => String::new(),
    };
    let machine = Machine {
        fingerprint: fingerprint(&headers),
        public_key,
    };
    let _turn = turn(infra_env_id).await?;
    let answer = match hosts
        .register(infra_env_id, params.host_id, &reported, machine)
        .await?
    {
        Registration::New(host) => registration_view(&host, told, shown),
        Registration::Again(host) => repeated_registration_view(&host, told, shown),
    };
    Ok((StatusCode::CREATED, Json(answer)))
}

/// The machine's fingerprint, which Muster's agent sends. A value that cannot be read is ignored.
fn fingerprint(headers: &HeaderMap) -> Option<Fingerprint> {
    let text = headers.get(FINGERPRINT_HEADER)?.to_str().unwrap_or_default();
    match Fingerprint::from_header(text) {
        Ok(told) => (!told.is_empty()).then_some(told),
        Err(why) => {
            tracing::warn!("{why}");
            None
        }
    }
}

/// The version in the header of a host's request, capped to what a version can be.
pub fn agent_version(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(AGENT_VERSION_HEADER)?.to_str().ok()?;
    (!text.is_empty() && text.len() <= 512).then(|| text.to_owned())
}
