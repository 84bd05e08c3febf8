//! `reboot-node`: the agent on an installed node reboots it into the installed system. Our addition to the protocol.

use serde::{Deserialize, Serialize};

use crate::serialize::null_as_default;

/// Argument of `reboot-node`. A node that has booted since the request replies that it is done, so that a request is carried out once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RebootNodeRequest {
    /// Age of the request, seconds; no clock of the node is compared with one of the service.
    #[serde(deserialize_with = "null_as_default")]
    pub requested_seconds_ago: i64,
}
