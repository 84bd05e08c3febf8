//! Follows hardware and firmware of a host from one report to the next: an event for each part that differs, with both values.

use muster_api::event::Severity;
use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;

use super::events::about;
use crate::record::{Host, NewEvent};
use crate::rules::hardware::{Change, MAX_CHANGES, changes, parts, size};
use crate::rules::hostname;

/// Name of the events.
const CHANGED: &str = "muster_hardware_changed";

/// Notes the parts in which `inventory` differs from the host's inventory so far, also where that is of an earlier boot, and the size of a
/// host that was approved before it had one. Called before the host gets the inventory.
pub(super) fn note(host: &mut Host, inventory: &Inventory, now: Timestamp, events: &mut Vec<NewEvent>) {
    if host.data.approved && host.data.approved_size.is_none() {
        host.data.approved_size = size(inventory);
    }
    let of_earlier_boot = host.data.parts_before.take();
    let Some(old) = host.inventory.as_deref().and_then(parts).or(of_earlier_boot) else {
        return;
    };
    let Some(new) = parts(inventory) else {
        // The next inventory is compared instead.
        host.data.parts_before = Some(old);
        return;
    };
    let changes = changes(&old, &new);
    let named = changes.iter().take(MAX_CHANGES);
    events.extend(named.map(|change| changed(host, change, now)));
    let further = changes.len().saturating_sub(MAX_CHANGES);
    if further > 0 {
        let message = format!(
            "Host {}: {further} further parts differ from its inventory before",
            hostname::display(host)
        );
        events.push(about(host, CHANGED, Severity::Info, &message, now));
    }
}

/// Notes a firmware with another version than that of the report before, also of an earlier boot. Called before the host gets the report.
pub(super) fn note_firmware(host: &Host, version: &str, now: Timestamp, events: &mut Vec<NewEvent>) {
    let health = host.data.health.as_ref();
    let before = health.map_or("", |health| health.last.bios_version.as_str());
    if before.is_empty() || version.is_empty() || before == version {
        return;
    }
    let change = Change {
        part: "firmware",
        before: before.to_owned(),
        after: version.to_owned(),
        is_loss: false,
    };
    events.push(changed(host, &change, now));
}

fn changed(host: &Host, change: &Change, now: Timestamp) -> NewEvent {
    let name = hostname::display(host);
    let Change {
        part, before, after, ..
    } = change;
    let message = match (before.is_empty(), after.is_empty()) {
        (true, _) => format!("Host {name}: the {part} {after} is new"),
        (false, true) => format!("Host {name}: the {part} {before} is gone"),
        (false, false) => format!("Host {name}: {part}: {before} -> {after}"),
    };
    let severity = if change.is_loss {
        Severity::Warning
    } else {
        Severity::Info
    };
    let mut event = about(host, CHANGED, severity, &message, now);
    event.props.insert("part".into(), (*part).into());
    event.props.insert("before".into(), before.clone().into());
    event.props.insert("after".into(), after.clone().into());
    event
}
