//! Huawei iBMC.

use std::time::Duration;

use crate::quirks::{ETags, Lag, Product, Quirks, ShownPower, Slot};

impl Quirks {
    /// iBMC: the System does not name its Manager; power lags.
    pub fn huawei() -> Self {
        let product = Product {
            vendor: String::new(),
            oem: "Huawei".to_owned(),
            product: "1288H V5".to_owned(),
            manufacturer: "Huawei".to_owned(),
            model: "1288H V5".to_owned(),
            manager_model: "iBMC".to_owned(),
            firmware: "6.41".to_owned(),
            redfish_version: "1.0.2".to_owned(),
            manager: "1".to_owned(),
            chassis: "1".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![Slot::url("CD", &["CD", "DVD"])],
            media_at_manager: true,
            no_managed_by: true,
            lag: Lag {
                on: Duration::from_secs(1),
                off: Duration::from_secs(1),
                shows: ShownPower::Before,
            },
            etag: ETags {
                required: true,
                weak: true,
                ..ETags::default()
            },
            ..Self::of(product)
        }
    }
}
