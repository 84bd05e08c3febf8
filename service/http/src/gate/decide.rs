//! Decides about a request by its credentials: tokens wherever clients put them, and sessions.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use muster_api::AGENT_TOKEN_HEADER;
use muster_api::ids::InfraEnvId;
use muster_core::record::InfraEnv;
use muster_operations::Operations;
use muster_operations::audit::Audit;
use muster_operations::auth::token::{self, Claims};
use muster_operations::auth::{Auth, ClusterUrl, OperatorClaims, OperatorTokens, Session, Sessions};
use muster_operations::clusters::Clusters;
use muster_operations::hosts::Hosts;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::now;

use super::caller::{Admitted, Allowed, Caller, SignedIn, Target};
use crate::audit::OperationIds;
use crate::cookie::SessionCookie;
use crate::origin;
use crate::problem::Problem;

/// Keys and records that tokens are checked against.
#[derive(Clone)]
pub struct Gate {
    pub(super) auth: Arc<Auth>,
    infra_envs: Arc<InfraEnvs>,
    clusters: Arc<Clusters>,
    pub(super) hosts: Arc<Hosts>,
    operator_tokens: OperatorTokens,
    sessions: Sessions,
    pub(super) cookie: SessionCookie,
    pub(super) audit: Arc<Audit>,
    pub(super) operation_ids: OperationIds,
}

impl Gate {
    /// The gate of a service.
    pub fn of(operations: &Operations) -> Self {
        Self {
            auth: operations.auth.clone(),
            infra_envs: operations.infra_envs.clone(),
            clusters: operations.clusters.clone(),
            hosts: operations.hosts.clone(),
            operator_tokens: operations.operator_tokens.clone(),
            sessions: operations.sessions.clone(),
            cookie: SessionCookie::of(&operations.urls),
            audit: operations.audit.clone(),
            operation_ids: OperationIds::default(),
        }
    }

    /// The same gate, whose audit has these names of operations.
    pub fn with_operation_ids(self, operation_ids: OperationIds) -> Self {
        Self {
            operation_ids,
            ..self
        }
    }
}

/// The place of a token in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    Authorization,
    SecretKey,
    Url,
}

/// Decides for one request.
pub async fn admit(
    gate: &Gate,
    allowed: Allowed,
    headers: &HeaderMap,
    query: Option<&str>,
    target: Target,
) -> Result<Admitted, Problem> {
    if !gate.auth.asks_for_tokens() {
        return Ok(Admitted::of(Caller::Anybody));
    }
    let admitted = by_token(gate, allowed, credentials(headers, query), target).await;
    if admitted.is_ok() || names_token(headers) {
        return admitted;
    }
    let mut last = admitted;
    for secret in gate.cookie.find(headers) {
        last = by_session(gate, allowed, secret, headers, target).await;
        if last.is_ok() {
            break;
        }
    }
    last
}

/// True if the client names a token itself, which is then the one that counts. A proxy in front may have passwords of its own (`Basic`).
fn names_token(headers: &HeaderMap) -> bool {
    let named = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    named.is_some_and(|named| {
        !named
            .get(..6)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic "))
    })
}

/// The refusal of a request without a credential.
pub fn no_credential() -> Problem {
    Problem::unauthenticated("unauthenticated for invalid credentials")
}

/// Admits by the first of these tokens that opens the operation.
pub(super) async fn by_token(
    gate: &Gate,
    allowed: Allowed,
    tokens: Vec<(Carrier, String)>,
    target: Target,
) -> Result<Admitted, Problem> {
    let mut refusal = no_credential();
    for (carrier, token) in tokens {
        let admitted = match claims_of(gate, &token) {
            Ok(claims) => authorize(gate, allowed, carrier, claims, target).await,
            Err(problem) => Err(problem),
        };
        match admitted {
            Ok(admitted) => return Ok(admitted),
            Err(problem) => refusal = problem,
        }
    }
    Err(refusal)
}

/// Admits the holder of a session to what its token opens, but to no operation that is for hosts alone.
async fn by_session(
    gate: &Gate,
    allowed: Allowed,
    secret: &str,
    headers: &HeaderMap,
    target: Target,
) -> Result<Admitted, Problem> {
    if !allowed.user() {
        return Err(for_hosts());
    }
    if target.changes {
        origin::only_own_pages(headers, gate.cookie.scheme())?;
    }
    match gate.sessions.find(secret, now()).await? {
        Some((session, claims)) => operator(gate, claims, Some(session), allowed, target).await,
        None => Err(Problem::unauthenticated(
            "this session has ended, or its token has; sign in again",
        )),
    }
}

