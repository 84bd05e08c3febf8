//! Names and explains the reasons why a host is not taken.

use std::collections::BTreeMap;
use std::fmt;

use muster_api::time::Timestamp;
use strum::{IntoStaticStr, VariantNames};

use crate::record::KubeRef;

/// The reason why a host was not taken. Its name is for programs, its text for users. In the order in which reasons are decided.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr, VariantNames)]
pub enum NotTaken {
    /// The requirement of the machine's selector that it does not meet.
    NotSelected(String),
    /// Its InfraEnv is not open to machines of this namespace.
    OfAnotherNamespace(String),
    /// It was taken for this machine; `None`: readers of the reason may not know it.
    TakenBy(Option<KubeRef>),
    /// It belongs to this cluster, or will; `None`: readers of the reason may not know it.
    OfAnotherCluster(Option<KubeRef>),
    BeingDeleted,
    InAnotherFailureDomain {
        wanted: String,
        found: Option<String>,
    },
    /// Architectures by Kubernetes' names.
    OfAnotherArchitecture {
        wanted: String,
        found: Option<String>,
    },
    /// The resources that are too small.
    TooSmall(String),
    /// There is no image for its architecture as the machine wants it.
    WithoutImage(&'static str),
    NotApproved,
    /// With the state of the host.
    Bound(String),
    /// Its disks are erased, since it left a cluster.
    BeingErased,
    /// Its disks could not be erased: it is not taken until it is freed.
    CannotBeErased(String),
    NotConnected(String),
    NotValidated(String),
    /// An installation or its node failed on it; it is taken again from `until` on. `why` is `None` for readers who may not know it: it can name
    /// a machine of others.
    FailedBefore {
        count: u32,
        until: Timestamp,
        why: Option<String>,
    },
    /// As `FailedBefore`, too often: it is not taken until it is freed.
    Quarantined {
        count: u32,
        why: Option<String>,
    },
    /// It is fit, and the quota of the machine's namespace allows no more hosts than this.
    QuotaExceeded {
        quota: String,
        limit: usize,
    },
    /// It is fit, and goes to a machine that comes first.
    BehindOthers(Behind),
    /// It is fit, and kept free for these quotas: their names, and the number of hosts that is kept for each.
    Reserved(Vec<(String, usize)>),
    /// It is fit, and another came first. `is_asleep`: it is not awake, and a claim would wake it.
    LaterInOrder {
        is_asleep: bool,
    },
    /// It is fit, and it changed while it was being taken.
    Changed,
    /// It is fit, and the API server refused the write: the reason.
    Refused(String),
}

/// The machines that come before another one, where quotas order them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// Those of its own namespace.
    pub own: Vec<KubeRef>,
    /// The number of all others, by the name of their quota; `None`: they have none.
    pub others: BTreeMap<Option<String>, usize>,
    /// Since then the machine waits.
    pub since: Timestamp,
}

