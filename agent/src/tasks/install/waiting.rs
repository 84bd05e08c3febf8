//! Waits for the cluster, as a worker does before it restarts. Source: docs/protocol/install-flow.md#2, line 9.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};
use uuid::Uuid;

use super::error::InstallError;
use crate::client::Client;
use crate::client::install::ClusterState;

const INTERVAL: Duration = Duration::from_secs(5);
/// A running cluster needs no wait: this is the time for the service's response.
const FOR_ANSWER: Duration = Duration::from_secs(5 * 60);
/// The service's own limit of the stage. Source: docs/protocol/install-flow.md#10.
const FOR_CONTROL_PLANE: Duration = Duration::from_secs(60 * 60);
/// Masters that make a control plane.
const MASTERS: usize = 2;

/// Returns once the control plane is there.
///
/// # Errors
/// Fails if it is not there within an hour.
pub async fn for_control_plane(
    client: &Client,
    cluster: Uuid,
    joins_existing: bool,
) -> Result<(), InstallError> {
    let began = Instant::now();
    loop {
        let last = match client.cluster(cluster).await {
            Ok(state) if is_ready(&state) => return Ok(()),
            Ok(_) => "fewer than two masters are done".to_owned(),
            Err(failure) => {
                if joins_existing && began.elapsed() >= FOR_ANSWER {
                    warn!("the cluster's state is not known, going on: {}", failure.text());
                    return Ok(());
                }
                failure.text()
            }
        };
        info!("waiting for the cluster: {last}");
        if began.elapsed() >= FOR_CONTROL_PLANE {
            return Err(InstallError::NoControlPlane { last });
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn is_ready(state: &ClusterState) -> bool {
    let done = state.hosts.iter().flatten().filter(|host| {
        matches!(host.role.as_str(), "master" | "arbiter") && host.progress.current_stage == "Done"
    });
    state.kind == "AddHostsCluster" || done.count() >= MASTERS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_running_cluster_is_ready_and_a_new_one_with_two_masters() {
        let ready = |state| is_ready(&serde_json::from_value(state).unwrap());
        assert!(ready(json!({"kind": "AddHostsCluster", "hosts": null})));
        let host =
            |role: &str, stage: &str| json!({"role": role, "progress": {"current_stage": stage, "x": 1}});
        assert!(!ready(
            json!({"kind": "Cluster", "hosts": [host("master", "Done"), host("worker", "Done")]})
        ));
        assert!(ready(
            json!({"kind": "Cluster", "hosts": [host("master", "Done"), host("master", "Done")]})
        ));
        assert!(!ready(json!({})));
    }
}
