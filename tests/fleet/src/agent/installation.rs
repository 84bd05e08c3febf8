//! An installation with the reports of a worker of an existing cluster. Source: docs/protocol/install-flow.md#2.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use muster_api::steps::Step;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Desk;
use crate::measure::{Ending, Operation, Phase};
use crate::steps::Outcome;
use crate::wire::Ask;

#[derive(Deserialize)]
struct InstallRequest {
    role: String,
    cluster_id: Uuid,
}

/// Stages as reported, and the per cent of the whole time that passes before each.
const STAGES: [(&str, &str, u32); 16] = [
    ("Starting installation", "ROLE", 0),
    ("Installing", "ROLE", 10),
    ("Writing image to disk", "", 12),
    ("Writing image to disk", "5%", 6),
    ("Writing image to disk", "12%", 6),
    ("Writing image to disk", "20%", 6),
    ("Writing image to disk", "29%", 6),
    ("Writing image to disk", "38%", 6),
    ("Writing image to disk", "47%", 6),
    ("Writing image to disk", "57%", 6),
    ("Writing image to disk", "66%", 6),
    ("Writing image to disk", "74%", 6),
    ("Writing image to disk", "83%", 6),
    ("Writing image to disk", "92%", 6),
    ("Writing image to disk", "100%", 6),
    ("Waiting for control plane", "", 6),
];

impl Desk {
    /// Reports stage by stage, uploads logs, replies to the step, and then the machine reboots and ends. `number`: its place among the
    /// host's installations, from 1.
    pub(super) async fn install(self, step: Step, number: u32, reboots: CancellationToken) {
        let Some(request) = step
            .args
            .first()
            .and_then(|text| serde_json::from_str::<InstallRequest>(text).ok())
        else {
            let bad = Outcome::failed(-1, "the arguments are no installation request");
            self.reply(&step, bad, None).await;
            return;
        };
        self.enter(Phase::Installing);
        for (nth, (stage, info, share)) in STAGES.into_iter().enumerate() {
            sleep(self.world.options.install_time * share / 100).await;
            let info = if info == "ROLE" {
                request.role.as_str()
            } else {
                info
            };
            self.progress(stage, info).await;
            if stage == "Installing" && !self.ignition().await.is_good() {
                self.fail(&step, "the ignition of the host could not be downloaded")
                    .await;
                return;
            }
            let fails = self.part.fault.is_some_and(|fault| fault.fails(number));
            if nth == STAGES.len() / 2 && fails {
                self.fail(
                    &step,
                    "coreos-installer: error: writing to /dev/sda: Input/output error",
                )
                .await;
                return;
            }
        }
        self.await_cluster(request.cluster_id).await;
        self.send_logs(request.cluster_id).await;
        self.progress("Rebooting", "").await;
        self.reply(&step, Outcome::done(), None).await;
        reboots.cancel();
    }

    async fn fail(&self, step: &Step, why: &str) {
        self.progress("Failed", why).await;
        self.reply(step, Outcome::failed(1, why), None).await;
        self.enter(Phase::Polling);
    }

    async fn progress(&self, stage: &str, info: &str) -> Ending {
        let path = format!("{}/progress", self.path());
        let body = Bytes::from(json!({"current_stage": stage, "progress_info": info}).to_string());
        self.ask_long(|| Ask::new(Operation::Progress, Method::PUT, &path).json(body.clone()))
            .await
    }

    /// Repeats a request until there is a final response: installers are patient. Source:
    /// docs/protocol/install-flow.md#5.
    async fn ask_long<'a>(&self, ask: impl Fn() -> Ask<'a>) -> Ending {
        let mut attempt = 0;
        loop {
            let ending = self.wire.ask(ask()).await.0;
            let most = match ending {
                Ending::Status(404 | 423 | 425) => 10,
                Ending::Status(408 | 429 | 500..) | Ending::NoAnswer(_) => 360,
                Ending::Status(_) | Ending::Malformed => 0,
            };
            if attempt >= most {
                return ending;
            }
            let longest = (2000 << attempt.min(3)).min(10_000);
            sleep(Duration::from_millis(rand::random_range(0..longest))).await;
            attempt += 1;
        }
    }

    async fn ignition(&self) -> Ending {
        // "infra-env" is the protocol's, only for this operation.
        let path = format!(
            "/infra-env/{}/hosts/{}/downloads/ignition",
            self.world.infra_env, self.host
        );
        self.ask_long(|| Ask::new(Operation::Download, Method::GET, &path))
            .await
    }

    /// A worker requests its cluster until there is a response.
    async fn await_cluster(&self, cluster: Uuid) {
        let path = format!("/clusters/{cluster}?exclude-hosts=true");
        while !self
            .wire
            .ask(Ask::new(Operation::Download, Method::GET, &path))
            .await
            .0
            .is_good()
        {
            sleep(Duration::from_secs(5)).await;
        }
    }
}
