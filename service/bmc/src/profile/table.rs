use std::time::Duration;

use super::choose::When;
use super::{Extra, MediaForm, NotReady, Profile, SerialPlace, UrlRules};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn not_ready(id: &'static str, tries: u32, pause: u64, longest: u64) -> NotReady {
    NotReady {
        id,
        tries,
        pause: seconds(pause),
        longest: seconds(longest),
    }
}

const BUSY: NotReady = not_ready("ServiceTemporarilyUnavailable", 3, 5, 20);

pub(super) const STANDARD: Profile = Profile {
    name: "standard",
    media: MediaForm::Action,
    only_slots: &[],
    skip_slots: &["RDOC", "Remote"],
    extras: &[],
    image_only: false,
    cd_target: "Cd",
    with_mode: false,
    if_match: false,
    close: false,
    after_off: Duration::ZERO,
    between: Duration::ZERO,
    not_ready: &[BUSY],
    serial: SerialPlace::SerialNumber,
    url: UrlRules {
        longest: 255,
        https: true,
        endings: &[".iso", ".img"],
    },
    http_boot: Ok(()),
    http_boot_unlisted: false,
    systems: &[],
    unsupported: None,
    no_slot: "media by URL may need a licence or newer firmware of the BMC",
};

const DELL: Profile = Profile {
    name: "Dell iDRAC9",
    not_ready: &[
        BUSY,
        not_ready("SYS518", 6, 10, 10),
        not_ready("SYS446", 6, 10, 10),
        not_ready("RAC0904", 3, 3, 3),
    ],
    serial: SerialPlace::Sku,
    http_boot: Err(
        "iDRAC reads the URL for HTTP boot from the BIOS attribute HttpDev1Uri: use virtual media",
    ),
    no_slot: "set the iDRAC's Virtual Media Attach Mode to Attached or AutoAttach, and clear its queue of Lifecycle jobs",
    ..STANDARD
};

const DELL_OLD: Profile = Profile {
    name: "Dell iDRAC before virtual CDs",
    unsupported: Some(
        "this iDRAC firmware boots the physical drive when a CD is requested: update it to 6.00.00 or later",
    ),
    ..DELL
};

const HPE: Profile = Profile {
    name: "HPE iLO",
    close: true,
    not_ready: &[
        BUSY,
        not_ready("UnableToModifyDuringSystemPOST", 6, 5, 30),
        not_ready("InvalidOperationForSystemState", 6, 5, 30),
    ],
    no_slot: "iLO takes media by URL with an Advanced licence only",
    ..STANDARD
};

const XCC: Profile = Profile {
    name: "Lenovo XCC2",
    media: MediaForm::Patch,
    only_slots: &["EXT"],
    http_boot: Err("XCC has its own place for the URL of HTTP boot: use virtual media"),
    no_slot: "XCC takes media by URL in its slots EXT1 to EXT4, with an Advanced or Enterprise level; the first XCC has them from firmware \
              2.50 on",
    ..STANDARD
};

const SUPERMICRO: Profile = Profile {
    name: "Supermicro",
    cd_target: "UsbCd",
    no_slot: "media by URL needs a licence (SFT-OOB or SFT-DCMS), and firmware with the standard VirtualMedia",
    ..STANDARD
};

const AMI: Profile = Profile {
    name: "AMI",
    extras: &[Extra::User],
    with_mode: true,
    if_match: true,
    no_slot: "AMI's BMCs show no slots while their remote media (RMedia) are disabled: enable them in the BMC's web interface",
    ..STANDARD
};

const ANY: When = When {
    vendor: &[],
    model: &[],
    processor: "",
    from: [0, 0, 0],
    before: None,
};

const fn vendor(vendor: &'static [&'static str]) -> When {
    When { vendor, ..ANY }
}

const fn model(vendor: &'static [&'static str], model: &'static [&'static str]) -> When {
    When { vendor, model, ..ANY }
}

