//! Lenovo XCC.

use crate::quirks::{ETags, ImageRules, Product, Quirks, Slot, SlotKind};

impl Quirks {
    /// XCC of the first generation: media by `PATCH` and only in EXT members, at the Manager; Boot requires a fresh
    /// tag.
    pub fn lenovo_xcc() -> Self {
        let product = Product {
            vendor: "Lenovo".to_owned(),
            oem: "Lenovo".to_owned(),
            product: "ThinkSystem SR650".to_owned(),
            manufacturer: "Lenovo".to_owned(),
            model: "ThinkSystem SR650".to_owned(),
            manager_model: "Lenovo XClarity Controller".to_owned(),
            firmware: "CDI3A8N 9.40".to_owned(),
            bios: "IVE184L 4.00".to_owned(),
            manager: "1".to_owned(),
            chassis: "1".to_owned(),
            registry: "ExtendedError.1.2".to_owned(),
            ..Product::default()
        };
        let drives = |name: &str, count: u8, kind| {
            let slot = move |at| Slot::new(&format!("{name}{at}"), &["CD", "DVD"], kind);
            (1..=count).map(slot).collect::<Vec<_>>()
        };
        Self {
            slots: [
                drives("RDOC", 2, SlotKind::Refuses),
                drives("Remote", 4, SlotKind::Refuses),
                drives("EXT", 4, SlotKind::Url),
            ]
            .concat(),
            media_at_manager: true,
            patch_media: true,
            media_status: 201,
            etag: ETags {
                required: true,
                ..ETags::default()
            },
            image_rules: ImageRules {
                no_https: true,
                ..ImageRules::default()
            },
            ..Self::of(product)
        }
    }
}
