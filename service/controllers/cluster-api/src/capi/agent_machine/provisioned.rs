//! Decides when the host of an AgentMachine counts as provisioned. Source: docs/protocol/capi-day1.md, section 1.
//!
//! Cluster API searches for a Machine's Node once its infrastructure is provisioned, so this is due when the host may be expected to run its
//! kubelet: a cluster may get its network, without which no Node is Ready, only when its first Nodes are known. HyperShift's users expect
//! a Node that is Ready.

use kube::ResourceExt;
use kube::core::DynamicObject;
use muster_api::host::{HostStage, HostStatus};
use muster_controller::references::object_ref;
use muster_core::rules::stages;
use muster_resources::AgentMachine;
use muster_resources::names::annotation;

use crate::capi::agents::AgentView;
use crate::capi::objects::Cluster;
use crate::capi::provider::Provider;

/// The moment from which on a host counts as provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It was started from its disk.
    Rebooted,
    /// Its Node is Ready.
    Joined,
}

impl When {
    /// The moment where no annotation names one.
    pub fn usual(cluster: Option<&DynamicObject>) -> Self {
        match cluster.map(Cluster) {
            Some(cluster) if !cluster.is_hosted() => Self::Rebooted,
            _ => Self::Joined,
        }
    }

    /// Reads the value of the annotation.
    ///
    /// # Errors
    /// Returns the value and what to write, as a sentence.
    fn read(given: &str) -> Result<Self, String> {
        match given {
            "rebooted" => Ok(Self::Rebooted),
            "joined" => Ok(Self::Joined),
            other => Err(format!(
                "The annotation {} is {other:?}; write rebooted or joined",
                annotation::PROVISIONED
            )),
        }
    }

    /// True if the host was started from its disk, and that is enough.
    pub fn is_reached(self, agent: &AgentView) -> bool {
        self == Self::Rebooted && has_started(&agent.state, agent.stage)
    }
}

/// The moment that counts: that of the AgentMachine's annotation, of its AgentCluster's, or the usual one.
///
/// # Errors
/// Returns the mistake in an annotation, as a sentence.
pub fn when(
    object: &AgentMachine,
    cluster: Option<&DynamicObject>,
    provider: &Provider,
) -> Result<When, String> {
    if let Some(given) = object.annotations().get(annotation::PROVISIONED) {
        return When::read(given);
    }
    let agent_cluster = cluster.and_then(|cluster| Cluster(cluster).agent_cluster());
    let agent_cluster = agent_cluster.and_then(|name| provider.agent_clusters.get(&object_ref(&name)));
    match agent_cluster
        .as_ref()
        .and_then(|found| found.annotations().get(annotation::PROVISIONED))
    {
        Some(given) => When::read(given),
        None => Ok(When::usual(cluster)),
    }
}

/// True if a host in this state and stage was started from its disk, as far as is known.
fn has_started(state: &str, stage: Option<HostStage>) -> bool {
    // One that booted the discovery image again has the stage, too, and waits for a user.
    state == HostStatus::AddedToExistingCluster.name()
        || state == HostStatus::InstallingInProgress.name() && stage.is_some_and(stages::is_late)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_host_has_started_from_its_reboot_on_unless_it_booted_something_else() {
        for (state, stage, started) in [
            ("known", None, false),
            (
                "installing-in-progress",
                Some(HostStage::WritingImageToDisk),
                false,
            ),
            ("installing-in-progress", None, false),
            ("installing-in-progress", Some(HostStage::Rebooting), true),
            ("installing-in-progress", Some(HostStage::Joined), true),
            (
                "installing-pending-user-action",
                Some(HostStage::Rebooting),
                false,
            ),
            ("error", Some(HostStage::Configuring), false),
            ("added-to-existing-cluster", Some(HostStage::Done), true),
            ("unbinding", Some(HostStage::Done), false),
        ] {
            assert_eq!(has_started(state, stage), started, "{state} {stage:?}");
        }
    }

    #[test]
    fn a_hosted_cluster_waits_for_its_nodes_and_others_for_the_reboot() {
        let cluster = |group: &str| -> DynamicObject {
            serde_json::from_value(json!({"metadata": {"name": "c"}, "spec": {"controlPlaneRef": {
                "apiGroup": group, "kind": "Plane", "name": "p",
            }}}))
            .unwrap()
        };
        let kubeadm = cluster("controlplane.cluster.x-k8s.io");
        assert_eq!(When::usual(Some(&kubeadm)), When::Rebooted);
        let hosted = cluster("hypershift.openshift.io");
        assert_eq!(When::usual(Some(&hosted)), When::Joined);
        assert_eq!(When::usual(None), When::Joined);
        assert_eq!(When::read("joined"), Ok(When::Joined));
        let error = When::read("Ready").unwrap_err();
        assert!(
            error.contains("\"Ready\"") && error.contains("rebooted"),
            "{error}"
        );
    }
}
