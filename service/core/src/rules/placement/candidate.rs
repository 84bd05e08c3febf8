//! Describes a host as placement sees it.

use std::collections::BTreeMap;

use crate::record::KubeRef;

/// Key of the label with the failure domain of a host.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// Annotation of InfraEnvs: namespaces whose machines may use their hosts, separated by commas.
pub(super) const OPEN_TO: &str = "infraenv.agent-install.openshift.io/agents-for-namespaces";

/// A host, by its Agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub host: KubeRef,
    pub labels: BTreeMap<String, String>,
    pub infra_env: Option<KubeRef>,
    pub is_approved: bool,
    /// The Agent is being deleted.
    pub is_leaving: bool,
    /// Its conditions; `None`: unknown.
    pub bound: Option<bool>,
    pub connected: Option<bool>,
    pub validated: Option<bool>,
    /// State of the host, for users.
    pub state: String,
    /// The cluster to which it belongs or will belong.
    pub cluster: Option<KubeRef>,
    /// The machine that it was taken for.
    pub taken_by: Option<KubeRef>,
    pub hardware: Hardware,
    /// Architecture of its processors, as the inventory names it (`x86_64`, `aarch64`); `None`: unknown.
    pub architecture: Option<String>,
}

impl Candidate {
    /// The failure domain that it is in.
    pub fn zone(&self) -> Option<&str> {
        self.labels
            .get(ZONE)
            .map(String::as_str)
            .filter(|zone| !zone.is_empty())
    }

    /// True if machines that have not taken the host judge both alike: other changes of a taken host do not concern
    /// them.
    pub fn is_the_same_to_others(&self, other: &Self) -> bool {
        if self.taken_by.is_none() || other.taken_by.is_none() {
            return self == other;
        }
        (&self.labels, &self.taken_by, &self.cluster) == (&other.labels, &other.taken_by, &other.cluster)
    }
}

/// Size of a host, or the least size that a machine needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hardware {
    pub cpus: u64,
    pub memory_bytes: u64,
    /// Of its largest disk.
    pub disk_bytes: u64,
}

impl Hardware {
    /// The resources that are below `minimum`, as a part of a sentence.
    pub(super) fn lacks(&self, minimum: &Self) -> Option<String> {
        if self.cpus < minimum.cpus {
            return Some(format!(
                "{} processors where {} are needed",
                self.cpus, minimum.cpus
            ));
        }
        if self.memory_bytes < minimum.memory_bytes {
            return Some(format!(
                "{} of memory where {} are needed",
                mebibytes(self.memory_bytes),
                mebibytes(minimum.memory_bytes)
            ));
        }
        (self.disk_bytes < minimum.disk_bytes).then(|| {
            format!(
                "no disk larger than {} where {} are needed",
                mebibytes(self.disk_bytes),
                mebibytes(minimum.disk_bytes)
            )
        })
    }

    /// The surplus over `minimum`: the sum over the members of `minimum`, in thousandths of each.
    pub(super) fn surplus(&self, minimum: &Self) -> u128 {
        let of = |have: u64, need: u64| match need {
            0 => 0,
            need => u128::from(have.saturating_sub(need)) * 1000 / u128::from(need),
        };
        of(self.cpus, minimum.cpus)
            + of(self.memory_bytes, minimum.memory_bytes)
            + of(self.disk_bytes, minimum.disk_bytes)
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
