//! Events about InfraEnvs. Names and severities follow events.tsv; the wording is ours.
use super::InfraEnv;
use crate::event::NewEvent;
use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;

/// Everything that is told when an InfraEnv is made.
pub fn created_events(infra_env: &InfraEnv, now: Timestamp) -> Vec<NewEvent> {
    let _ = (infra_env, now);
    todo!()
}

/// An InfraEnv could not be made.
pub fn registration_failed(id: InfraEnvId, why: &str, now: Timestamp) -> NewEvent {
    let _ = (id, why, now);
    todo!()
}

/// An InfraEnv was deleted.
pub fn deregistered(infra_env: &InfraEnv, now: Timestamp) -> NewEvent {
    let _ = (infra_env, now);
    todo!()
}

/// An InfraEnv could not be deleted.
pub fn deregister_failed(infra_env: &InfraEnv, why: &str, now: Timestamp) -> NewEvent {
    let _ = (infra_env, why, now);
    todo!()
}
