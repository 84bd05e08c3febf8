//! The fields of an InfraEnv that the checks of its hosts read: if none of them changed, no host is re-evaluated.

use muster_api::ids::ClusterId;
use muster_api::infra_env::CpuArchitecture;

use crate::record::InfraEnv;

/// The part of an InfraEnv that checks and findings of its hosts depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckInputs {
    openshift_version: String,
    cpu_architecture: CpuArchitecture,
    /// Time sources are configured.
    has_time_sources: bool,
    cluster_id: Option<ClusterId>,
    is_kube: bool,
}

impl CheckInputs {
    pub fn of(infra_env: &InfraEnv) -> Self {
        let settings = &infra_env.settings;
        Self {
            openshift_version: settings.openshift_version.clone(),
            cpu_architecture: settings.cpu_architecture,
            has_time_sources: !infra_env.ntp_source_list().is_empty(),
            cluster_id: infra_env.cluster_id,
            is_kube: infra_env.kube.is_some(),
        }
    }
}
