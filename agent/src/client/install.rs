//! The requests of an installation. Source: docs/protocol/install-flow.md#2 and #4.

use std::time::Duration;

use muster_api::host::{HostProgressParams, HostStage};
use muster_api::ids::HostId;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;
use uuid::Uuid;

use super::{Client, Failure, printable};
use crate::net::http::{self, BodyError};

/// Whole configurations of nodes, with programs in them, are no larger.
const LARGEST_IGNITION: usize = 32 << 20;
/// An ignition of that size over a slow line.
const IGNITION: Duration = Duration::from_secs(300);

/// The members of a cluster that an installation waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClusterState {
    /// `AddHostsCluster` for one that runs already.
    pub kind: String,
    pub hosts: Option<Vec<ClusterHost>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClusterHost {
    pub role: String,
    pub progress: ClusterHostProgress,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClusterHostProgress {
    pub current_stage: String,
}

impl Client {
    /// Reports a stage.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn progress(
        &self,
        infra_env: Uuid,
        host: Uuid,
        stage: HostStage,
        info: String,
    ) -> Result<(), Failure> {
        let url = self.api(&format!("infra-envs/{infra_env}/hosts/{host}/progress"));
        let body = HostProgressParams {
            current_stage: Some(stage),
            progress_info: Some(info),
        };
        let request = self.request(Method::PUT, url, None, Uuid::new_v4()).json(&body);
        self.answer(Some(HostId(host)), request).await.map(drop)
    }

    /// The host's ignition. Of all paths this one has `infra-env` in the singular.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn node_ignition(&self, infra_env: Uuid, host: Uuid) -> Result<Vec<u8>, Failure> {
        let url = self.api(&format!("infra-env/{infra_env}/hosts/{host}/downloads/ignition"));
        // Replaces the client's own; the service refuses others for a download.
        let accept = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/octet-stream"))]);
        let request = self
            .request(Method::GET, url, None, Uuid::new_v4())
            .headers(accept)
            .timeout(IGNITION);
        let response = self.request_once(Some(HostId(host)), request).await?;
        let status = response.status();
        let body = http::body(response, LARGEST_IGNITION)
            .await
            .map_err(|error| match error {
                BodyError::TooLarge => {
                    Failure::Malformed(format!("it is larger than {LARGEST_IGNITION} bytes"))
                }
                BodyError::Transport(reason) => Failure::Transport(printable(&reason)),
            })?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(Failure::Status(status.as_u16(), super::reason(&body)))
        }
    }

    /// The state of a cluster.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn cluster(&self, cluster: Uuid) -> Result<ClusterState, Failure> {
        let mut url = self.api(&format!("clusters/{cluster}"));
        // A thousand hosts request this while each of them is installed.
        url.set_query(Some("exclude-hosts=true"));
        let request = self.request(Method::GET, url, None, Uuid::new_v4());
        let body = self.answer(None, request).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::Malformed(printable(&error.to_string())))
    }
}
