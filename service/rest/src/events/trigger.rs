use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use http::{HeaderMap, Method, StatusCode, Uri};
use muster_api::error::ApiError;
use muster_api::event::{Category, TriggeredEvent};
use muster_core::record::{MAX_MESSAGE, NewEvent};
use muster_core::text::one_line;
use muster_http::Caller;
use muster_http::body::Body;
use muster_http::{Problem, proof};
use muster_operations::{Operations, now};
use serde_json::{Map, Value};

use crate::scopes::Scopes;

/// Longest name that is kept, bytes.
const MAX_NAME: usize = 128;

/// Largest `props`, bytes.
const MAX_PROPS: usize = 16 << 10;

/// Record an event
///
/// Events with a limited name are dropped without an error when the limit is reached, as are those of an InfraEnv whose hosts
/// send very many.
#[utoipa::path(
    post, path = "/events", operation_id = "v2TriggerEvent", tag = "events",
    request_body = TriggeredEvent,
    responses(
        (status = 201),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError, description = "The host is not in that InfraEnv, or there is no such InfraEnv"),
    )
)]
pub async fn trigger_event(
    State(operations): State<Arc<Operations>>,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    Body(told): Body<TriggeredEvent>,
) -> Result<StatusCode, Problem> {
    let name = one_line(told.name.as_deref().unwrap_or_default(), MAX_NAME);
    if name.is_empty() {
        return Err(Problem::invalid("name: an event needs one"));
    }
    check_scope(&operations, &scopes, caller, &told).await?;
    if let (Caller::InfraEnv(own), Some(host_id)) = (caller, told.host_id) {
        let spoken = (method.as_str(), uri.path());
        proof::check(&operations.hosts, (own, host_id), spoken, &headers).await?;
    }
    if let Caller::InfraEnv(own) | Caller::InfraEnvUrl(own) = caller
        && !operations.event_quota.take(own, Instant::now())
    {
        return Ok(StatusCode::CREATED);
    }
    let event = NewEvent {
        name: name.into(),
        severity: told.severity,
        category: told.category.unwrap_or(Category::User),
        message: one_line(&told.message, MAX_MESSAGE),
        props: props(told.props.as_deref().unwrap_or_default())?,
        host_id: told.host_id,
        infra_env_id: told.infra_env_id,
        cluster_id: told.cluster_id,
        at: now(),
    };
    operations.events.record(event).await?;
    Ok(StatusCode::CREATED)
}

/// Allows a host to record events of its own InfraEnv, of hosts in it and of clusters that they belong to, and of nothing else.
async fn check_scope(
    operations: &Operations,
    scopes: &Scopes,
    caller: Caller,
    told: &TriggeredEvent,
) -> Result<(), Problem> {
    let foreign = |what: &str| {
        Problem::Handler(
            StatusCode::FORBIDDEN,
            format!("{what}: this token opens the InfraEnv that it was made for and nothing else"),
        )
    };
    match caller {
        Caller::Anybody | Caller::Operator => {}
        Caller::OperatorOf(own) | Caller::InfraEnv(own) | Caller::InfraEnvUrl(own) => {
            if told.infra_env_id.is_some_and(|named| named != own) {
                return Err(foreign("infra_env_id"));
            }
            if told.infra_env_id.is_none() && (told.host_id.is_none() || told.cluster_id.is_some()) {
                return Err(foreign("infra_env_id is missing"));
            }
        }
        Caller::Cluster { .. } => return Err(foreign("cluster_id")),
    }
    if let Some(cluster_id) = told.cluster_id {
        scopes.of_cluster(caller, cluster_id).await?;
    }
    let scope = match caller {
        Caller::OperatorOf(own) | Caller::InfraEnv(own) | Caller::InfraEnvUrl(own) => Some(own),
        Caller::Anybody | Caller::Operator | Caller::Cluster { .. } => told.infra_env_id,
    };
    if let Some(infra_env_id) = scope {
        operations.infra_envs.get(infra_env_id).await?;
        if let Some(host_id) = told.host_id
            && !operations.hosts.exists(infra_env_id, host_id).await?
        {
            return Err(Problem::not_found(format!(
                "host {host_id} in infra_env {infra_env_id}"
            )));
        }
    }
    Ok(())
}

fn props(text: &str) -> Result<Map<String, Value>, Problem> {
    if text.is_empty() {
        return Ok(Map::new());
    }
    if text.len() > MAX_PROPS {
        return Err(Problem::invalid(format!("props: at most {MAX_PROPS} bytes")));
    }
    serde_json::from_str(text)
        .map_err(|error| Problem::invalid(format!("props: not a JSON object as text: {error}")))
}
