//! Cisco CIMC.

use crate::quirks::{Product, Quirks, Slot, SlotKind};

impl Quirks {
    /// CIMC: drives of the console first, the only drive that accepts a URL has the type DVD; no `EthernetInterfaces`.
    pub fn cisco() -> Self {
        let product = Product {
            vendor: "Cisco Systems Inc.".to_owned(),
            oem: "Cisco".to_owned(),
            product: "UCSC-C220-M5SX".to_owned(),
            manufacturer: "Cisco Systems Inc".to_owned(),
            model: "UCSC-C220-M5SX".to_owned(),
            manager_model: "CIMC".to_owned(),
            firmware: "4.2(3b)".to_owned(),
            system: "WZP22330001".to_owned(),
            manager: "CIMC".to_owned(),
            chassis: "1".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![
                Slot::new("0", &["CD", "DVD"], SlotKind::Refuses),
                Slot::new("1", &["CD", "DVD"], SlotKind::ConsoleOnly),
                Slot::url("2", &["DVD"]),
            ],
            media_at_manager: true,
            no_ethernet_interfaces: true,
            action_info: true,
            ..Self::of(product)
        }
    }
}
