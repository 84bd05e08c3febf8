//! `free-network-addresses`: finds unused addresses. The argument is a JSON array of canonical IPv4 networks.

use serde::{Deserialize, Serialize};

use crate::serialize::{is_default, null_as_default};

/// One network of the reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FreeNetworkAddresses {
    /// As requested, CIDR.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "null_as_default")]
    pub network: String,
    /// All its addresses that did not respond.
    #[serde(deserialize_with = "null_as_default")]
    pub free_addresses: Vec<String>,
}