/// Every token of a request, in the order in which they are tried.
pub(super) fn credentials(headers: &HeaderMap, query: Option<&str>) -> Vec<(Carrier, String)> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .filter(|text| !text.is_empty())
    };
    let mut found = Vec::new();
    if let Some(text) = header(header::AUTHORIZATION.as_str()).filter(|_| names_token(headers)) {
        let token = text
            .strip_prefix("Bearer ")
            .or_else(|| text.strip_prefix("bearer "))
            .unwrap_or(text);
        found.push((Carrier::Authorization, token.trim().to_owned()));
    }
    if let Some(token) = header(AGENT_TOKEN_HEADER) {
        found.push((Carrier::SecretKey, token.to_owned()));
    }
    if let Some(token) = header("image-token") {
        found.push((Carrier::Url, token.to_owned()));
    }
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    found.extend(
        pairs
            .filter(|(name, value)| matches!(&**name, "api_key" | "image_token") && !value.is_empty())
            .map(|(_, value)| (Carrier::Url, value.into_owned())),
    );
    found
}

/// Reads a token.
fn claims_of(gate: &Gate, token: &str) -> Result<Claims, Problem> {
    gate.auth
        .verify(token)
        .map_err(|error| Problem::unauthenticated(error.to_string()))
}

/// The InfraEnv that a token in a path opens for downloads.
pub async fn infra_env_of(gate: &Gate, token: &str) -> Result<InfraEnvId, Problem> {
    let claims = claims_of(gate, token)?;
    let (Claims::InfraEnv { infra_env_id, .. } | Claims::InfraEnvUrl { infra_env_id, .. }) = claims else {
        return Err(Problem::unauthenticated(
            "this URL takes the token of an InfraEnv",
        ));
    };
    if gate.auth.asks_for_tokens() {
        let target = Target {
            infra_env: Some(infra_env_id),
            ..Target::default()
        };
        authorize(gate, Allowed::UserOrUrl, Carrier::Url, claims, target).await?;
    }
    Ok(infra_env_id)
}

async fn authorize(
    gate: &Gate,
    allowed: Allowed,
    carrier: Carrier,
    claims: Claims,
    target: Target,
) -> Result<Admitted, Problem> {
    match claims {
        Claims::Operator(claims) => {
            if carrier == Carrier::Url {
                return Err(Problem::unauthenticated(
                    "the operator's token belongs in the Authorization header, not in a URL",
                ));
            }
            if allowed.user() || carrier == Carrier::Authorization {
                return operator(gate, claims, None, allowed, target).await;
            }
            Err(for_hosts())
        }
        Claims::InfraEnv {
            infra_env_id,
            generation,
        } => {
            let fits = match carrier {
                Carrier::SecretKey => allowed.agent(),
                Carrier::Url => allowed.url(),
                Carrier::Authorization => allowed.agent() || allowed.url(),
            };
            if !fits {
                return Err(for_the_operator());
            }
            let infra_env = opens_infra_env(gate, carrier, infra_env_id, target).await?;
            if generation != infra_env.settings.token_generation {
                return Err(Problem::unauthenticated(
                    "the tokens of this InfraEnv were replaced since this one was made; boot the machine from an image downloaded since",
                ));
            }
            Ok(Admitted::of(Caller::InfraEnv(infra_env_id)))
        }
        Claims::InfraEnvUrl {
            infra_env_id,
            url_key,
            ..
        } => {
            // Proxies log URLs, too: a token in a URL reads, and never acts for a host.
            if carrier == Carrier::SecretKey {
                return Err(Problem::unauthenticated(
                    "this token is for URLs; X-Secret-Key takes the token of an image (muster token --infra-env)",
                ));
            }
            if !allowed.url() {
                return Err(for_the_operator());
            }
            let infra_env = opens_infra_env(gate, carrier, infra_env_id, target).await?;
            if url_key != token::url_key(&infra_env.boot_id) {
                return Err(revoked());
            }
            Ok(Admitted::of(Caller::InfraEnvUrl(infra_env_id)))
        }
        Claims::ClusterUrl {
            cluster_id,
            purpose,
            host_id,
            url_key,
            ..
        } => {
            if !allowed.url() || carrier == Carrier::SecretKey {
                return Err(for_the_operator());
            }
            if target.infra_env.is_some() || target.cluster.is_some_and(|named| named != cluster_id) {
                return Err(foreign(carrier, "this token belongs to another cluster"));
            }
            let cluster = match gate.clusters.get(cluster_id).await {
                Err(error) if error.is_missing() => {
                    return Err(Problem::unauthenticated(
                        "the cluster of this URL no longer exists",
                    ));
                }
                found => found?,
            };
            if url_key != token::url_key(cluster.data.url_key.reveal()) {
                return Err(revoked());
            }
            Ok(Admitted::of(Caller::Cluster {
                id: cluster_id,
                url: ClusterUrl { purpose, host_id },
            }))
        }
    }
}

