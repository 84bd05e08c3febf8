use muster_api::ids::BmcId;
use muster_core::lifecycle::bmc::BmcRefused;

use crate::OperationError;

/// A refused operation on a BMC.
#[derive(Debug, thiserror::Error)]
pub enum BmcProblem {
    #[error("BMC {0} was not found")]
    Missing(BmcId),
    /// Not possible in its present phase; the text holds the remedy.
    #[error("{0}")]
    NotNow(String),
    /// Another BMC has the name or the address.
    #[error(
        "{0}: another BMC has this name in the InfraEnv, or this address (in any InfraEnv); a machine is discovered through one only"
    )]
    Taken(String),
}

impl BmcProblem {
    pub(super) fn of(refused: BmcRefused) -> OperationError {
        match refused {
            BmcRefused::Invalid(invalid) => invalid.into(),
            BmcRefused::NotNow(why) => Self::NotNow(why).into(),
        }
    }
}
