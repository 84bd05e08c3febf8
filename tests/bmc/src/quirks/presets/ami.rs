//! AMI MegaRAC.

use std::time::Duration;

use crate::quirks::{ETags, ErrorShape, Product, Quirks, Slot, Systems, Tasks};

impl Quirks {
    /// AMI MegaRAC: all members of Boot together, in the settings object, `If-Match: *`, user and password for media.
    pub fn ami() -> Self {
        let product = Product {
            vendor: "AMI".to_owned(),
            oem: "Ami".to_owned(),
            product: "AMI Redfish Server".to_owned(),
            manufacturer: "ASRockRack".to_owned(),
            model: "GENOAD8X".to_owned(),
            manager_model: "MegaRAC SP-X".to_owned(),
            firmware: "12.61.39".to_owned(),
            system: "Self".to_owned(),
            manager: "Self".to_owned(),
            chassis: "Self".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![Slot::url("CD1", &["CD", "DVD"])],
            media_at_manager: true,
            needs_user: true,
            needs_protocol: true,
            boot_needs_all: true,
            settings_object: true,
            etag: ETags {
                required: true,
                only_star: true,
                body_only: true,
                ..ETags::default()
            },
            tasks: Some(Tasks {
                power: false,
                ..Tasks::taking(Duration::from_secs(1))
            }),
            error_shape: ErrorShape::NoCode,
            several_systems: Systems::WithBaseboard,
            ..Self::of(product)
        }
    }
}