/// Admits the holder of an operator's token that is not revoked, or of a session in force, to what the token opens.
async fn operator(
    gate: &Gate,
    claims: OperatorClaims,
    session: Option<Session>,
    allowed: Allowed,
    target: Target,
) -> Result<Admitted, Problem> {
    let mut who = "operator".to_owned();
    // Tokens of earlier versions have no id and no row.
    if let Some(id) = &claims.jti {
        if session.is_none() && !gate.operator_tokens.is_in_force(id, now()).await? {
            return Err(Problem::unauthenticated(
                "this operator's token was revoked; get a new one (muster token create)",
            ));
        }
        who = format!("operator {} ({id})", claims.name);
    }
    let beyond = |what: String| Problem::Framework(StatusCode::FORBIDDEN, what);
    if claims.read_only && target.changes && allowed != Allowed::Session {
        return Err(beyond("this operator's token reads and changes nothing".into()));
    }
    let caller = match claims.only {
        None => Caller::Operator,
        Some(own) => {
            // Operations that name nothing in their path and are open to signed URLs or to scopes check the scope themselves.
            let checks = allowed.url() || matches!(allowed, Allowed::Scoped | Allowed::Session);
            let checked = target.infra_env.is_none() && target.cluster.is_none() && checks;
            if target.infra_env != Some(own) && !checked {
                return Err(beyond(format!(
                    "this operator's token is for InfraEnv {own} alone"
                )));
            }
            Caller::OperatorOf(own)
        }
    };
    Ok(Admitted {
        caller,
        who,
        signed_in: Some(SignedIn { claims, session }),
    })
}

fn for_hosts() -> Problem {
    Problem::unauthenticated("this operation is for hosts; X-Secret-Key takes an InfraEnv's token")
}

fn revoked() -> Problem {
    Problem::unauthenticated("this URL was revoked; get a new one")
}

fn for_the_operator() -> Problem {
    Problem::unauthenticated("this operation requires the operator's token (muster token create --operator)")
}

fn foreign(carrier: Carrier, why: &str) -> Problem {
    match carrier {
        Carrier::Url => Problem::Framework(StatusCode::NOT_FOUND, "Object Not Found".into()),
        Carrier::SecretKey | Carrier::Authorization => {
            Problem::Framework(StatusCode::FORBIDDEN, why.to_owned())
        }
    }
}

/// The InfraEnv of a verified token, when it is the one that `target` names, if any.
pub(super) async fn opens_infra_env(
    gate: &Gate,
    carrier: Carrier,
    infra_env_id: InfraEnvId,
    target: Target,
) -> Result<Arc<InfraEnv>, Problem> {
    if target.infra_env.is_some_and(|named| named != infra_env_id) {
        return Err(foreign(carrier, "this token belongs to another InfraEnv"));
    }
    gate.infra_envs
        .find(infra_env_id)
        .await?
        .ok_or_else(|| Problem::unauthenticated("the InfraEnv of this token no longer exists"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_every_place_where_clients_put_them() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer one".parse().unwrap());
        headers.insert("x-secret-key", "two".parse().unwrap());
        headers.insert("image-token", "three".parse().unwrap());
        let found = credentials(
            &headers,
            Some("file_name=x&api_key=four&image_token=five&image_token="),
        );
        assert_eq!(
            found.iter().map(|(_, token)| token.as_str()).collect::<Vec<_>>(),
            ["one", "two", "three", "four", "five"]
        );
    }

    #[test]
    fn the_passwords_of_a_proxy_are_no_token() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "basic b3BlcmF0b3I6cGFzc3dvcmQ=".parse().unwrap());
        assert!(credentials(&headers, None).is_empty());
    }

    #[test]
    fn the_operators_token_is_taken_raw_too() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "raw".parse().unwrap());
        assert_eq!(
            credentials(&headers, None),
            [(Carrier::Authorization, "raw".to_owned())]
        );
    }
}
