//! The agent's settings: from arguments and environment as an ordinary program, from the image's
//! configuration file and kernel arguments as PID 1.

pub mod flags;
pub mod live;

use std::fmt;
use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::live::LiveProxy;
use url::Url;

/// The version of this program, for people.
pub const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version reported to services until one assigns another. Muster recognizes its own agents by the prefix.
pub const OWN_VERSION: &str = concat!("muster-agent/", env!("CARGO_PKG_VERSION"));

/// Paths of the system's public certificates: on the live image and Debian, and on CoreOS.
const SYSTEM_CERTIFICATES: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
];

/// The system's public certificates, PEM; empty if it has none.
pub fn system_certificates() -> Vec<u8> {
    let read = |path: &&str| std::fs::read(path).ok();
    SYSTEM_CERTIFICATES.iter().find_map(read).unwrap_or_default()
}

/// A secret that grants access to one InfraEnv. Never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes the text as it goes into the header.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the header only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// The service to report to, and the way to it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: Url,
    /// The InfraEnv that the host joins.
    pub infra_env_id: InfraEnvId,
    /// The InfraEnv's name, for display; may be empty.
    pub infra_env_name: String,
    /// The agent's token; empty for a service without authentication.
    pub token: Token,
    /// PEM certificates to trust in addition to the system's.
    pub ca_certificates: String,
    /// Do not verify the service's certificate.
    pub insecure: bool,
    /// Proxies for the way to the service.
    pub proxy: LiveProxy,
    /// Time sources to query, names or addresses.
    pub ntp_sources: Vec<String>,
    /// Longest wait between two attempts to register.
    pub interval: Duration,
    /// The version that the agent reports.
    pub agent_version: String,
    /// Overrides the computed host id.
    pub host_id: Option<HostId>,
}

/// A text that is no base URL of a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceUrlError {
    #[error("`{0}` is no URL: {1}")]
    Malformed(String, url::ParseError),
    #[error("`{0}` must start with http:// or https://")]
    Scheme(String),
    #[error("`{0}` names no host")]
    NoHost(String),
    #[error("the service URL must not hold a user or password; the token is given apart")]
    Credentials,
    #[error("`{0}` must not have a query or fragment")]
    Query(String),
}

/// Parses a base URL: `http` or `https`, a host, no query, no user part.
///
/// # Errors
/// [`ServiceUrlError`]
pub fn service_url(text: &str) -> Result<Url, ServiceUrlError> {
    let given = || text.to_owned();
    let url = Url::parse(text.trim()).map_err(|error| ServiceUrlError::Malformed(given(), error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ServiceUrlError::Scheme(given()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(ServiceUrlError::NoHost(given()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ServiceUrlError::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(ServiceUrlError::Query(given()));
    }
    Ok(url)
}

#[cfg(test)]
mod version_tests {
    use muster_api::agent::{PROTOCOL, protocol};

    use super::OWN_VERSION;

    #[test]
    fn the_version_that_services_are_told_tells_the_protocol_that_this_agent_speaks() {
        assert_eq!(protocol(OWN_VERSION), Some(PROTOCOL));
    }
}
