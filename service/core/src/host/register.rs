//! A machine appears in a pool for the first time. Source: host-lifecycle.md §3.1.
use super::facts::HostFacts;
use super::step::{Refused, Step};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;

/// The record of a host that registers for the first time. For one that is known already, see [`advance`](super::advance::advance).
///
/// # Errors
/// `BadInput` when the InfraEnv's image is for machines that never register (`disconnected-iso`).
pub fn register(
    id: HostId,
    infra_env_id: InfraEnvId,
    agent_version: &str,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let _ = (id, infra_env_id, agent_version, facts, now);
    todo!()
}