/// The first matching row is used.
pub(super) const ROWS: &[(When, Profile)] = &[
    (
        model(&["Dell"], &["17G", "iDRAC10", "iDRAC 10"]),
        Profile {
            name: "Dell iDRAC10",
            only_slots: &["1"],
            not_ready: &[
                BUSY,
                not_ready("SYS518", 6, 10, 10),
                not_ready("ActionParameterValueConflict", 6, 10, 10),
            ],
            ..DELL
        },
    ),
    (
        When {
            before: Some([4, 40, 10]),
            ..vendor(&["Dell"])
        },
        DELL_OLD,
    ),
    (
        When {
            processor: "AMD",
            before: Some([6, 0, 0]),
            ..vendor(&["Dell"])
        },
        DELL_OLD,
    ),
    (
        When {
            before: Some([6, 0, 0]),
            ..vendor(&["Dell"])
        },
        Profile {
            name: "Dell iDRAC9 before 6.00",
            between: seconds(20),
            ..DELL
        },
    ),
    (vendor(&["Dell"]), DELL),
    (
        model(&["HPE", "Hewlett"], &["iLO 4"]),
        Profile {
            name: "HPE iLO 4",
            image_only: true,
            ..HPE
        },
    ),
    // Made by HPE, and no iLO: a controller of several nodes.
    (
        model(&["HPE", "Hewlett", "Cray"], &["Cray EX"]),
        Profile {
            name: "HPE Cray EX",
            http_boot: Err(
                "the controller of a Cray EX blade chooses no boot source: boot its nodes by the network",
            ),
            no_slot: "the controller of a Cray EX blade has no virtual media: boot its nodes by the network",
            ..STANDARD
        },
    ),
    (vendor(&["HPE", "Hewlett"]), HPE),
    (
        model(&["Lenovo"], &["TSM"]),
        Profile {
            name: "Lenovo TSM",
            extras: &[Extra::User],
            ..AMI
        },
    ),
    (
        model(&["Lenovo"], &["SR675"]),
        Profile {
            name: "Lenovo SR675",
            after_off: seconds(10),
            ..XCC
        },
    ),
    (
        model(
            &["Lenovo"],
            &["XClarity Controller 2", "XClarity Controller 3", "XCC2", "XCC3"],
        ),
        XCC,
    ),
    (
        vendor(&["Lenovo"]),
        Profile {
            name: "Lenovo XCC",
            url: UrlRules {
                https: false,
                ..STANDARD.url
            },
            ..XCC
        },
    ),
    (
        model(&["Supermicro"], &["ARS-111GL-NHR"]),
        Profile {
            name: "Supermicro ARS-111GL-NHR",
            cd_target: "Cd",
            ..SUPERMICRO
        },
    ),
    (
        model(&["Supermicro"], &["X11"]),
        Profile {
            name: "Supermicro X11",
            url: UrlRules {
                https: false,
                ..STANDARD.url
            },
            ..SUPERMICRO
        },
    ),
    (vendor(&["Supermicro"]), SUPERMICRO),
    (
        vendor(&["Fujitsu"]),
        Profile {
            name: "Fujitsu iRMC",
            if_match: true,
            ..STANDARD
        },
    ),
    (
        model(&["NVIDIA", "AMI"], &["DGX"]),
        Profile {
            name: "NVIDIA DGX",
            systems: &["DGX", "HGX_Baseboard_0"],
            ..AMI
        },
    ),
    (
        model(&["NVIDIA"], &["GB200", "GB300", "GH200"]),
        Profile {
            name: "NVIDIA Grace",
            http_boot_unlisted: true,
            ..STANDARD
        },
    ),
    (vendor(&["AMI", "American Megatrends", "ASRockRack"]), AMI),
    (
        vendor(&["Huawei", "xFusion"]),
        Profile {
            name: "Huawei iBMC",
            no_slot: "iBMC inserts media by calls of its own (VmmControl), which are not spoken here: boot the machine otherwise",
            ..STANDARD
        },
    ),
    (
        vendor(&["OpenBMC"]),
        Profile {
            name: "OpenBMC",
            skip_slots: &["Proxy"],
            no_slot: "slots that stream from a browser (Proxy) take no URL",
            ..STANDARD
        },
    ),
];
