//! Add-on operators of new clusters. Where hosts are added to a cluster these are skipped. Source: docs/protocol/host-validations.tsv and
//! docs/protocol/hardware-requirements.md#5.

mod capacity;
mod disks;
mod gpus;
mod needs;

pub use needs::Need;
pub(super) use needs::needs;

use muster_api::host::HostRole;

use super::Verdict;
use super::look::{Bound, View};

/// The add-on operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`name` gives the protocol's name")]
pub enum Operator {
    AmdGpu,
    Authorino,
    ClusterObservability,
    Cnv,
    FenceAgentsRemediation,
    Kmm,
    KubeDescheduler,
    Loki,
    Lso,
    Lvm,
    Mce,
    Metallb,
    Mtv,
    Nmstate,
    NodeFeatureDiscovery,
    NodeHealthcheck,
    NodeMaintenance,
    NumaResources,
    NvidiaGpu,
    Oadp,
    Odf,
    OpenshiftAi,
    OpenshiftLogging,
    Osc,
    Pipelines,
    SelfNodeRemediation,
    Serverless,
    Servicemesh,
}

impl Operator {
    /// All, by name.
    pub const ALL: [Self; 28] = [
        Self::AmdGpu,
        Self::Authorino,
        Self::ClusterObservability,
        Self::Cnv,
        Self::FenceAgentsRemediation,
        Self::Kmm,
        Self::KubeDescheduler,
        Self::Loki,
        Self::Lso,
        Self::Lvm,
        Self::Mce,
        Self::Metallb,
        Self::Mtv,
        Self::Nmstate,
        Self::NodeFeatureDiscovery,
        Self::NodeHealthcheck,
        Self::NodeMaintenance,
        Self::NumaResources,
        Self::NvidiaGpu,
        Self::Oadp,
        Self::Odf,
        Self::OpenshiftAi,
        Self::OpenshiftLogging,
        Self::Osc,
        Self::Pipelines,
        Self::SelfNodeRemediation,
        Self::Serverless,
        Self::Servicemesh,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::AmdGpu => "amd-gpu",
            Self::Authorino => "authorino",
            Self::ClusterObservability => "cluster-observability",
            Self::Cnv => "cnv",
            Self::FenceAgentsRemediation => "fence-agents-remediation",
            Self::Kmm => "kmm",
            Self::KubeDescheduler => "kube-descheduler",
            Self::Loki => "loki",
            Self::Lso => "lso",
            Self::Lvm => "lvm",
            Self::Mce => "mce",
            Self::Metallb => "metallb",
            Self::Mtv => "mtv",
            Self::Nmstate => "nmstate",
            Self::NodeFeatureDiscovery => "node-feature-discovery",
            Self::NodeHealthcheck => "node-healthcheck",
            Self::NodeMaintenance => "node-maintenance",
            Self::NumaResources => "numa-resources",
            Self::NvidiaGpu => "nvidia-gpu",
            Self::Oadp => "oadp",
            Self::Odf => "odf",
            Self::OpenshiftAi => "openshift-ai",
            Self::OpenshiftLogging => "openshift-logging",
            Self::Osc => "osc",
            Self::Pipelines => "pipelines",
            Self::SelfNodeRemediation => "self-node-remediation",
            Self::Serverless => "serverless",
            Self::Servicemesh => "servicemesh",
        }
    }

    /// Whether a cluster has it selected.
    fn is_selected(self, bound: &Bound<'_>) -> bool {
        bound
            .traits()
            .olm_operators
            .iter()
            .any(|operator| operator.name.as_deref() == Some(self.name()))
    }
}

/// `<name>-requirements-satisfied`.
pub(super) fn judge(operator: Operator, view: &View<'_>) -> Verdict {
    let Some(bound) = view.bound() else {
        return Verdict::Hidden;
    };
    if bound.is_day2() {
        return Verdict::success("Skipped, because hosts are added to a cluster that exists");
    }
    if !operator.is_selected(&bound) {
        return Verdict::Success(format!("{} is disabled", operator.name()));
    }
    let case = Case {
        operator,
        view,
        bound,
    };
    match operator {
        Operator::Odf => disks::odf(&case),
        Operator::Lvm => disks::lvm(&case),
        Operator::Cnv => capacity::cnv(&case),
        Operator::Mce | Operator::Mtv | Operator::Osc | Operator::OpenshiftAi => capacity::enough(&case),
        Operator::NvidiaGpu => gpus::needs_unsigned_driver(&case, Some("10de")),
        Operator::AmdGpu => gpus::needs_unsigned_driver(&case, Some("1002")),
        Operator::Kmm => gpus::needs_unsigned_driver(&case, None),
        Operator::Authorino
        | Operator::ClusterObservability
        | Operator::FenceAgentsRemediation
        | Operator::KubeDescheduler
        | Operator::Loki
        | Operator::Lso
        | Operator::Metallb
        | Operator::Nmstate
        | Operator::NodeFeatureDiscovery
        | Operator::NodeHealthcheck
        | Operator::NodeMaintenance
        | Operator::NumaResources
        | Operator::Oadp
        | Operator::OpenshiftLogging
        | Operator::Pipelines
        | Operator::SelfNodeRemediation
        | Operator::Serverless
        | Operator::Servicemesh => Verdict::Success(format!("{} asks nothing of hosts", operator.name())),
    }
}

/// An operator on a host of a cluster that has it selected.
struct Case<'v, 'a> {
    operator: Operator,
    view: &'v View<'a>,
    bound: Bound<'a>,
}

impl Case<'_, '_> {
    fn satisfied(&self) -> Verdict {
        Verdict::Success(format!("The host is fit for {}", self.operator.name()))
    }
}

/// How many hosts of the cluster work as workers, the host itself included.
fn workers(role: HostRole, bound: &Bound<'_>) -> usize {
    let roles = bound.peers.iter().map(|peer| peer.role).chain([role]);
    roles.filter(|role| *role == HostRole::Worker).count()
}

/// Whether control-plane hosts also run what users run.
fn masters_are_schedulable(role: HostRole, bound: &Bound<'_>) -> bool {
    bound.is_single_node() || workers(role, bound) < 2
}
