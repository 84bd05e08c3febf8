//! Events about hosts. Names, severities and facts follow events.tsv; the wording is ours.
use super::Host;
use crate::event::NewEvent;
use muster_api::time::Timestamp;

/// A host was deleted.
pub fn host_deregistered(host: &Host, now: Timestamp) -> NewEvent {
    let _ = (host, now);
    todo!()
}
