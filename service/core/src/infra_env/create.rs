//! A new InfraEnv.
use super::{InfraEnv, Invalid};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnvCreateParams;
use muster_api::time::Timestamp;

/// An InfraEnv as `params` ask for it. Its events: [`created_events`](super::news::created_events).
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn create(
    params: InfraEnvCreateParams,
    id: InfraEnvId,
    boot_id: String,
    now: Timestamp,
) -> Result<InfraEnv, Invalid> {
    let _ = (params, id, boot_id, now);
    todo!()
}
