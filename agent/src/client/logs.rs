//! Reports the progress of collecting logs, and uploads them. Source: docs/protocol/agent-protocol.md#8.

use std::time::Duration;

use futures_util::StreamExt;
use muster_api::MUSTER_PATH;
use muster_api::host::{LogsProgressParams, LogsProgressState};
use muster_api::ids::HostId;
use reqwest::Method;
use uuid::Uuid;

use super::{Client, Failure, read_body, reason};

/// Longest duration of an upload.
const LOGS_UPLOAD: Duration = Duration::from_secs(600);

impl Client {
    /// Reports the progress of collecting logs.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn logs_progress(
        &self,
        infra_env: Uuid,
        host: Uuid,
        state: LogsProgressState,
    ) -> Result<(), Failure> {
        let url = self.api(&format!("infra-envs/{infra_env}/hosts/{host}/logs-progress"));
        let request = self
            .request(Method::PUT, url, None, Uuid::new_v4())
            .json(&LogsProgressParams { logs_state: state });
        self.answer(Some(HostId(host)), request).await.map(drop)
    }

    /// Uploads an archive of logs as it is made: to a cluster, or to the host's own place. An error among the pieces aborts the upload.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn upload_logs(
        &self,
        cluster: Option<Uuid>,
        host: Uuid,
        infra_env: Uuid,
        pieces: tokio::sync::mpsc::Receiver<std::io::Result<Vec<u8>>>,
    ) -> Result<(), Failure> {
        let boundary = Uuid::new_v4().simple().to_string();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\n\
             Content-Type: application/x-gzip\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let pieces = futures_util::stream::unfold(pieces, async |mut pieces| {
            pieces.recv().await.map(|piece| (piece, pieces))
        });
        let body = futures_util::stream::iter([Ok(head.into_bytes())])
            .chain(pieces)
            .chain(futures_util::stream::iter([Ok(tail.into_bytes())]));
        let url = match cluster {
            Some(cluster) => {
                let mut url = self.api(&format!("clusters/{cluster}/logs"));
                url.query_pairs_mut()
                    .append_pair("host_id", &host.to_string())
                    .append_pair("infra_env_id", &infra_env.to_string())
                    .append_pair("logs_type", "host");
                url
            }
            None => self.below(
                MUSTER_PATH,
                &format!("infra-envs/{infra_env}/hosts/{host}/logs/archive"),
            ),
        };
        let request = self
            .request(Method::POST, url, None, Uuid::new_v4())
            .header(
                "content-type",
                format!("multipart/form-data; boundary={boundary}"),
            )
            .timeout(LOGS_UPLOAD)
            .body(reqwest::Body::wrap_stream(body));
        // A stream cannot be sent twice: no quick retries.
        let response = self.request_once(Some(HostId(host)), request).await?;
        let status = response.status();
        let body = read_body(response).await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(Failure::Status(status.as_u16(), reason(&body)))
        }
    }
}
