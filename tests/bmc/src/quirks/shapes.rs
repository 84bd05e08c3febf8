//! Values of switches that are more than on and off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::seconds;

/// Names of a BMC and of its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Product {
    /// `Vendor` of the service root; empty: missing.
    pub vendor: String,
    /// The key of the service root's `Oem`; empty: missing.
    pub oem: String,
    /// `Product` of the service root.
    pub product: String,
    /// `Manufacturer` of System and Chassis.
    pub manufacturer: String,
    /// `Model` of System and Chassis.
    pub model: String,
    /// `Model` of the Manager.
    pub manager_model: String,
    /// `FirmwareVersion` of the Manager.
    pub firmware: String,
    pub bios: String,
    pub redfish_version: String,
    /// The last part of the System's path.
    pub system: String,
    /// The last part of the Manager's path.
    pub manager: String,
    /// The last part of the Chassis' path.
    pub chassis: String,
    /// The registry and its version that message ids begin with.
    pub registry: String,
}

impl Default for Product {
    fn default() -> Self {
        Self {
            vendor: "Contoso".to_owned(),
            oem: String::new(),
            product: "Contoso BMC".to_owned(),
            manufacturer: "Contoso".to_owned(),
            model: "3500RX".to_owned(),
            manager_model: "Contoso BMC".to_owned(),
            firmware: "1.45.455b66-rev4".to_owned(),
            bios: "P79 v1.45".to_owned(),
            redfish_version: "1.15.0".to_owned(),
            system: "1".to_owned(),
            manager: "BMC".to_owned(),
            chassis: "1U".to_owned(),
            registry: "Base.1.8".to_owned(),
        }
    }
}

/// The effect of a boot override for one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Once {
    /// It is in effect for one boot.
    Honoured,
    /// It reads back as Continuous, and is in effect for each boot.
    Continuous,
    /// It is accepted and dropped.
    Dropped,
}

/// The time between a power call and its effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lag {
    #[serde(with = "seconds")]
    pub on: Duration,
    #[serde(with = "seconds")]
    pub off: Duration,
    /// `PowerState` in that time.
    pub shows: ShownPower,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownPower {
    /// The state before the call.
    #[default]
    Before,
    /// `PoweringOn`, `PoweringOff`.
    Transition,
    /// null.
    Null,
}

/// Entity tags, and the effect of `If-Match`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ETags {
    /// A `PATCH` without `If-Match` is refused with 428.
    pub required: bool,
    /// Tags are sent as `W/"x"` and required as `"x"`; anything else is refused with 412.
    pub weak: bool,
    /// Only `If-Match: *` is accepted.
    pub only_star: bool,
    /// `PATCH` with `If-Match` is always refused with 412: accepted only without.
    pub refused: bool,
    /// `POST` of an action with `If-Match` is refused with 412.
    pub refused_on_actions: bool,
    /// Tags are in `@odata.etag` only, not in a header.
    pub body_only: bool,
    /// There are none; `If-Match` is ignored.
    pub absent: bool,
}

/// Failed logins that lock a user out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockout {
    /// So many in a row.
    pub failures: u32,
    #[serde(with = "seconds")]
    pub lasts: Duration,
    /// The status of all requests in that time: 401 or 403.
    pub status: u16,
}

/// Changes with the response 202 that are done later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// Power calls are tasks.
    pub power: bool,
    /// Inserts and ejects are tasks.
    pub media: bool,
    #[serde(with = "seconds")]
    pub takes: Duration,
    pub end: TaskEnd,
    /// Time after the request in which task and monitor are 404.
    #[serde(with = "seconds")]
    pub appears_after: Duration,
    /// False: the response has no location of the task.
    pub location: bool,
}

impl Tasks {
    /// Tasks for power and media with this duration that succeed.
    pub fn taking(takes: Duration) -> Self {
        Self {
            power: true,
            media: true,
            takes,
            end: TaskEnd::Completed,
            appears_after: Duration::ZERO,
            location: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    Completed,
    /// The change is made, and the task is 404 from then on.
    Forgotten,
    /// The change is not made.
    Exception,
    /// The change is not made, and the task keeps running.
    Never,
}

/// The form of an error's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorShape {
    /// The standard form.
    List,
    /// `@Message.ExtendedInfo` is one object (iDRAC).
    Single,
    /// `@Message.ExtendedInfo` is at the top level, without `error`.
    TopLevel,
    /// `error` without `code` (NVIDIA DGX).
    NoCode,
    PlainText,
    Html,
}

/// Systems that a client finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Systems {
    One,
    /// A second without power and boot (a baseboard of accelerators).
    WithBaseboard,
    /// A second that looks like the machine, and is not.
    Two,
}

/// URLs that a BMC accepts (docs/protocol/redfish.md#4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageRules {
    /// Accepted endings of the path; empty: any.
    pub extensions: Vec<String>,
    /// A query is refused.
    pub no_query: bool,
    /// `https` is refused.
    pub no_https: bool,
    /// Greatest length.
    pub max_length: Option<usize>,
    /// Greatest number of folders in the path.
    pub max_folders: Option<usize>,
}
