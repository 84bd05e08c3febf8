use muster_api::ids::BmcId;
use muster_core::lifecycle::bmc::BmcRefused;
use muster_core::record::KubeRef;

use crate::OperationError;

/// An operation on a BMC that was not done.
#[derive(Debug, thiserror::Error)]
pub enum BmcProblem {
    #[error("BMC {0} was not found")]
    Missing(BmcId),
    /// Not in its present phase; says what to do.
    #[error("{0}")]
    NotNow(String),
    /// Another one has the name or the address.
    #[error(
        "{0}: another BMC has this name in the InfraEnv, or this address (in any InfraEnv); a machine is discovered through one only"
    )]
    Taken(String),
    /// A user asks by REST for what a custom resource decides.
    #[error(
        "BMC {name} belongs to the custom resource {kube}, which decides about it: `kubectl -n {} {todo} bmc {}`",
        .kube.namespace,
        .kube.name
    )]
    OfResource {
        name: String,
        kube: KubeRef,
        /// The command of kubectl: `edit`, `delete`.
        todo: &'static str,
    },
}

impl BmcProblem {
    pub(super) fn of(refused: BmcRefused) -> OperationError {
        match refused {
            BmcRefused::Invalid(invalid) => invalid.into(),
            BmcRefused::NotNow(why) => Self::NotNow(why).into(),
        }
    }
}
