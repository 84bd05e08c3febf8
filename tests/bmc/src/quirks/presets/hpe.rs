//! HPE iLO.

use std::time::Duration;

use crate::quirks::{Product, Quirks, Slot};

impl Quirks {
    /// iLO 4: `InsertMedia` accepts `Image` and nothing else; media at the Manager.
    pub fn hpe_ilo4() -> Self {
        Self {
            only_image: true,
            product: Product {
                model: "ProLiant DL360 Gen9".to_owned(),
                product: "ProLiant DL360 Gen9".to_owned(),
                manager_model: "iLO 4".to_owned(),
                firmware: "iLO 4 v2.82".to_owned(),
                redfish_version: "1.0.0".to_owned(),
                ..Self::hpe_ilo5().product
            },
            ..Self::hpe_ilo5()
        }
    }

    /// iLO 5: media at the Manager, refusals after a power call and during POST, connections that are reset, slashes.
    pub fn hpe_ilo5() -> Self {
        let product = Product {
            vendor: "HPE".to_owned(),
            oem: "Hpe".to_owned(),
            product: "ProLiant DL360 Gen10".to_owned(),
            manufacturer: "HPE".to_owned(),
            model: "ProLiant DL360 Gen10".to_owned(),
            manager_model: "iLO 5".to_owned(),
            firmware: "iLO 5 v2.95".to_owned(),
            bios: "U32 v2.90".to_owned(),
            redfish_version: "1.6.0".to_owned(),
            manager: "1".to_owned(),
            chassis: "1".to_owned(),
            registry: "iLO.2.19".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![
                Slot::url("1", &["Floppy", "USBStick"]),
                Slot::url("2", &["CD", "DVD"]),
            ],
            media_at_manager: true,
            eject_needs_body: true,
            refuses_empty_eject: true,
            post_busy: 2,
            settles: Duration::from_millis(500),
            identity_406: true,
            reset_connection: true,
            slashes: true,
            odd_macs: true,
            ..Self::of(product)
        }
    }
}
