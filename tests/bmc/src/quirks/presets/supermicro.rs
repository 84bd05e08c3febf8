//! Supermicro X11 and X12.

use crate::quirks::{ImageRules, Product, Quirks, Slot};

impl Quirks {
    /// X11 and X12: `UsbCd`, `Image` and nothing else, an image that stays after an eject, no `https`, one folder.
    pub fn supermicro_x11() -> Self {
        let product = Product {
            vendor: "Supermicro".to_owned(),
            oem: "Supermicro".to_owned(),
            product: String::new(),
            manufacturer: "Supermicro".to_owned(),
            model: "X11DPT-B".to_owned(),
            manager_model: "ASPEED".to_owned(),
            firmware: "01.73.14".to_owned(),
            bios: "3.8a".to_owned(),
            redfish_version: "1.8.0".to_owned(),
            manager: "1".to_owned(),
            chassis: "1".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![Slot::url("VirtualMedia1", &["CD", "DVD"])],
            media_at_manager: true,
            only_image: true,
            usb_cd: true,
            keeps_image: true,
            swapped_uuid: true,
            odd_macs: true,
            image_rules: ImageRules {
                extensions: vec![".iso".to_owned()],
                no_query: true,
                no_https: true,
                max_folders: Some(1),
                ..ImageRules::default()
            },
            ..Self::of(product)
        }
    }
}
