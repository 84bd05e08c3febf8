//! Collects the disks. Source of the rules: docs/protocol/agent-inventory.md#7.

pub(crate) mod block;
mod boot_medium;
mod collect;
mod drive_type;
mod eligibility;
mod identity;
pub(crate) mod links;
mod path_id;
pub(crate) mod patience;
pub(crate) mod properties;
pub(crate) mod reservation;
mod scsi;
pub(crate) mod smart;
mod transfer;
pub(crate) mod udev;
mod udev_text;
pub(crate) mod units;

pub(super) use collect::disks;
use properties::Properties;
