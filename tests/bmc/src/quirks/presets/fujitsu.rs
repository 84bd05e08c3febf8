//! Fujitsu iRMC.

use std::time::Duration;

use crate::quirks::{ETags, Product, Quirks, Tasks};

impl Quirks {
    /// iRMC: `PATCH` requires `If-Match`.
    pub fn fujitsu() -> Self {
        let product = Product {
            vendor: "Fujitsu".to_owned(),
            oem: "ts_fujitsu".to_owned(),
            product: "PRIMERGY RX2540 M5".to_owned(),
            manufacturer: "FUJITSU".to_owned(),
            model: "PRIMERGY RX2540 M5".to_owned(),
            manager_model: "iRMC S5".to_owned(),
            firmware: "3.37P".to_owned(),
            system: "0".to_owned(),
            manager: "iRMC".to_owned(),
            chassis: "0".to_owned(),
            ..Product::default()
        };
        Self {
            etag: ETags {
                required: true,
                weak: true,
                ..ETags::default()
            },
            tasks: Some(Tasks {
                power: false,
                ..Tasks::taking(Duration::from_secs(1))
            }),
            ..Self::of(product)
        }
    }
}
