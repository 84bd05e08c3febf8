//! Defines how operations fail, in terms of the domain. REST and the controllers each map this once.

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::Refused;
use muster_core::rules::input::Invalid;
use muster_store::{StoreError, Subject};

use crate::bmcs::BmcProblem;

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
    /// Another machine registered under this id with a key of its own, and still speaks.
    #[error(
        "another machine has registered as host {id} of infra_env {infra_env_id} with a key of its own, and was heard within the last {} seconds; one that was started anew is taken when that time is over",
        muster_core::lifecycle::host::key::KEY_SILENCE.num_seconds()
    )]
    KeyInUse {
        /// The InfraEnv.
        infra_env_id: InfraEnvId,
        /// The host.
        id: HostId,
    },
    /// An InfraEnv is not deleted while it has hosts.
    #[error("the InfraEnv {name} still has {hosts} host(s); delete them first")]
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
    /// A BMC.
    #[error(transparent)]
    Bmc(#[from] BmcProblem),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn named(subject: &Subject) -> String {
    match subject {
        Subject::Host { infra_env_id, id } => format!("host {id} in infra_env {infra_env_id}"),
        Subject::InfraEnv(id) => format!("infra_env {id}"),
        Subject::Cluster(id) => format!("cluster {id}"),
        Subject::Bmc(id) => format!("BMC {id}"),
    }
}

fn busy(subject: &Subject) -> &'static str {
    match subject {
        Subject::Host { .. } => "the host is being changed by others again and again; try again",
        Subject::InfraEnv(_) => "the InfraEnv is being changed by others again and again; try later",
        Subject::Cluster(_) => "the cluster is being changed by others again and again; try later",
        Subject::Bmc(_) => "the BMC is being changed by others again and again; try later",
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
            | Self::Bmc(BmcProblem::Missing(_)) => true,
            Self::Refused(_)
            | Self::Bmc(_)
            | Self::Invalid(_)
            | Self::Busy(_)
            | Self::KeyInUse { .. }
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::Store(_) => false,
        }
    }

    /// True when other writers were faster.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Busy(_) | Self::Store(StoreError::Conflict { .. }) => true,
            Self::Missing(_)
            | Self::Bmc(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::KeyInUse { .. }
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::Store(_) => false,
        }
    }

    /// True when the same call may succeed later without a change of what it asks for.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy(_) | Self::KeyInUse { .. } => true,
            Self::Store(error) => error.is_temporary(),
            Self::Missing(_)
            | Self::Bmc(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::Inhabited { .. }
            | Self::Installing { .. } => false,
        }
    }

    /// True when the caller asks for what cannot be done: repeating it does not help, changing it does.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Missing(_)
            | Self::Refused(_)
            | Self::Invalid(_)
            | Self::Inhabited { .. }
            | Self::Installing { .. }
            | Self::Bmc(
                BmcProblem::Missing(_)
                | BmcProblem::NotNow(_)
                | BmcProblem::Taken(_)
                | BmcProblem::OfResource { .. },
            )
            | Self::Store(StoreError::Missing { .. }) => true,
            Self::Busy(_) | Self::KeyInUse { .. } | Self::Store(_) => false,
        }
    }
}

/// The outcome of a change of a record that others may have deleted in between, which is no failure.
///
/// # Errors
/// Any other than a missing record.
pub fn unless_missing<T>(outcome: Result<T, OperationError>) -> Result<(), OperationError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        Err(error) => Err(error),
    }
}

/// An error with its causes, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
