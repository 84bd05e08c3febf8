use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Proxy settings of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proxy {
    /// URL of the proxy for plain HTTP, such as `http://proxy.example.com:3128`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// URL of the proxy for HTTPS. The URL itself is an `http://` one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// Destinations that are reached directly: names, domains, addresses and CIDRs, separated by commas. `*` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
}
