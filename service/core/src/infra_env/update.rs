//! Changes of an InfraEnv.
use super::{InfraEnv, Invalid};
use crate::event::NewEvent;
use muster_api::infra_env::InfraEnvUpdateParams;
use muster_api::time::Timestamp;

/// The outcome of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The InfraEnv from now on.
    pub infra_env: InfraEnv,
    /// False: everything is as it was; nothing to write.
    pub changed: bool,
    /// To be stored with it; those about `unapplied` included.
    pub events: Vec<NewEvent>,
    /// Names of the changed settings that the Muster live image cannot apply.
    pub unapplied: Vec<&'static str>,
}

/// `infra_env` with `params` applied. Absent settings stay.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn update(infra_env: &InfraEnv, params: InfraEnvUpdateParams, now: Timestamp) -> Result<Update, Invalid> {
    let _ = (infra_env, params, now);
    todo!()
}
