//! Admits agents that act for a host: with a proof of the host's key, and then, where the host is installed, also with a token that was
//! replaced; the response holds the new one.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use muster_api::ids::HostId;
use muster_api::{AGENT_TOKEN_HEADER, REPLACING_TOKEN_HEADER};
use muster_core::record::InfraEnv;
use muster_operations::auth::Claims;

use super::caller::{Admitted, Allowed, Caller, Target};
use super::decide::{Carrier, Gate, opens_infra_env};
use crate::problem::Problem;
use crate::proof;

/// The parts of a request that a proof covers, and the headers that carry it.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// Method and path.
    pub spoken: (&'a str, &'a str),
    pub headers: &'a HeaderMap,
}

impl<'a> Said<'a> {
    /// Takes them from a request.
    pub fn of(request: &'a Request) -> Self {
        Self {
            spoken: (request.method().as_str(), request.uri().path()),
            headers: request.headers(),
        }
    }
}

/// Decides on a request that names `host`, after `admitted`; also returns the token that the response shall hold.
pub async fn admit(
    gate: &Gate,
    allowed: Allowed,
    target: Target,
    host: HostId,
    said: Said<'_>,
    admitted: Result<Admitted, Problem>,
) -> (Result<Admitted, Problem>, Option<String>) {
    let Ok(found) = admitted else {
        return match goes_on(gate, allowed, target, host, said).await {
            Ok(Some(infra_env)) => (
                Ok(Admitted::of(Caller::InfraEnv(infra_env.id))),
                gate.auth.infra_env_token(&infra_env),
            ),
            Ok(None) => (admitted, None),
            Err(problem) => (Err(problem), None),
        };
    };
    let Caller::InfraEnv(own) = found.caller else {
        return (Ok(found), None);
    };
    let proved = proof::check(&gate.hosts, (own, host), said.spoken, said.headers).await;
    (proved.map(|()| found), None)
}

/// The InfraEnv of the replaced token that an agent's request carries, if the request proves that its host may still use it.
///
/// # Errors
/// Fails for a token of another InfraEnv than the path's, and if the database does.
async fn goes_on(
    gate: &Gate,
    allowed: Allowed,
    target: Target,
    host: HostId,
    said: Said<'_>,
) -> Result<Option<Arc<InfraEnv>>, Problem> {
    let token = said.headers.get(AGENT_TOKEN_HEADER);
    let token = token.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Ok(Claims::InfraEnv {
        infra_env_id,
        generation,
    }) = gate.auth.verify(token)
    else {
        return Ok(None);
    };
    if !allowed.agent() {
        return Ok(None);
    }
    let infra_env = opens_infra_env(gate, Carrier::SecretKey, infra_env_id, target).await?;
    let proves = generation < infra_env.settings.token_generation
        && proof::outlasts_token(&gate.hosts, (infra_env_id, host), said.spoken, said.headers).await?;
    Ok(proves.then_some(infra_env))
}

/// Adds the new token to the response.
pub fn hand_out(response: &mut Response, token: &str) {
    if let Ok(mut token) = HeaderValue::from_str(token) {
        token.set_sensitive(true);
        response.headers_mut().insert(REPLACING_TOKEN_HEADER, token);
    }
}
