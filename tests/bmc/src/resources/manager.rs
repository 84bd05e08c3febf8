//! The Manager: the BMC itself.

use std::time::Instant;

use serde_json::{Value, json};

use super::forms::link;
use super::media;
use crate::bmc::Bmc;

pub(super) fn read(bmc: &Bmc, path: &[&str], now: Instant) -> Option<Value> {
    match path {
        [] => Some(manager(bmc)),
        ["VirtualMedia", rest @ ..] if bmc.quirks.media_at_manager => {
            media::read(bmc, &bmc.manager(), rest, now)
        }
        _ => None,
    }
}

fn manager(bmc: &Bmc) -> Value {
    let (path, product) = (bmc.manager(), &bmc.quirks.product);
    let mut manager = json!({
        "@odata.id": path,
        "@odata.type": "#Manager.v1_17_0.Manager",
        "Id": product.manager,
        "Name": "Manager",
        "ManagerType": "BMC",
        "Model": product.manager_model,
        "FirmwareVersion": product.firmware,
        "PowerState": "On",
        "Status": {"State": "Enabled", "Health": "OK"},
        "Links": {"ManagerForServers": [link(&bmc.system())], "ManagerForChassis": [link(&bmc.chassis())]},
    });
    if bmc.quirks.media_at_manager {
        manager["VirtualMedia"] = link(&format!("{path}/VirtualMedia"));
    }
    manager
}
