//! Dell iDRAC.

use std::time::Duration;

use crate::quirks::{ETags, ErrorShape, ImageRules, Product, Quirks, Slot, SlotKind};

impl Quirks {
    /// iDRAC9 from 6.00.02 on: media at the System, a stale drive after an eject, errors with one object.
    pub fn dell_idrac9() -> Self {
        Self {
            slots: vec![
                Slot::url("1", &["CD", "DVD", "USBStick"]),
                Slot::url("2", &["CD", "DVD", "USBStick"]),
            ],
            stale_inserted: Duration::from_secs(2),
            eject_errors: 1,
            not_ready: 1,
            error_shape: ErrorShape::Single,
            session_limit: 8,
            serial_in_sku: true,
            image_rules: ImageRules {
                extensions: images(),
                max_length: Some(255),
                ..ImageRules::default()
            },
            refuses_same_power: true,
            ..Self::of(dell("iDRAC 9", "7.00.00.171", "PowerEdge R650"))
        }
    }

    /// iDRAC9 before 6.00.02: media at the Manager, under other names.
    pub fn dell_idrac9_old() -> Self {
        Self {
            slots: vec![
                Slot::url("RemovableDisk", &["USBStick"]),
                Slot::url("CD", &["CD", "DVD"]),
            ],
            media_at_manager: true,
            product: dell("iDRAC 9", "5.10.50.00", "PowerEdge R640"),
            ..Self::dell_idrac9()
        }
    }

    /// iDRAC10: only drive 1 works, Boot is in the settings object, `If-Match` on actions is refused, On conflicts after an off.
    pub fn dell_idrac10() -> Self {
        Self {
            slots: vec![
                Slot::url("1", &["CD", "DVD", "USBStick"]),
                Slot::new("2", &["CD", "DVD", "USBStick"], SlotKind::Refuses),
            ],
            settings_object: true,
            etag: ETags {
                refused_on_actions: true,
                ..ETags::default()
            },
            on_conflict: 2,
            serial_in_sku: true,
            ..Self::of(dell("iDRAC 10", "1.20.25.00", "PowerEdge R670"))
        }
    }
}

fn dell(manager: &str, firmware: &str, model: &str) -> Product {
    Product {
        vendor: "Dell".to_owned(),
        oem: "Dell".to_owned(),
        product: "Integrated Dell Remote Access Controller".to_owned(),
        manufacturer: "Dell Inc.".to_owned(),
        model: model.to_owned(),
        manager_model: manager.to_owned(),
        firmware: firmware.to_owned(),
        bios: "1.13.2".to_owned(),
        redfish_version: "1.17.0".to_owned(),
        system: "System.Embedded.1".to_owned(),
        manager: "iDRAC.Embedded.1".to_owned(),
        chassis: "System.Embedded.1".to_owned(),
        registry: "IDRAC.2.8".to_owned(),
    }
}

fn images() -> Vec<String> {
    vec![".iso".to_owned(), ".img".to_owned()]
}
