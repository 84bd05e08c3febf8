use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{FromRequest, Multipart, Request, State};
use http::StatusCode;
use muster_api::error::ApiError;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use muster_operations::logs::Upload;
use muster_operations::records::LogOwner;
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

use super::which::LogsType;
use crate::hosts::turn::apply;
use crate::scopes::Scopes;

/// Largest upload, bytes: the protocol's limit.
pub const LIMIT: usize = 262_144_000;

/// Bytes that are written at once.
const CHUNK: usize = 512 << 10;

/// Time in which the rest of a refused upload is read.
const DRAIN: Duration = Duration::from_secs(10);

/// The owner of the logs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UploadQuery {
    #[param(inline)]
    logs_type: LogsType,
    /// Required with `host`.
    infra_env_id: Option<InfraEnvId>,
    /// Required with `host`.
    host_id: Option<HostId>,
}

/// The form that logs come in.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes the body, which is read as it streams")]
pub struct UploadForm {
    /// The archive; at most 262144000 bytes.
    #[schema(value_type = String, format = Binary)]
    upfile: Vec<u8>,
}

/// Upload logs
///
/// Those of a host or of the installation controller; they replace the logs uploaded before.
#[utoipa::path(
    post, path = "/clusters/{cluster_id}/logs", operation_id = "V2UploadLogs", tag = "installer",
    params(("cluster_id" = ClusterId, Path), UploadQuery),
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses(
        (status = 204),
        (status = 400, body = ApiError, description = "The form is not as described, or too large"),
        (status = 404, body = ApiError, description = "There is no such cluster, or the host is not bound to it"),
        (status = 409, body = ApiError),
    )
)]
pub async fn upload_logs(
    State(operations): State<Arc<Operations>>,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    Path(cluster_id): Path<ClusterId>,
    Query(query): Query<UploadQuery>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let owner = owner(&operations, &scopes, caller, cluster_id, &query).await?;
    store_upload(&operations, Some(cluster_id), owner, request).await?;
    if let LogOwner::Host {
        infra_env_id,
        host_id,
    } = owner
    {
        apply(&operations.hosts, infra_env_id, host_id, HostEvent::LogsUploaded).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Stores the file of a form in place of the owner's last one, within the limits of all uploads. `cluster_id`: `None` for logs that an
/// operator requested from a host.
pub(super) async fn store_upload(
    operations: &Operations,
    cluster_id: Option<ClusterId>,
    owner: LogOwner,
    request: Request,
) -> Result<(), Problem> {
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|rejection| Problem::bad_request(format!("the form cannot be read: {rejection}")))?;
    let mut upload = operations.logs.begin(cluster_id, owner).await?;
    receive(&mut form, &mut upload).await?;
    let size = upload.finish().await?;
    let cluster = cluster_id.map(|id| id.to_string());
    tracing::info!(cluster.id = cluster, ?owner, bytes = size, "logs have come");
    Ok(())
}

/// Reads the rest of the upload, for a while: a client that is sending does not read the refusal.
async fn drain(form: &mut Multipart) {
    let rest = async {
        while let Ok(Some(mut field)) = form.next_field().await {
            while let Ok(Some(_)) = field.chunk().await {}
        }
    };
    let _ = timeout(DRAIN, rest).await;
}

/// The owner of the logs, if the caller may send them.
async fn owner(
    operations: &Operations,
    scopes: &Scopes,
    caller: Caller,
    cluster_id: ClusterId,
    query: &UploadQuery,
) -> Result<LogOwner, Problem> {
    let own = scopes.of_cluster(caller, cluster_id).await?;
    operations.clusters.get(cluster_id).await?;
    match query.logs_type {
        // A host may send its own logs only.
        LogsType::Controller if own.is_some() => {
            return Err(Problem::Framework(
                StatusCode::FORBIDDEN,
                "logs of the controller are taken with the operator's token or the cluster's".into(),
            ));
        }
        LogsType::Controller => return Ok(LogOwner::Controller),
        LogsType::All => return Err(Problem::invalid("logs_type: host or controller can be sent")),
        LogsType::Host => {}
    }
    let (Some(infra_env_id), Some(host_id)) = (query.infra_env_id, query.host_id) else {
        return Err(Problem::invalid(
            "infra_env_id and host_id name the host of these logs; both are required with logs_type=host",
        ));
    };
    if own.is_some_and(|own| own != infra_env_id) {
        return Err(Problem::Framework(
            StatusCode::FORBIDDEN,
            "this token belongs to another InfraEnv".into(),
        ));
    }
    let host = operations.hosts.brief(infra_env_id, host_id).await?;
    if host.is_none_or(|host| host.cluster_id != Some(cluster_id)) {
        return Err(Problem::absent(format!(
            "no host {host_id} of infra_env {infra_env_id} is bound to cluster {cluster_id}"
        )));
    }
    Ok(LogOwner::Host {
        infra_env_id,
        host_id,
    })
}

/// Stores the one file of the form; if it is refused, the client can read the reason.
async fn receive(form: &mut Multipart, upload: &mut Upload<'_>) -> Result<(), Problem> {
    let stored = store_file(form, upload).await;
    if stored
        .as_ref()
        .is_err_and(|problem| problem.status().is_server_error())
    {
        drain(form).await;
    }
    stored
}

async fn store_file(form: &mut Multipart, upload: &mut Upload<'_>) -> Result<(), Problem> {
    let broken = |error: axum::extract::multipart::MultipartError| {
        if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return too_large();
        }
        Problem::bad_request(format!("the form cannot be read: {}", error.body_text()))
    };
    while let Some(mut field) = form.next_field().await.map_err(broken)? {
        if field.name() != Some("upfile") {
            continue;
        }
        let mut buffer = Vec::with_capacity(CHUNK);
        while let Some(bytes) = field.chunk().await.map_err(broken)? {
            buffer.extend_from_slice(&bytes);
            if upload.size() as usize + buffer.len() > LIMIT {
                return Err(too_large());
            }
            if buffer.len() >= CHUNK {
                upload.append(&buffer).await?;
                buffer.clear();
            }
        }
        if !buffer.is_empty() {
            upload.append(&buffer).await?;
        }
        return Ok(());
    }
    Err(Problem::bad_request("the form has no file \"upfile\""))
}

fn too_large() -> Problem {
    Problem::invalid(format!("logs of at most {LIMIT} bytes are taken"))
}
