use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::HeaderMap;
use muster_api::error::ApiError;
use muster_api::ids::{ClusterId, HostId};
use muster_core::record::Host;
use muster_core::rules::hostname;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_http::download::{check_accept, streamed};
use muster_operations::Operations;
use muster_operations::hosts::Hosts;
use muster_operations::records::{LogOwner, StoreError, StoredLog};

use super::which::{DownloadQuery, LogsType};
use crate::scopes::Scopes;

/// A record of a tar archive, bytes.
const TAR_BLOCK: u64 = 512;

/// Download logs of a cluster
///
/// Those of a host, of the installation controller, or all in one archive.
#[utoipa::path(
    get, path = "/clusters/{cluster_id}/logs", operation_id = "V2DownloadClusterLogs", tag = "installer",
    params(("cluster_id" = ClusterId, Path), DownloadQuery),
    responses(
        (status = 200, body = String, content_type = "application/octet-stream"),
        (status = 400, body = ApiError),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "None have come yet"),
    )
)]
pub async fn download_cluster_logs(
    State(operations): State<Arc<Operations>>,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    Path(cluster_id): Path<ClusterId>,
    Query(query): Query<DownloadQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_accept(&headers)?;
    let own = scopes.of_cluster(caller, cluster_id).await?;
    // Logs outlive a deleted cluster.
    let cluster = operations.clusters.find(cluster_id, true).await?.cluster;
    let name = &cluster.data.name;
    let mut logs = operations.logs.of_cluster(cluster_id).await?;
    if let Some(own) = own {
        logs.retain(|log| matches!(log.owner, LogOwner::Host { infra_env_id, .. } if infra_env_id == own));
    }
    if let Caller::Cluster { url, .. } = caller
        && let Some(host_id) = url.host_id
    {
        logs.retain(|log| host_of(log) == Some(host_id));
    }
    match query.logs_type.unwrap_or(LogsType::All) {
        LogsType::Host => {
            let host_id = query
                .host_id
                .ok_or_else(|| Problem::invalid("host_id is required with logs_type=host"))?;
            logs.retain(|log| host_of(log) == Some(host_id));
            let log = only(logs, &format!("host {host_id}"))?;
            let file = file_name(&operations.hosts, (name, cluster_id), &log).await?;
            Ok(streamed(
                &file,
                log.size as u64,
                Body::from_stream(content(operations.clone(), log)),
            ))
        }
        LogsType::Controller => {
            logs.retain(|log| log.owner == LogOwner::Controller);
            let log = only(logs, "the installation controller")?;
            let file = format!("{name}_{cluster_id}_controller.tar.gz");
            Ok(streamed(
                &file,
                log.size as u64,
                Body::from_stream(content(operations.clone(), log)),
            ))
        }
        LogsType::All => {
            if logs.is_empty() {
                return Err(none_yet("this cluster"));
            }
            archive(&operations, name, cluster_id, logs).await
        }
    }
}

fn host_of(log: &StoredLog) -> Option<HostId> {
    match log.owner {
        LogOwner::Host { host_id, .. } => Some(host_id),
        LogOwner::Controller => None,
    }
}

/// The newest upload of an owner; the only one that is kept.
fn only(mut logs: Vec<StoredLog>, of: &str) -> Result<StoredLog, Problem> {
    logs.pop().ok_or_else(|| none_yet(of))
}

fn none_yet(of: &str) -> Problem {
    Problem::conflict(format!(
        "no logs of {of} have come yet: hosts send theirs after an error or a cancelled installation"
    ))
}

/// `<cluster>_<role>_<hostname>.tar.gz`, or the controller's.
async fn file_name(
    hosts: &Hosts,
    (cluster, cluster_id): (&str, ClusterId),
    log: &StoredLog,
) -> Result<String, Problem> {
    let LogOwner::Host {
        infra_env_id,
        host_id,
    } = log.owner
    else {
        return Ok(format!("{cluster}_{cluster_id}_controller.tar.gz"));
    };
    let host = hosts.find(infra_env_id, host_id).await?;
    let (role, name) = host.as_ref().map_or_else(
        || ("host", host_id.to_string()),
        |host: &Host| (host.data.role.name(), name_in_file(host)),
    );
    Ok(format!("{cluster}_{role}_{name}.tar.gz"))
}

