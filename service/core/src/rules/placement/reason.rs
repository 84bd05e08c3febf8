//! Names and explains the reasons why a host is not taken.

use std::fmt;

use muster_api::time::Timestamp;
use strum::IntoStaticStr;

use crate::record::KubeRef;

/// The reason why a host was not taken. Its name is for programs, its text for users.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
pub enum NotTaken {
    /// The requirement of the machine's selector that it does not meet.
    NotSelected(String),
    /// Its InfraEnv is not open to machines of this namespace.
    OfAnotherNamespace(String),
    /// It was taken for this machine.
    TakenBy(KubeRef),
    /// It belongs to this cluster, or will.
    OfAnotherCluster(KubeRef),
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
    NotConnected(String),
    NotValidated(String),
    /// An installation or its node failed on it; it is taken again from `until` on.
    FailedBefore {
        count: u32,
        until: Timestamp,
        why: String,
    },
    /// As `FailedBefore`, too often: it is not taken until it is freed.
    Quarantined {
        count: u32,
        why: String,
    },
    /// It is fit, and another came first. `is_asleep`: it is not awake, and a claim would wake it.
    LaterInOrder {
        is_asleep: bool,
    },
    /// It is fit, and it changed while it was being taken.
    Changed,
    /// It is fit, and the API server refused the write: the reason.
    Refused(String),
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
            Self::TakenBy(other) => write!(f, "it was taken for the AgentMachine {other}"),
            Self::OfAnotherCluster(cluster) => write!(f, "it belongs to the cluster {cluster}"),
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
                "an installation or its node failed on it{}; it can be taken from {} on: {why}",
                times(*count),
                until.format("%Y-%m-%d %H:%M:%S UTC")
            ),
            Self::Quarantined { count, why } => write!(
                f,
                "it is in quarantine, since installations or its node failed on it{}: {why}",
                times(*count)
            ),
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

fn times(count: u32) -> String {
    match count {
        1 => String::new(),
        count => format!(" {count} times in a row"),
    }
}
