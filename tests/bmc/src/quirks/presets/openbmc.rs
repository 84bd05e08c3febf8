//! OpenBMC.

use std::time::Duration;

use crate::quirks::{Lockout, Product, Quirks, Slot, SlotKind};

impl Quirks {
    /// OpenBMC: one drive of the console and one that accepts a URL; a lock-out.
    pub fn openbmc() -> Self {
        let product = Product {
            vendor: "OpenBMC".to_owned(),
            oem: "OpenBmc".to_owned(),
            product: String::new(),
            manufacturer: "IBM".to_owned(),
            model: "9105-22A".to_owned(),
            manager_model: "OpenBmc".to_owned(),
            firmware: "2.14.0".to_owned(),
            redfish_version: "1.17.0".to_owned(),
            system: "system".to_owned(),
            manager: "bmc".to_owned(),
            chassis: "chassis".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![
                Slot::new("Proxy_0", &["CD", "USBStick"], SlotKind::ConsoleOnly),
                Slot::url("Legacy_0", &["CD", "USBStick"]),
            ],
            media_at_manager: true,
            lockout: Some(Lockout {
                failures: 5,
                lasts: Duration::from_mins(5),
                status: 401,
            }),
            null_members: true,
            ..Self::of(product)
        }
    }
}
