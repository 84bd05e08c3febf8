//! The Chassis.

use serde_json::{Value, json};

use super::forms::link;
use crate::bmc::Bmc;

pub(super) fn read(bmc: &Bmc, path: &[&str]) -> Option<Value> {
    let product = &bmc.quirks.product;
    path.is_empty().then(|| {
        json!({
            "@odata.id": bmc.chassis(),
            "@odata.type": "#Chassis.v1_22_0.Chassis",
            "Id": product.chassis,
            "Name": "Chassis",
            "ChassisType": "RackMount",
            "Manufacturer": product.manufacturer,
            "Model": product.model,
            "SerialNumber": bmc.hardware.serial,
            "PowerState": bmc.power_state(),
            "Status": {"State": "Enabled", "Health": "OK"},
            "Links": {"ComputerSystems": [link(&bmc.system())], "ManagedBy": [link(&bmc.manager())]},
        })
    })
}
