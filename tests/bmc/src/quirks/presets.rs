//! BMCs of the market, as docs/protocol/redfish.md#3 tells of them. Names and versions are those that such a BMC tells; what is
//! not known to differ is as the standard says.

use std::time::Duration;

use super::{
    ETags, ErrorShape, ImageRules, Lag, Lockout, Product, Quirks, ShownPower, Slot, SlotKind, Systems, Tasks,
};

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

    /// iLO 4: `InsertMedia` takes `Image` and nothing else; media at the Manager.
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

    /// XCC of the first generation: media by `PATCH` and only in EXT members, at the Manager; Boot wants a fresh tag.
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

    /// iRMC: `PATCH` wants `If-Match`.
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

    /// OpenBMC: one drive of the console and one that takes a URL; a lock-out.
    pub fn openbmc() -> Self {
        let product = Product {
            vendor: "OpenBMC".to_owned(),
            oem: "OpenBmc".to_owned(),
            product: String::new(),
            manufacturer: "IBM".to_owned(),
            model: "9105-22A".to_owned(),
            manager_model: "OpenBmc".to_owned(),
            firmware: "2.14.0".to_owned(),
            redfish_version: "1.17.0".to_owned(),
            system: "system".to_owned(),
            manager: "bmc".to_owned(),
            chassis: "chassis".to_owned(),
            ..Product::default()
        };
        Self {
            slots: vec![
                Slot::new("Proxy_0", &["CD", "USBStick"], SlotKind::ConsoleOnly),
                Slot::url("Legacy_0", &["CD", "USBStick"]),
            ],
            media_at_manager: true,
            lockout: Some(Lockout {
                failures: 5,
                lasts: Duration::from_mins(5),
                status: 401,
            }),
            null_members: true,
            ..Self::of(product)
        }
    }

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

    /// CIMC: drives of the console first, the one that takes a URL only says DVD; no `EthernetInterfaces`.
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

    fn of(product: Product) -> Self {
        Self {
            product,
            ..Self::default()
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
