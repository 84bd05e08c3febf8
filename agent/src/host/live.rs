//! Facts about the running machine that the session, the network and the console share.

use muster_api::fingerprint::Fingerprint;
use muster_api::ids::HostId;

use super::id;
use crate::inventory;
use crate::net::predictable_names;
use crate::root::Root;

/// The id under which this machine registers. Reads interfaces only when the firmware identifies nothing: it
/// may be slow.
pub fn identity() -> HostId {
    let root = Root::live();
    let from_firmware = id::compute(&root, &[]);
    if from_firmware.0 != id::NOTHING {
        return from_firmware;
    }
    id::compute(&root, &inventory::interfaces(&root))
}

pub fn fingerprint() -> Fingerprint {
    let root = Root::live();
    super::fingerprint::compute(&root, &inventory::interfaces(&root))
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
