//! A machine as its BMC reports it.

use serde::{Deserialize, Serialize};

macro_rules! told {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = "crate::serialize::is_default")] pub $field: $type,)*
        }
    };
}

told! {
    /// All of it is a claim: a BMC may be wrong, or lie. Values that are left out were not reported.
    BmcInventory {
        vendor: Option<String>,
        model: Option<String>,
        /// The machine's serial number, from where this vendor keeps it.
        serial: Option<String>,
        sku: Option<String>,
        /// Serial numbers of the board and of the chassis, which machines may share.
        other_serials: Vec<String>,
        uuid: Option<String>,
        asset_tag: Option<String>,
        host_name: Option<String>,
        processors: Vec<BmcProcessor>,
        memory: BmcMemory,
        nics: Vec<BmcNic>,
        drives: Vec<BmcDrive>,
        bios_version: Option<String>,
        bmc_version: Option<String>,
        firmware: Vec<BmcFirmware>,
        /// `UEFI` or `Legacy`: the setting of the next boot.
        boot_mode: Option<String>,
        secure_boot: Option<bool>,
        /// `OK`, `Warning` or `Critical`, of all parts together.
        health: Option<String>,
        power: Option<String>,
        /// What could not be read, and why.
        notes: Vec<String>,
    }
}

told! {
    /// A processor socket.
    BmcProcessor {
        model: Option<String>,
        cores: Option<u32>,
        threads: Option<u32>,
        /// `x86-64`, `ARM-A64` and the like.
        instruction_set: Option<String>,
    }
}

told! {
    BmcMemory {
        /// Some BMCs count 10^9 bytes.
        gib: Option<f64>,
    }
}

told! {
    BmcNic {
        name: String,
        /// `aa:bb:cc:dd:ee:ff`.
        mac: String,
        /// The address that is burnt in, when it is another one.
        permanent_mac: Option<String>,
        speed_mbps: Option<u32>,
        /// `LinkUp`, `LinkDown`, `NoLink`.
        link: Option<String>,
    }
}

told! {
    BmcDrive {
        name: String,
        model: Option<String>,
        serial: Option<String>,
        bytes: Option<u64>,
        /// `HDD` or `SSD`.
        media: Option<String>,
        /// `SATA`, `SAS`, `NVMe` and the like.
        protocol: Option<String>,
    }
}

told! {
    BmcFirmware {
        name: String,
        version: String,
    }
}
