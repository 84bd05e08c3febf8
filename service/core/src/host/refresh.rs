//! Where a host belongs, by what is known of it. Source: host-lifecycle.md §4, rules 34 to 38.
//!
//! Two differences from the table, both towards fewer surprises: a lost boot medium keeps a host disconnected until
//! it can be read again (there only the moment of the loss counts), and a host whose inventory arrives without its
//! contents goes back to discovering from every state (there a known host stays known).

use muster_api::time::Timestamp;
use muster_api::validation::ValidationsInfo;

use super::{Host, HostFacts, HostState, disks};
use crate::text::cut;
use crate::validate::{self, CheckId, Look};

/// Longest `status_info`, bytes (host-lifecycle.md §2).
const MAX_INFO: usize = 2040;

/// What a newly registered host is told to wait for.
pub(super) const WAITS_FOR_INVENTORY: &str = "Waits for the host to tell what it is made of";

/// Works out disks, checks and state of `host` anew.
pub(super) fn refresh(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    disks::settle(host, facts);
    let validations = validate::evaluate(&Look { host, facts, now });
    let (state, info) = decide(host, &validations);
    host.state = state;
    cut(&info, MAX_INFO).clone_into(&mut host.data.status_info);
    host.data.validations = validations;
}

fn decide(host: &Host, validations: &ValidationsInfo) -> (HostState, String) {
    for check in [CheckId::Connected, CheckId::MediaConnected] {
        if !validate::holds(validations, check) {
            return (
                HostState::DisconnectedUnbound,
                message(validations, check.id()).to_owned(),
            );
        }
    }
    if !validate::holds(validations, CheckId::HasInventory) {
        return (HostState::DiscoveringUnbound, WAITS_FOR_INVENTORY.into());
    }
    if !validate::holds(validations, CheckId::InventoryNotFullyTruncated) {
        let why = message(validations, CheckId::InventoryNotFullyTruncated.id());
        return (HostState::DiscoveringUnbound, why.to_owned());
    }
    let failed: Vec<String> = CheckId::ALL
        .into_iter()
        .filter(|check| CheckId::POOL_GATE.contains(check) && !validate::holds(validations, *check))
        .map(|check| check.id().to_owned())
        .collect();
    if failed.is_empty() {
        let name = super::hostname::display(host);
        return (
            HostState::KnownUnbound,
            format!("{name} is fit and can be bound to a cluster"),
        );
    }
    let mut reasons: Vec<&str> = failed.iter().map(|id| message(validations, id)).collect();
    reasons.sort_unstable();
    let info = format!("Not fit yet: {}", reasons.join(" ; "));
    (HostState::InsufficientUnbound { failed }, info)
}

fn message<'a>(validations: &'a ValidationsInfo, id: &str) -> &'a str {
    validate::find(validations, id).map_or("", |row| &row.message)
}
