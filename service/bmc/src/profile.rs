//! What vendors' BMCs do differently, as data (docs/protocol/redfish.md#3). A difference that an answer shows, such as a member that
//! is missing, needs no row: every BMC is treated so.

mod choose;
mod table;

use std::time::Duration;

pub use choose::Identity;

/// The way in which media are inserted and ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaForm {
    /// `#VirtualMedia.InsertMedia` and `#VirtualMedia.EjectMedia`; by PATCH where a slot lacks the actions and allows PATCH.
    Action,
    /// A PATCH of the slot, even where it has the actions.
    Patch,
}

/// Optional members of an InsertMedia action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// `HTTP` or `HTTPS`, as the URL is.
    TransferProtocolType,
    /// `Stream`.
    TransferMethod,
    /// `UserName` and `Password`, with any text: the URL is open.
    User,
}

/// The place of the machine's serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SerialPlace {
    SerialNumber,
    /// `SKU`; there `SerialNumber` is the board's.
    Sku,
}

/// A message by which the BMC is not ready. The request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady {
    pub id: &'static str,
    /// Further tries.
    pub tries: u32,
    pub pause: Duration,
    /// The pause doubles, up to this.
    pub longest: Duration,
}

/// The media URLs that a BMC takes (docs/protocol/redfish.md#4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlRules {
    /// Most characters of the whole URL.
    pub longest: usize,
    pub https: bool,
    /// One of these ends the path.
    pub endings: &'static [&'static str],
}

/// The treatment of one kind of BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub name: &'static str,
    pub media: MediaForm,
    /// Prefixes of ids: only slots with one of them take URLs; empty: all slots do.
    pub only_slots: &'static [&'static str],
    /// Prefixes of ids: slots with one of them never take URLs.
    pub skip_slots: &'static [&'static str],
    /// Sent with the first InsertMedia already, not only after a response that requires them.
    pub extras: &'static [Extra],
    /// Refuses every member but `Image`.
    pub image_only: bool,
    /// Boot target of virtual CDs.
    pub cd_target: &'static str,
    /// `BootSourceOverrideMode` is sent too, in the same PATCH.
    pub with_mode: bool,
    /// A PATCH without If-Match is not tried.
    pub if_match: bool,
    /// Connections are used once.
    pub close: bool,
    /// Between Off and the next power call.
    pub after_off: Duration,
    /// Between two changes (media, boot, power).
    pub between: Duration,
    pub not_ready: &'static [NotReady],
    pub serial: SerialPlace,
    pub url: UrlRules,
    /// Boots from `HttpBootUri`. Otherwise advice.
    pub http_boot: Result<(), &'static str>,
    /// `UefiHttp` works although it is not among the allowed targets.
    pub http_boot_unlisted: bool,
    /// Ids of the system to use where there are several.
    pub systems: &'static [&'static str],
    /// Advice, if the BMC cannot be booted from virtual media by standard calls.
    pub unsupported: Option<&'static str>,
    /// The error text when no slot takes media.
    pub no_slot: &'static str,
}

impl Profile {
    /// The profile of BMCs without a row.
    pub fn standard() -> Self {
        table::STANDARD
    }

    /// The profile of the first row that fits.
    pub fn of(identity: &Identity) -> Self {
        choose::choose(identity)
    }
}
