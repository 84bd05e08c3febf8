//! Virtual drives as resources.

use std::time::Instant;

use serde_json::{Value, json};

use super::forms::collection;
use crate::bmc::Bmc;
use crate::quirks::{Slot, SlotKind};

/// The collection of a System or Manager at `owner`, or a drive of it.
pub(super) fn read(bmc: &Bmc, owner: &str, path: &[&str], now: Instant) -> Option<Value> {
    let slots = &bmc.quirks.slots;
    let at = format!("{owner}/VirtualMedia");
    match path {
        [] => {
            let members: Vec<String> = slots.iter().map(|slot| format!("{at}/{}", slot.id)).collect();
            let below = at.trim_start_matches("/redfish/v1/");
            Some(collection(bmc, below, "VirtualMedia", &members))
        }
        [id] => {
            let slot = slots.iter().find(|slot| slot.id == *id)?;
            Some(drive(bmc, slot, &format!("{at}/{id}"), now))
        }
        _ => None,
    }
}

fn drive(bmc: &Bmc, slot: &Slot, path: &str, now: Instant) -> Value {
    let shown = bmc.media.shown(&slot.id, &bmc.quirks, now);
    let url = shown.image.as_ref().map(|image| image.url.as_str());
    let name = url.and_then(|url| url.rsplit('/').next());
    let mut drive = json!({
        "@odata.id": path,
        "@odata.type": "#VirtualMedia.v1_6_0.VirtualMedia",
        "Id": slot.id,
        "Name": "Virtual Media",
        "MediaTypes": slot.types,
        "Image": url,
        "ImageName": name,
        "Inserted": shown.inserted,
        "ConnectedVia": if shown.inserted { "URI" } else { "NotConnected" },
        "WriteProtected": shown.image.as_ref().is_none_or(|image| image.write_protected),
    });
    if !bmc.quirks.patch_media && slot.kind != SlotKind::ConsoleOnly {
        let action = |name: &str| json!({"target": format!("{path}/Actions/VirtualMedia.{name}")});
        drive["Actions"] = json!({
            "#VirtualMedia.InsertMedia": action("InsertMedia"),
            "#VirtualMedia.EjectMedia": action("EjectMedia"),
        });
    }
    drive
}
