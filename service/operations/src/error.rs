//! Errors of operations, in terms of the domain. REST and the controllers each map this once.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::Refused;
use muster_core::rules::input::Invalid;
use muster_store::{StoreError, Subject};

use crate::bmcs::BmcProblem;
use crate::bridge::NotApproved;
use crate::host_jobs::JobProblem;
use crate::owned::{OfResource, quoted};

/// A failed operation. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// The record that the caller named does not exist (any more).
    #[error("{} was not found", named(.0))]
    Missing(Subject),
    /// The host's state does not accept the event; the reason names both.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A setting is not acceptable.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Other writers changed the record at each attempt.
    #[error("{}", busy(.0))]
    Busy(Subject),
    /// Another machine registered under this id with a key of its own, and keeps the id.
    #[error(
        "host {id} of infra_env {infra_env_id} has the key of another machine, which keeps its place: in discovery until it has been silent for {} seconds, when one that was restarted with a key of its own is taken; once it is being installed until the host is reset, unbound or deleted",
        muster_core::lifecycle::host::key::KEY_SILENCE.num_seconds()
    )]
    KeyInUse {
        /// The InfraEnv.
        infra_env_id: InfraEnvId,
        /// The host.
        id: HostId,
    },
    /// A host of another InfraEnv of the namespace has this id, and keeps it.
    #[error(
        "the InfraEnv {infra_env} of the same namespace has a host {id}, which keeps this id while it is bound, has a key, or reported within the last {} seconds; if this machine was moved, delete that host, and it is taken here",
        muster_core::lifecycle::host::key::KEY_SILENCE.num_seconds()
    )]
    IdInUse {
        /// Name of the InfraEnv that has the host.
        infra_env: String,
        /// The host.
        id: HostId,
    },
    /// An InfraEnv is not deleted while it has hosts.
    #[error(
        "the InfraEnv {name} still has {hosts} host(s); delete them first: muster host delete $(muster hosts --infra-env {} -o name)",
        word(.name)
    )]
    Inhabited {
        /// Of the InfraEnv.
        name: String,
        /// Number of its hosts.
        hosts: i64,
    },
    /// A cluster is not deleted while hosts are being installed for it.
    #[error(
        "{hosts} host(s) of the cluster {name} are being installed; wait for them, reset them or delete them first"
    )]
    Installing {
        /// Of the cluster.
        name: String,
        /// Number of hosts being installed.
        hosts: i64,
    },
    /// A user's request by REST about something that a custom resource decides.
    #[error(transparent)]
    OfResource(#[from] OfResource),
    /// An approval by REST.
    #[error(transparent)]
    NotApproved(#[from] NotApproved),
    /// A BMC.
    #[error(transparent)]
    Bmc(#[from] BmcProblem),
    /// A job over many hosts.
    #[error(transparent)]
    Job(#[from] JobProblem),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Quotes a name as one word of a shell.
fn word(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn named(subject: &Subject) -> String {
    match subject {
        Subject::Host { infra_env_id, id } => format!("host {id} in infra_env {infra_env_id}"),
        Subject::InfraEnv(id) => format!("infra_env {id}"),
        Subject::Cluster(id) => format!("cluster {id}"),
        Subject::Bmc(id) => format!("BMC {id}"),
        Subject::Job { id, .. } => format!("job {id}"),
    }
}

fn busy(subject: &Subject) -> &'static str {
    match subject {
        Subject::Host { .. } => "the host is being changed by others again and again; try again",
        Subject::InfraEnv(_) => "the InfraEnv is being changed by others again and again; try later",
        Subject::Cluster(_) => "the cluster is being changed by others again and again; try later",
        Subject::Bmc(_) => "the BMC is being changed by others again and again; try later",
        Subject::Job { .. } => "the job is being changed by others again and again; try later",
    }
}

impl OperationError {
    /// A host that does not exist.
    pub fn missing_host(infra_env_id: InfraEnvId, id: HostId) -> Self {
        Self::Missing(Subject::Host { infra_env_id, id })
    }

    /// True when the record, or one that it refers to, does not exist.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing(_)
            | Self::Store(StoreError::Missing { .. })
            | Self::Bmc(BmcProblem::Missing(_))
            | Self::Job(JobProblem::Missing(_)) => true,
            Self::Refused(_)
            | Self::Bmc(_)
            | Self::Job(_)
            | Self::Invalid(_)
            | Self::Busy(_)
            | Self::KeyInUse { .. }
            | Self::IdInUse { .. }
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::OfResource(_)
            | Self::NotApproved(_)
            | Self::Store(_) => false,
        }
    }

    /// True when other writers were faster.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Store(StoreError::Conflict { .. }) => true,
            Self::Missing(_)
            | Self::Bmc(_)
            | Self::Job(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::KeyInUse { .. }
            | Self::IdInUse { .. }
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::OfResource(_)
            | Self::NotApproved(_)
            | Self::Store(_) => false,
        }
    }

    /// True if the same call may succeed later unchanged.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::KeyInUse { .. } | Self::IdInUse { .. } => true,
            Self::Store(error) => error.is_temporary(),
            Self::Job(problem) => problem.is_temporary(),
            Self::Missing(_)
            | Self::Bmc(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::OfResource(_)
            | Self::NotApproved(_) => false,
        }
    }

    /// True if the request cannot be met: repeating it does not help, changing it does.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Missing(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::OfResource(_)
            | Self::NotApproved(_)
            | Self::Bmc(BmcProblem::Missing(_) | BmcProblem::NotNow(_) | BmcProblem::Taken(_))
            | Self::Store(StoreError::Missing { .. }) => true,
            Self::Job(problem) => !problem.is_temporary(),
            Self::Busy(_) | Self::KeyInUse { .. } | Self::IdInUse { .. } | Self::Store(_) => false,
        }
    }
}

/// The outcome of a change of a record that others may have deleted in between, which is no failure.
///
/// # Errors
/// Any error except a missing record.
pub fn unless_missing<T>(outcome: Result<T, OperationError>) -> Result<(), OperationError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        Err(error) => Err(error),
    }
}