impl NotTaken {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Time from which the reason is over without anybody's help.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::FailedBefore { until, .. } => Some(*until),
            _ => None,
        }
    }
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |state: &str| match state {
            "" => String::new(),
            state => format!(" (its state is {state})"),
        };
        match self {
            Self::NotSelected(unmet) => write!(f, "its labels do not match: {unmet}"),
            Self::OfAnotherNamespace(machines) => write!(
                f,
                "its InfraEnv does not give hosts to AgentMachines of the namespace {machines}; name that in its annotation {}",
                super::candidate::OPEN_TO
            ),
            Self::TakenBy(Some(other)) => write!(f, "it was taken for the AgentMachine {other}"),
            Self::TakenBy(None) => write!(f, "it was taken for an AgentMachine of another namespace"),
            Self::OfAnotherCluster(Some(cluster)) => write!(f, "it belongs to the cluster {cluster}"),
            Self::OfAnotherCluster(None) => write!(f, "it belongs to a cluster of another namespace"),
            Self::BeingDeleted => write!(f, "it is being deleted"),
            Self::InAnotherFailureDomain {
                wanted,
                found: Some(found),
            } => {
                write!(
                    f,
                    "it is in the failure domain {found}, the Machine requires {wanted}"
                )
            }
            Self::InAnotherFailureDomain { wanted, found: None } => write!(
                f,
                "the Machine requires the failure domain {wanted}; set the label {} if the host is in it",
                super::candidate::ZONE
            ),
            Self::OfAnotherArchitecture { wanted, found } => write!(
                f,
                "its processors are {}, and {wanted} is required",
                found.as_deref().unwrap_or("not known")
            ),
            Self::FailedBefore { count, until, why } => write!(
                f,
                "an installation or its node failed on it{}; it can be taken from {} on{}",
                times(*count),
                stamp(*until),
                cause(why.as_deref())
            ),
            Self::Quarantined { count, why } => write!(
                f,
                "it is in quarantine, since installations or its node failed on it{}{}",
                times(*count),
                cause(why.as_deref())
            ),
            Self::BeingErased => write!(
                f,
                "its disks are erased, since it left a cluster; status.cleaning of the Agent shows how far that is"
            ),
            Self::CannotBeErased(why) => write!(f, "its disks could not be erased: {why}"),
            Self::TooSmall(what) => write!(f, "it is too small: {what}"),
            Self::WithoutImage(architecture) => write!(
                f,
                "its processors are {architecture}, and the service has the OS image that the Machine wants for other ones"
            ),
            Self::NotApproved => write!(f, "it is not approved; set spec.approved"),
            Self::Bound(at) => write!(
                f,
                "it is in a cluster, or on its way into or out of one{}",
                state(at)
            ),
            Self::NotConnected(at) => write!(f, "the host is silent{}", state(at)),
            Self::NotValidated(at) => write!(
                f,
                "its checks do not pass, or are not made yet{}; its condition Validated gives details",
                state(at)
            ),
            Self::QuotaExceeded { quota, limit } => write!(
                f,
                "the AgentQuota {quota} allows this namespace {limit} Agents of its sort, and as many are in use or go to AgentMachines of it that come first; the owner of the pool can raise spec.limit"
            ),
            Self::BehindOthers(behind) => write!(f, "it goes to an AgentMachine that comes first: {behind}"),
            Self::Reserved(quotas) => write!(
                f,
                "it is kept free for others, of whom these AgentQuotas have Agents reserved that are not in use: {}",
                listed(quotas.iter().map(|(name, number)| format!("{name} ({number})")))
            ),
            Self::LaterInOrder { is_asleep: false } => {
                write!(f, "it could be taken, but another came first")
            }
            Self::LaterInOrder { is_asleep: true } => write!(
                f,
                "it sleeps and could be taken, which would wake it, but another came first"
            ),
            Self::Changed => write!(f, "it changed while it was being taken; it is tried again"),
            Self::Refused(why) => write!(f, "the API server refused: {why}"),
        }
    }
}

/// Most machines that are named.
const MOST_NAMED: usize = 3;

/// Names of the own namespace alone; of others the number and their quota.
impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.iter().take(MOST_NAMED).map(KubeRef::to_string);
        let more = self.own.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("{more} more of this namespace"));
        let others = self.others.iter().map(|(quota, number)| match quota {
            Some(quota) => format!("{number} of the AgentQuota {quota}"),
            None => format!("{number} without an AgentQuota"),
        });
        write!(
            f,
            "{}; this one waits since {}",
            listed(own.chain(more).chain(others)),
            stamp(self.since)
        )
    }
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn stamp(at: Timestamp) -> impl fmt::Display {
    at.format("%Y-%m-%d %H:%M:%S UTC")
}

/// The end of a sentence about a failure.
fn cause(why: Option<&str>) -> String {
    match why {
        Some(why) => format!(": {why}"),
        None => "; its Agent has the reason".to_owned(),
    }
}

fn times(count: u32) -> String {
    match count {
        1 => String::new(),
        count => format!(" {count} times in a row"),
    }
}
