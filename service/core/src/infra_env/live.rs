//! What the Muster live image is told of an InfraEnv, and what it cannot apply.
use super::InfraEnv;
use crate::event::NewEvent;
use muster_api::live::LiveConfig;
use muster_api::time::Timestamp;

/// The configuration in the image. `ca_pem`: the service's own CA, or empty.
pub fn live_config(infra_env: &InfraEnv, service_url: &str, token: Option<&str>, ca_pem: &str) -> LiveConfig {
    let _ = (infra_env, service_url, token, ca_pem);
    todo!()
}

/// An event (warning) for each setting that the live image cannot apply: it has no Ignition, no SSH server, no nmstate.
pub fn unapplied_by_live_image(infra_env: &InfraEnv, now: Timestamp) -> Vec<NewEvent> {
    let _ = (infra_env, now);
    todo!()
}
