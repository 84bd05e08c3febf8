//! BMCs on the market, as docs/protocol/redfish.md#3 describes them. Names and versions are those that such a BMC
//! reports; where no difference is known, they follow the standard.

mod ami;
mod cisco;
mod dell;
mod fujitsu;
mod hpe;
mod huawei;
mod lenovo;
mod openbmc;
mod supermicro;

use super::{Product, Quirks};

impl Quirks {
    /// All presets with their names.
    pub fn vendors() -> Vec<(&'static str, Self)> {
        vec![
            ("dell_idrac9", Self::dell_idrac9()),
            ("dell_idrac9_old", Self::dell_idrac9_old()),
            ("dell_idrac10", Self::dell_idrac10()),
            ("hpe_ilo4", Self::hpe_ilo4()),
            ("hpe_ilo5", Self::hpe_ilo5()),
            ("lenovo_xcc", Self::lenovo_xcc()),
            ("supermicro_x11", Self::supermicro_x11()),
            ("fujitsu", Self::fujitsu()),
            ("ami", Self::ami()),
            ("openbmc", Self::openbmc()),
            ("huawei", Self::huawei()),
            ("cisco", Self::cisco()),
        ]
    }

    fn of(product: Product) -> Self {
        Self {
            product,
            ..Self::default()
        }
    }
}
