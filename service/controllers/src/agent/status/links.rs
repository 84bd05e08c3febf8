//! Builds the addresses in an Agent's status. They are addresses of REST.

use muster_api::BASE_PATH;
use muster_api::time::Timestamp;
use muster_core::record::{Host, InfraEnv};
use muster_operations::auth::{ClusterUrl, UrlPurpose};
use muster_operations::{OperationError, Operations};
use muster_resources::AgentStatus;
use url::form_urlencoded::Serializer;

/// The address of the events of `host`, while it is bound. A token in the address of `before` is kept while
/// it is valid for long enough.
pub fn events(
    operations: &Operations,
    infra_env: &InfraEnv,
    host: &Host,
    before: &AgentStatus,
    now: Timestamp,
) -> Option<String> {
    host.cluster_id?;
    let known = before
        .debug_info
        .as_ref()
        .and_then(|info| info.events_url.as_deref());
    let token = operations.auth.kept_url_token(infra_env, known, now);
    Some(operations.urls.events("host_id", host.id, token.as_deref()))
}

/// The address of the host's logs, once some were uploaded. It gives no access to other hosts. A token in the address of `before` is kept
/// likewise.
///
/// # Errors
/// Fails if the database does.
pub async fn logs(
    operations: &Operations,
    host: &Host,
    before: &AgentStatus,
    now: Timestamp,
) -> Result<Option<String>, OperationError> {
    let Some(cluster_id) = host.cluster_id.filter(|_| host.data.logs.collected_at.is_some()) else {
        return Ok(None);
    };
    let cluster = match operations.clusters.get(cluster_id).await {
        // The host is about to be released.
        Err(error) if error.is_missing() => return Ok(None),
        found => found?,
    };
    let known = before
        .debug_info
        .as_ref()
        .and_then(|info| info.logs_url.as_deref());
    let scope = ClusterUrl {
        purpose: UrlPurpose::Logs,
        host_id: Some(host.id),
    };
    let mut query = Serializer::new(String::new());
    if let Some(token) = operations
        .auth
        .kept_cluster_url_token(&cluster, scope, known, now)
    {
        query.append_pair("api_key", &token);
    }
    query.append_pair("host_id", &host.id.to_string());
    query.append_pair("logs_type", "host");
    let base = &operations.urls.public;
    Ok(Some(format!(
        "{base}{BASE_PATH}/clusters/{cluster_id}/logs?{}",
        query.finish()
    )))
}