/// A host's name if it is safe: the name that a machine reports may lead out of a folder, or fit into no archive. Else its id.
pub(super) fn name_in_file(host: &Host) -> String {
    let name = hostname::display(host);
    match hostname::check(&name) {
        Ok(()) => name,
        Err(_) => host.id.to_string(),
    }
}

type Part = Result<Bytes, StoreError>;

/// The bytes of one upload, a chunk in memory at a time. One that is replaced meanwhile ends early, which the client notices.
pub(super) fn content(
    operations: Arc<Operations>,
    log: StoredLog,
) -> impl Stream<Item = Part> + Send + 'static {
    stream::try_unfold((operations, log, 0), |(operations, log, number)| async move {
        if number == log.chunks {
            return Ok(None);
        }
        let chunk = operations.logs.chunk(&log, number).await?;
        Ok(Some((Bytes::from(chunk), (operations, log, number + 1))))
    })
}

/// All uploads as files of one tar archive.
async fn archive(
    operations: &Arc<Operations>,
    cluster: &str,
    cluster_id: ClusterId,
    logs: Vec<StoredLog>,
) -> Result<Response, Problem> {
    let mut parts: Vec<stream::BoxStream<'static, Part>> = Vec::new();
    let mut length = 2 * TAR_BLOCK;
    for log in logs {
        let size = log.size as u64;
        let header = tar_header(
            &file_name(&operations.hosts, (cluster, cluster_id), &log).await?,
            size,
            &log,
        )?;
        let padding = size.next_multiple_of(TAR_BLOCK) - size;
        length += header.len() as u64 + size + padding;
        let once = |bytes: Vec<u8>| stream::once(async move { Part::Ok(bytes.into()) }).boxed();
        parts.push(once(header));
        parts.push(content(operations.clone(), log).boxed());
        parts.push(once(vec![0; padding as usize]));
    }
    parts.push(stream::once(async { Part::Ok(Bytes::from_static(&[0; 2 * TAR_BLOCK as usize])) }).boxed());
    let file = format!("{cluster}_{cluster_id}.tar");
    Ok(streamed(
        &file,
        length,
        Body::from_stream(stream::iter(parts).flatten()),
    ))
}

fn tar_header(name: &str, size: u64, log: &StoredLog) -> Result<Vec<u8>, Problem> {
    let mut header = tar::Header::new_ustar();
    if header.set_path(name).is_err() {
        // Only the cluster's name can be at fault now, and a file without it is better than none.
        let plain = format!("{}.tar.gz", log.id);
        header.set_path(&plain).map_err(|error| {
            Problem::conflict(format!("{plain:?} is no name for a file of an archive: {error}"))
        })?;
    }
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(u64::try_from(log.completed_at.timestamp()).unwrap_or_default());
    header.set_cksum();
    Ok(header.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use muster_api::ids::InfraEnvId;
    use muster_api::inventory::Inventory;
    use muster_api::time::Timestamp;
    use muster_core::record::{HostData, HostState, Secret};

    use super::*;

    fn called(name: &str) -> Host {
        Host {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            cluster_id: None,
            state: HostState::KnownUnbound,
            version: 1,
            due_at: None,
            checked_in_at: Timestamp::UNIX_EPOCH,
            inventory: Some(Arc::new(Inventory {
                hostname: name.into(),
                ..Inventory::default()
            })),
            reports: Default::default(),
            bootstrap_ignition: Secret::default(),
            data: HostData::new(Timestamp::UNIX_EPOCH),
        }
    }

    #[test]
    fn a_hostile_name_does_not_stop_the_archive() {
        assert_eq!(name_in_file(&called("worker-1")), "worker-1");
        for hostile in [
            "../../etc/passwd",
            "a/../b",
            "x".repeat(200).as_str(),
            "a b",
            "\u{202e}",
        ] {
            let host = called(hostile);
            assert_eq!(name_in_file(&host), host.id.to_string(), "{hostile}");
        }
    }
}
