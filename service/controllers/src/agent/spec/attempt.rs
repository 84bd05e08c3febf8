//! The end of an attempt to carry out a request that an annotation of an Agent has.

use std::time::Duration;

use muster_controller::retry::RETRY_INTERVAL;
use muster_core::record::{Host, KubeRef};
use muster_operations::chain;

use crate::error::Error;

/// Returns the host afterwards, and the time after which to try again. `tried` is the changed host, `None` when nothing has changed. A
/// failure is logged with the `request`, such as "to reboot a host".
pub(super) fn ended(
    agent: &KubeRef,
    request: &str,
    host: Host,
    tried: Result<Option<Host>, Error>,
) -> (Host, Option<Duration>) {
    match tried {
        Ok(Some(changed)) => (changed, None),
        Ok(None) => (host, None),
        Err(error) => {
            tracing::warn!(agent = %agent, error = chain(&error), "the request {request} could not be carried on; trying again");
            (host, Some(RETRY_INTERVAL))
        }
    }
}
