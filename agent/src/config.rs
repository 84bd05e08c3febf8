//! What the agent is told: by arguments and environment when it is an ordinary program, by the image's
//! configuration file and kernel arguments when it is PID 1.

pub mod flags;
pub mod live;

use std::fmt;
use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::live::LiveProxy;
use url::Url;

/// What this agent calls itself until a service tells it another name.
pub const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Public certificates of the system; a file that is absent is no error as long as it is not needed.
pub const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A secret that opens one InfraEnv. Never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Wraps the text as it goes into the header.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the header alone.
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

/// Who to report to, as whom, and how to get there.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Base URL of the service, without `/api/assisted-install`.
    pub service_url: Url,
    /// The pool that the host joins.
    pub infra_env_id: InfraEnvId,
    /// The pool's name, for people; may be empty.
    pub infra_env_name: String,
    /// The agent's token; empty when the service asks for none.
    pub token: Token,
    /// PEM certificates to trust beside the system's.
    pub ca_certificates: String,
    /// Do not verify the service's certificate.
    pub insecure: bool,
    /// Proxies for the way to the service.
    pub proxy: LiveProxy,
    /// Time sources to ask, names or addresses.
    pub ntp_sources: Vec<String>,
    /// Longest wait between two attempts to register.
    pub interval: Duration,
    /// What the agent calls itself.
    pub agent_version: String,
    /// Overrides the computed host id.
    pub host_id: Option<HostId>,
}

/// Reads a base URL: `http` or `https`, a host, no query, no user part.
///
/// # Errors
/// A sentence that says what is wrong with the text.
pub fn service_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("`{text}` is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{text}` must start with http:// or https://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(format!("`{text}` names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the service URL must not hold a user or password; the token is given apart".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("`{text}` must not have a query or fragment"));
    }
    Ok(url)
}
