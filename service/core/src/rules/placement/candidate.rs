//! Describes a host as placement sees it.

use std::collections::BTreeMap;

use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;

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
    /// Of its processors, as it reports them; `None`: it has reported none.
    pub architecture: Option<String>,
    /// Installations and nodes that failed on it since its last success.
    pub failures: Option<PastFailures>,
    /// The erasure of its disks that is pending.
    pub erasure: Option<Erasure>,
    pub rest: Rest,
}

/// The erasure of a host's disks, as its Agent shows it. How far it is does not matter here: each step would be a change to all machines
/// that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Erasure {
    Pending,
    /// With the reason, for users.
    Failed(String),
}

/// The sleep of a host. It is no reason against it; hosts that are there sooner come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    #[default]
    Awake,
    Waking,
    /// It is off, or about to be: a claim wakes it.
    Asleep,
    /// It was woken for a claim and did not come: nobody has it any more.
    DidNotWake,
}

/// Failures of a host, as its Agent shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFailures {
    pub count: u32,
    /// The last one, for users.
    pub message: String,
    /// Until then it is not taken; `None`: it may be taken.
    pub until: Option<Timestamp>,
    /// It is not taken until it is freed.
    pub is_quarantined: bool,
}

impl PastFailures {
    /// True if they keep the host from being taken at that time.
    pub(super) fn forbid(&self, now: Timestamp) -> bool {
        self.is_quarantined || self.until.is_some_and(|until| now < until)
    }
}

impl Candidate {
    /// The failure domain that it is in.
    pub fn zone(&self) -> Option<&str> {
        self.labels
            .get(ZONE)
            .map(String::as_str)
            .filter(|zone| !zone.is_empty())
    }

    /// The architecture of its processors; `None`: it has reported none that is known here.
    pub(super) fn known_architecture(&self) -> Option<CpuArchitecture> {
        known_architecture(self.architecture.as_deref()?)
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

/// The name of an architecture as Kubernetes has it (`amd64`, `arm64`); a name that is not known stays.
pub fn architecture_name(name: &str) -> String {
    match known_architecture(name) {
        Some(CpuArchitecture::X86_64) => "amd64".to_owned(),
        Some(other) => other.name().to_owned(),
        None => name.to_owned(),
    }
}

fn known_architecture(name: &str) -> Option<CpuArchitecture> {
    let known = match name {
        "amd64" => CpuArchitecture::X86_64,
        name => name.parse().ok()?,
    };
    Some(known.normalized())
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
