use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::host::{HostLogFile, HostLogFiles, HostLogLine, HostLogLines};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::millis;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use muster_operations::records::StoredLog;
use serde::Deserialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use utoipa::IntoParams;

use super::archive::{NoArchive, Wanted, files, lines};

/// Bytes of an archive that are read; the rest of it can be downloaded.
const LARGEST: usize = 16 << 20;

/// Archives that are unpacked at once: each takes its bytes in memory, and a processor.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Longest wait for a turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Default number of lines.
const LIMIT: usize = 500;

/// Most lines in one answer.
const MAX_LIMIT: i64 = 2000;

/// Longest text that is searched for, bytes.
const LONGEST_TEXT: usize = 256;

/// The lines.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct LinesQuery {
    /// Name of a file of the archive.
    file: String,
    /// Only lines with this number or a greater one [default: 1].
    #[param(minimum = 1)]
    from: Option<i64>,
    /// `true`: the last of the lines in place of the first.
    last: bool,
    /// Only lines that contain this text, in any case of ASCII letters.
    text: String,
    /// At most so many, and 1 MiB of them [default: 500].
    #[param(minimum = 1, maximum = 2000)]
    limit: Option<i64>,
}

/// List the files in a host's logs
///
/// Of the last logs that came, the first 16 MiB of the archive and 64 MiB of what is in it: at most 1,000 files, without those whose names have
/// more than 512 bytes.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs/files", operation_id = "MusterListHostLogFiles", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    responses(
        (status = 200, body = HostLogFiles),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "None have come, they were deleted, or they are no gzipped tar archive"),
    )
)]
pub async fn list_host_log_files(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
) -> Result<Json<HostLogFiles>, Problem> {
    let log = stored(&operations, infra_env_id, host_id).await?;
    let came_at = millis(Some(log.completed_at));
    let (found, is_part) = unpacked(&operations, &log, |bytes| files(&bytes)).await?;
    let found = found.map_err(no_archive)?;
    let files = found.files.into_iter();
    Ok(Json(HostLogFiles {
        came_at,
        files: files.map(|(name, size)| HostLogFile { name, size }).collect(),
        is_cut: found.is_cut || is_part,
    }))
}

/// Get lines of a host's logs
///
/// Of one file, with their numbers: from a line on, the last ones, or those that contain a text. Lines are cut after 4,096 bytes; what is no
/// UTF-8 is replaced.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts/{host_id}/logs/lines", operation_id = "MusterReadHostLog", tag = "hosts",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path), LinesQuery),
    responses(
        (status = 200, body = HostLogLines),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "There is no such host, or no such file in its logs"),
        (status = 409, body = ApiError, description = "None have come, they were deleted, or they are no gzipped tar archive"),
    )
)]
pub async fn read_host_log(
    State(operations): State<Arc<Operations>>,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Query(query): Query<LinesQuery>,
) -> Result<Json<HostLogLines>, Problem> {
    let most = match query.limit {
        None => LIMIT,
        Some(limit @ 1..=MAX_LIMIT) => usize::try_from(limit).unwrap_or(LIMIT),
        Some(_) => {
            return Err(Problem::bad_request(format!(
                "limit: 1 to {MAX_LIMIT} lines are answered at once"
            )));
        }
    };
    let from = match query.from.unwrap_or(1) {
        from @ 1.. => u64::try_from(from).unwrap_or(1),
        _ => return Err(Problem::bad_request("from: the first line is 1")),
    };
    if query.text.len() > LONGEST_TEXT {
        let words = format!("text: at most {LONGEST_TEXT} bytes");
        return Err(Problem::bad_request(words));
    }
    let wanted = Wanted {
        file: query.file,
        from,
        most,
        last: query.last,
        text: query.text,
    };
    let log = stored(&operations, infra_env_id, host_id).await?;
    let came_at = millis(Some(log.completed_at));
    let file = wanted.file.clone();
    let (found, is_part) = unpacked(&operations, &log, move |bytes| lines(&bytes, &wanted)).await?;
    let found = found.map_err(no_archive)?.ok_or_else(|| {
        Problem::absent(format!(
            "there is no file {file:?} in the logs of host {host_id}, or behind what is read of them"
        ))
    })?;
    Ok(Json(HostLogLines {
        came_at,
        size: found.size,
        lines: found
            .lines
            .into_iter()
            .map(|(number, text)| HostLogLine { number, text })
            .collect(),
        more: found.more,
        is_cut: found.is_cut || is_part,
    }))
}

/// The last logs of a host.
async fn stored(
    operations: &Operations,
    infra_env_id: InfraEnvId,
    host_id: HostId,
) -> Result<StoredLog, Problem> {
    operations.hosts.get(infra_env_id, host_id).await?;
    let log = operations.logs.last_of_host(infra_env_id, host_id).await?;
    log.ok_or_else(|| {
        Problem::conflict(format!(
            "there are no logs of host {host_id}: none have come, or they were deleted by age or size; request them by POST on the path of its logs"
        ))
    })
}

/// What `read` returns for the archive, and whether it was a part of it.
async fn unpacked<T: Send + 'static>(
    operations: &Operations,
    log: &StoredLog,
    read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
) -> Result<(T, bool), Problem> {
    let turn = timeout(PATIENCE, TURNS.acquire()).await;
    let busy = || Problem::unavailable("too many logs are being read; try again");
    let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
    let mut bytes = Vec::new();
    let mut number = 0;
    while number < log.chunks && bytes.len() < LARGEST {
        bytes.extend(operations.logs.chunk(log, number).await?);
        number += 1;
    }
    let is_part = number < log.chunks;
    Ok((in_turn(turn, move || read(bytes)).await?, is_part))
}

/// Runs `work` where it may take long. It cannot be cut off: the turn ends with it, and not with a request whose client goes away.
async fn in_turn<T: Send + 'static>(
    turn: SemaphorePermit<'static>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let working = spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    working.await.map_err(|_| Problem::internal())
}

fn no_archive(_: NoArchive) -> Problem {
    Problem::conflict(
        "these logs are no gzipped tar archive, which alone is shown: download them as they came",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_turn_lasts_as_long_as_its_work_though_the_client_goes_away() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let (begins, begun) = oneshot::channel::<()>();
        let (end, ends) = mpsc::channel::<()>();
        let turn = ONE.acquire().await.unwrap();
        let request = tokio::spawn(in_turn(turn, move || {
            begins.send(()).ok();
            ends.recv().ok();
        }));
        begun.await.unwrap();
        request.abort();
        assert!(request.await.is_err());
        assert_eq!(ONE.available_permits(), 0);
        end.send(()).unwrap();
        drop(ONE.acquire().await.unwrap());
    }
}
