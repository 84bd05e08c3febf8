//! Logs: requested, collecting, the upload, completed. Source: docs/protocol/agent-protocol.md#8. If no cluster is
//! named they are uploaded to a URL of the host, like our agent's.

use bytes::Bytes;
use http::Method;
use muster_api::MUSTER_PATH;
use muster_api::steps::Step;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::Desk;
use crate::faults::Fault;
use crate::measure::{Ending, Operation};
use crate::steps::Outcome;
use crate::wire::{Ask, Body};

const BOUNDARY: &str = "muster-fleet-e9c2b6a4";

/// Bytes of a line of a long log.
const LINE_BYTES: usize = 300;

#[derive(Deserialize)]
struct LogsRequest {
    cluster_id: Option<String>,
}

impl Desk {
    /// `logs-gather`.
    pub(super) async fn gather_logs(&self, step: Step) {
        let request = step
            .args
            .first()
            .and_then(|text| serde_json::from_str::<LogsRequest>(text).ok());
        let cluster = match request.and_then(|request| request.cluster_id).as_deref() {
            Some("") => Ok(None),
            Some(id) => id.parse().map(Some),
            None => "none".parse().map(Some),
        };
        let Ok(cluster) = cluster else {
            let bad = Outcome::failed(-1, "the arguments name no cluster");
            self.reply(&step, bad, None).await;
            return;
        };
        let ending = match cluster {
            Some(cluster) => self.send_logs(cluster).await,
            None => self.send_asked_logs().await,
        };
        let outcome = if ending.is_good() {
            Outcome::done()
        } else {
            Outcome::failed(1, format!("the logs could not be uploaded: {ending}"))
        };
        self.reply(&step, outcome, None).await;
    }

    /// Runs the whole sequence; returns the ending of the upload.
    pub(super) async fn send_logs(&self, cluster: Uuid) -> Ending {
        self.logs_progress("requested").await;
        self.logs_progress("collecting").await;
        let ending = if self.part.fault == Some(Fault::LongLog) {
            self.upload_long_log(cluster).await
        } else {
            let content = self.small_archive();
            let body = Body::repeated(self.part_head(), content, 1, part_tail());
            self.upload(&self.cluster_logs(cluster), body, None).await
        };
        self.logs_progress("completed").await;
        ending
    }

    /// Sends the logs that an operator requested.
    async fn send_asked_logs(&self) -> Ending {
        let path = format!("{MUSTER_PATH}{}/logs/archive", self.path());
        let body = Body::repeated(self.part_head(), self.small_archive(), 1, part_tail());
        self.upload(&path, body, None).await
    }

    async fn logs_progress(&self, state: &str) {
        let path = format!("{}/logs-progress", self.path());
        let ask = Ask::new(Operation::Logs, Method::PUT, &path)
            .json(json!({"logs_state": state}).to_string().into());
        self.wire.ask(ask).await;
    }

    /// An unrequested log, to a cluster that does not exist.
    pub(super) async fn long_log(&self) {
        self.upload_long_log(Uuid::from_u128(self.host.0.as_u128() ^ 1))
            .await;
    }

    async fn upload_long_log(&self, cluster: Uuid) -> Ending {
        let mut line = "the same kernel message again, ".repeat(LINE_BYTES / 31 + 1);
        line.truncate(LINE_BYTES - 1);
        line.push('\n');
        let lines = self.world.options.log_lines;
        let body = Body::repeated(self.part_head(), line.into(), lines, part_tail());
        let path = self.cluster_logs(cluster);
        self.upload(&path, body, Some((Fault::LongLog, "a log of many lines")))
            .await
    }

    fn cluster_logs(&self, cluster: Uuid) -> String {
        format!(
            "/clusters/{cluster}/logs?host_id={}&infra_env_id={}&logs_type=host",
            self.host, self.world.infra_env
        )
    }

    async fn upload(&self, path: &str, body: Body, because: Option<(Fault, &str)>) -> Ending {
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let ask = Ask::new(Operation::Logs, Method::POST, path)
            .body(body, &content_type)
            .because(because);
        self.wire.ask(ask).await.0
    }

    fn part_head(&self) -> Bytes {
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"logs.tar.gz\"\r\n\
             Content-Type: application/x-gzip\r\n\r\n"
        )
        .into()
    }

    /// A gzip of a tar with one small file.
    fn small_archive(&self) -> Bytes {
        let text = format!("agent of {} has nothing to say\n", self.machine.hostname());
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(text.len()).expect("a line is short"));
        header.set_mode(0o644);
        let name = format!("logs_host_{}/agent.logs", self.host);
        let added = archive.append_data(&mut header, name, text.as_bytes());
        added.expect("memory takes everything");
        let gzip = archive.into_inner().expect("memory takes everything");
        gzip.finish().expect("memory takes everything").into()
    }
}

fn part_tail() -> Bytes {
    format!("\r\n--{BOUNDARY}--\r\n").into()
}
