//! Decides how a host gets into a cluster and out of it, by `spec.clusterDeploymentName`.
//! Source: docs/protocol/kube-controllers.md#4.1 steps 7 and 8, §4.4.

use muster_api::host::HostKind;
use muster_api::ids::ClusterId;
use muster_core::record::{Host, HostState, KubeRef, Phase};
use muster_resources::AgentSpec;

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// Nothing to do: the host is where it should be.
    Stay,
    /// The host is bound to this cluster.
    Bind(ClusterId),
    /// The host is unbound from its cluster. `cancel`: its installation is cancelled before.
    Unbind {
        /// True if the host is being installed.
        cancel: bool,
    },
    /// The move is possible when the host is in another state, which triggers a reconcile. Holds the reason why not now.
    Later(String),
    /// The cluster that the spec names is not known: the reason, and what to do.
    Unknown(String),
    /// The move is impossible: the reason, and what to do.
    Never(String),
}

/// The clusters that the decision depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clusters<'a> {
    /// The cluster of the ClusterDeployment that the spec names, when it is known here.
    pub wanted: Option<ClusterId>,
    /// The cluster that all hosts of the InfraEnv belong to.
    pub infra_env: Option<ClusterId>,
    /// The reason why the ClusterDeployment that the spec names is no cluster here; only looked up in that case.
    pub untaken: Option<&'a str>,
    /// Name of the ClusterDeployment of the host's present cluster.
    pub present: Option<&'a KubeRef>,
}

/// The ClusterDeployment that the spec names.
pub fn wanted(spec: &AgentSpec) -> Option<KubeRef> {
    let reference = spec.cluster_deployment_name.as_ref()?;
    (!reference.name.is_empty()).then(|| KubeRef::new(&reference.namespace, &reference.name))
}

/// The reason for which a host leaves its cluster, after its name. `agent`: its Agent.
pub fn why_it_leaves(spec: &AgentSpec, agent: &KubeRef) -> String {
    match wanted(spec) {
        None => format!("leaves its cluster: its Agent {agent} names none in spec.clusterDeploymentName"),
        Some(other) => format!(
            "leaves its cluster: its Agent {agent} names another in spec.clusterDeploymentName, {other}"
        ),
    }
}

/// The next step of `host`.
pub fn next(spec: &AgentSpec, host: &Host, clusters: &Clusters<'_>) -> Move {
    let Some(wanted) = wanted(spec) else {
        return match host.cluster_id {
            None => Move::Stay,
            Some(present) => leave(host, present, clusters),
        };
    };
    match (host.cluster_id, clusters.wanted) {
        (Some(present), Some(cluster)) if present == cluster => Move::Stay,
        // The record of the cluster is deleted before its name.
        (Some(_), None) if clusters.present == Some(&wanted) => Move::Stay,
        (Some(_) | None, None) => Move::Unknown(unknown(clusters.untaken)),
        (Some(present), Some(_)) => leave(host, present, clusters),
        (None, Some(cluster)) => enter(host, cluster, &wanted),
    }
}

fn unknown(untaken: Option<&str>) -> String {
    format!(
        "clusterDeploymentName: {}",
        untaken.unwrap_or("its cluster is not known")
    )
}

fn enter(host: &Host, cluster: ClusterId, wanted: &KubeRef) -> Move {
    if host.state == HostState::KnownUnbound {
        return Move::Bind(cluster);
    }
    Move::Later(format!(
        "clusterDeploymentName: the host is given to {wanted} as soon as it is known-unbound, and it is {}: {}",
        host.state.status().name(),
        host.data.status_info
    ))
}

fn leave(host: &Host, present: ClusterId, clusters: &Clusters<'_>) -> Move {
    if clusters.infra_env == Some(present) {
        return Move::Never(
            "clusterDeploymentName: all hosts of this InfraEnv belong to the cluster of its clusterRef; name that one, or delete the Agent"
                .into(),
        );
    }
    match host.state.phase() {
        Phase::PreInstall | Phase::Ended => Move::Unbind { cancel: false },
        Phase::Installing if host.data.kind == HostKind::AddToExistingClusterHost => {
            Move::Unbind { cancel: true }
        }
        Phase::Installing => Move::Never(
            "clusterDeploymentName: the cluster is being installed, and the host cannot leave it before that has ended".into(),
        ),
        // A node that is installed again.
        Phase::Moving if host.data.pending_reinstall().is_some() => Move::Unbind { cancel: false },
        Phase::Moving if host.state == HostState::Binding => Move::Later(
            "clusterDeploymentName: the host is binding; it leaves its cluster when its agent has registered there, or has been silent for so long that it counts as disconnected".into(),
        ),
        Phase::Moving | Phase::Unbound => Move::Later(format!(
            "clusterDeploymentName: the host is {} and leaves its cluster when that is over: {}",
            host.state.status().name(),
            host.data.status_info
        )),
    }
}
