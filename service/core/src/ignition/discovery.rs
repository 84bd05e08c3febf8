//! The discovery configuration of an InfraEnv.
use crate::infra_env::InfraEnv;
use crate::secret::Secret;
use thiserror::Error;

/// What the agent on a host is told.
#[derive(Debug, Clone)]
pub struct AgentSettings<'a> {
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: &'a str,
    /// The agent's token; `None` when the service asks for none.
    pub token: Option<&'a Secret>,
    /// PEM of the service's own CA; empty when it has none.
    pub ca_pem: &'a str,
}

/// Why there is no configuration. Both are found when the override is set, and can come back only with other data.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DiscoveryError {
    #[error("the stored ignition_config_override cannot be merged: {0}")]
    Override(String),
}

/// The least valid Ignition (3.1.0) that carries the agent's settings, with the InfraEnv's override merged. JSON text.
///
/// # Errors
/// When the stored override is not Ignition.
pub fn discovery(infra_env: &InfraEnv, agent: &AgentSettings<'_>) -> Result<String, DiscoveryError> {
    let _ = (infra_env, agent);
    todo!()
}
