//! Switches for the differences of BMCs on the market. The default is a BMC that follows the standard.
//!
//! Each switch names its row of docs/protocol/redfish.md.

mod presets;
mod seconds;
mod shapes;
mod slots;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use shapes::{
    ETags, ErrorShape, ImageRules, Lag, Lockout, Once, Product, ShownPower, Systems, TaskEnd, Tasks,
};
pub use slots::{Slot, SlotKind};

/// All differences of a BMC. Counters (`u32`) are the remaining occurrences; the emulator counts them down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Names and numbers by which a client identifies the BMC (docs/protocol/redfish.md#2.3).
    pub product: Product,

    // Media
    /// The virtual drives, and whether they accept a URL (docs/protocol/redfish.md#2.6, "choose the member").
    pub slots: Vec<Slot>,
    /// Media are at the Manager and not at the System (docs/protocol/redfish.md#2.3; Dell iDRAC9 before 6.00.02, HPE iLO 5).
    pub media_at_manager: bool,
    /// Drives have no `InsertMedia`: `PATCH` inserts and ejects (docs/protocol/redfish.md#3, Lenovo XCC).
    pub patch_media: bool,
    /// `InsertMedia` refuses every member except `Image` and those that other switches require
    /// (docs/protocol/redfish.md#3, HPE iLO 4, Supermicro).
    pub only_image: bool,
    /// `InsertMedia` requires `TransferProtocolType` (docs/protocol/redfish.md#2.6, "add only when asked").
    pub needs_protocol: bool,
    /// `InsertMedia` requires `UserName` and `Password`, any (docs/protocol/redfish.md#3, AMI, NVIDIA DGX).
    pub needs_user: bool,
    /// `EjectMedia` without a body is refused; `{}` is accepted (docs/protocol/redfish.md#3, HPE iLO 5).
    pub eject_needs_body: bool,
    /// `EjectMedia` of an empty drive is refused with 400 (docs/protocol/redfish.md#2.6, "eject").
    pub refuses_empty_eject: bool,
    /// So many ejects return 500 although the drive is empty afterwards (docs/protocol/redfish.md#3, "5xx while an
    /// eject runs").
    pub eject_errors: u32,
    /// Time after an eject in which the drive is shown as before (docs/protocol/redfish.md#3, "stale Inserted").
    #[serde(with = "seconds")]
    pub stale_inserted: Duration,
    /// `Image` is kept after an eject, with `Inserted` false (docs/protocol/redfish.md#3, Supermicro).
    pub keeps_image: bool,
    /// An insert is reported as done, and the drive is shown empty (docs/protocol/redfish.md#1.3: calls that return 204
    /// and do nothing).
    pub hides_media: bool,
    /// Status of a successful insert or eject (docs/protocol/redfish.md#2.1: Lenovo returns 201).
    pub media_status: u16,
    /// Virtual media by URL need a licence that this BMC lacks (docs/protocol/redfish.md#3, HPE iLO 5/6, Supermicro).
    pub unlicensed: bool,
    /// Image URLs that are refused (docs/protocol/redfish.md#4).
    pub image_rules: ImageRules,
    /// The BMC reads the image before it reports it as inserted: `HEAD`, then two ranges (docs/protocol/redfish.md#4).
    pub reads_image: bool,

    // Boot
    /// The effect of `BootSourceOverrideEnabled: Once` (docs/protocol/redfish.md#1.3, read back as Continuous).
    pub once: Once,
    /// A cleared boot override stays, though the call is reported as done (docs/protocol/redfish.md#1.3, likewise).
    pub keeps_override: bool,
    /// The virtual drive is `UsbCd`; `Cd` is a drive that does not exist (docs/protocol/redfish.md#3, Supermicro).
    pub usb_cd: bool,
    /// `Boot` is written at the settings object, and takes effect with the next start (docs/protocol/redfish.md#3, Dell iDRAC10).
    pub settings_object: bool,
    /// Mode, enabled and target are written together or refused (docs/protocol/redfish.md#3, AMI).
    pub boot_needs_all: bool,
    /// So many writes of `Boot` are refused with `UnableToModifyDuringSystemPOST` (docs/protocol/redfish.md#3, HPE iLO 5/6).
    pub post_busy: u32,

    // Power
    /// Power calls take effect later (docs/protocol/redfish.md#2.4, "lag").
    pub lag: Lag,
    /// So many `On` after an off are refused with 409 (docs/protocol/redfish.md#2.4, iDRAC10).
    pub on_conflict: u32,
    /// A power call that would change nothing is refused with 400 (docs/protocol/redfish.md#2.4, "already powered off").
    pub refuses_same_power: bool,
    /// Time after a power call in which another is refused with `InvalidOperationForSystemState`
    /// (docs/protocol/redfish.md#3, HPE iLO 5/6).
    #[serde(with = "seconds")]
    pub settles: Duration,
    /// `ForceRestart` is accepted and nothing happens (docs/protocol/redfish.md#3, Lenovo SR675 V3 OVX).
    pub restart_hangs: bool,
    /// The values that `Reset` accepts (docs/protocol/redfish.md#2.4).
    pub reset_types: Vec<String>,
    /// Those values are in an action info resource, not in the action (docs/protocol/redfish.md#2.4).
    pub action_info: bool,

    // HTTP
    /// Entity tags (docs/protocol/redfish.md#2.7, "ETag").
    pub etag: ETags,
    /// Responses are tasks (docs/protocol/redfish.md#2.7, "202").
    pub tasks: Option<Tasks>,
    /// The form of errors (docs/protocol/redfish.md#2.7, "error").
    pub error_shape: ErrorShape,
    /// Requests with `Accept-Encoding: identity` are refused with 406 (docs/protocol/redfish.md#2.1).
    pub identity_406: bool,
    /// A second request on a connection makes the BMC reset it (docs/protocol/redfish.md#2.1).
    pub reset_connection: bool,
    /// So many changes are refused with 503 `SYS518`, not ready (docs/protocol/redfish.md#3, Dell).
    pub not_ready: u32,

    // Logging in
    /// There is no session service: Basic only (docs/protocol/redfish.md#1.4).
    pub no_sessions: bool,
    /// The response to a login lacks `Location` (docs/protocol/redfish.md#2.2).
    pub no_session_location: bool,
    /// Most open sessions (docs/protocol/redfish.md#2.2, "limits").
    pub session_limit: usize,
    /// Time without use after which a session ends (docs/protocol/redfish.md#2.2).
    #[serde(with = "seconds")]
    pub session_timeout: Duration,
    /// Failed logins lock a user out (docs/protocol/redfish.md#7, "lock-out").
    pub lockout: Option<Lockout>,

    // What is there
    /// The System does not link its Manager (docs/protocol/redfish.md#3, Huawei).
    pub no_managed_by: bool,
    /// Systems in addition to the machine (docs/protocol/redfish.md#2.3, "Several Systems").
    pub several_systems: Systems,
    /// No `EthernetInterfaces` at the System (docs/protocol/redfish.md#3, Cisco).
    pub no_ethernet_interfaces: bool,
    /// The machine's serial number is in `SKU`; `SerialNumber` is that of the board (docs/protocol/redfish.md#3, Dell).
    pub serial_in_sku: bool,
    /// UUIDs have their first three groups' bytes reversed (docs/protocol/redfish.md#6).
    pub swapped_uuid: bool,
    /// MAC addresses are upper case, and there is one more card without an address (docs/protocol/redfish.md#5).
    pub odd_macs: bool,
    /// Memory and drives are shown only while the machine is on (docs/protocol/redfish.md#5).
    pub inventory_needs_power: bool,
    /// Links end with a slash (docs/protocol/redfish.md#3, HPE).
    pub slashes: bool,
    /// Collections that are empty have `Members: null` (docs/protocol/redfish.md#2.1).
    pub null_members: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            product: Product::default(),
            slots: Slot::usual(),
            media_at_manager: false,
            patch_media: false,
            only_image: false,
            needs_protocol: false,
            needs_user: false,
            eject_needs_body: false,
            refuses_empty_eject: false,
            eject_errors: 0,
            stale_inserted: Duration::ZERO,
            keeps_image: false,
            hides_media: false,
            media_status: 204,
            unlicensed: false,
            image_rules: ImageRules::default(),
            reads_image: false,
            once: Once::Honoured,
            keeps_override: false,
            usb_cd: false,
            settings_object: false,
            boot_needs_all: false,
            post_busy: 0,
            lag: Lag::default(),
            on_conflict: 0,
            refuses_same_power: false,
            settles: Duration::ZERO,
            restart_hangs: false,
            reset_types: RESET_TYPES.map(str::to_owned).into(),
            action_info: false,
            etag: ETags::default(),
            tasks: None,
            error_shape: ErrorShape::List,
            identity_406: false,
            reset_connection: false,
            not_ready: 0,
            no_sessions: false,
            no_session_location: false,
            session_limit: 8,
            session_timeout: Duration::from_mins(30),
            lockout: None,
            no_managed_by: false,
            several_systems: Systems::One,
            no_ethernet_interfaces: false,
            serial_in_sku: false,
            swapped_uuid: false,
            odd_macs: false,
            inventory_needs_power: false,
            slashes: false,
            null_members: false,
        }
    }
}

/// Values of `ResetType` that the emulator implements.
const RESET_TYPES: [&str; 7] = [
    "On",
    "ForceOn",
    "ForceOff",
    "GracefulShutdown",
    "GracefulRestart",
    "ForceRestart",
    "PowerCycle",
];

/// Decrements a counter; returns false if it was zero.
pub(crate) fn count_down(counter: &mut u32) -> bool {
    let is_left = *counter > 0;
    *counter = counter.saturating_sub(1);
    is_left
}
