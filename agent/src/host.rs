//! Who this machine is: the few facts that the session, the network and the console share.

use muster_api::fingerprint::Fingerprint;
use muster_api::ids::HostId;

use crate::fingerprint;
use crate::host_id;
use crate::inventory;
use crate::predictable_names;
use crate::root::Root;

/// What [`host_id::compute`] answers when it has nothing to go by (docs/protocol/agent-inventory.md#14, rule 4).
const NOTHING: &str = "deaddead-dead-dead-dead-deaddeaddead";

/// The id under which this machine registers. Interfaces, and nothing else that could be slow to answer, are looked
/// at only when the firmware names nothing.
pub fn identity() -> HostId {
    let root = Root::live();
    let id = host_id::compute(&root, &[]);
    if id.to_string() != NOTHING {
        return id;
    }
    host_id::compute(&root, &inventory::interfaces(&root))
}

/// What the parts of this machine call themselves.
pub fn fingerprint() -> Fingerprint {
    let root = Root::live();
    fingerprint::compute(&root, &inventory::interfaces(&root))
}

/// The name that the installed OS will give to the interface with this name.
pub fn predictable_name(name: &str) -> Option<String> {
    predictable_names::names(&Root::live())
        .into_iter()
        .find(|(present, _)| present == name)?
        .1
}

/// Manufacturer, product and serial number, for the console.
pub fn machine() -> String {
    let root = Root::live();
    ["sys_vendor", "product_name", "product_serial"]
        .iter()
        .filter_map(|field| root.text(&format!("/sys/class/dmi/id/{field}")).ok())
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
