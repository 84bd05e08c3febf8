//! Selects disks: which are eligible, which is installed to, which are formatted. Source: docs/protocol/host-lifecycle.md#11.

mod by_rule;
mod choice;
mod eligibility;
mod formatting;
mod listed;
mod settle;
mod unit;

pub use by_rule::{by_name, by_rule};
pub use choice::{choose, find, suggested};
pub use eligibility::DiskRules;
pub use formatting::to_be_formatted;
pub(crate) use listed::own_disks;
pub use listed::{listed, none_listed};
pub use settle::{adopt, evaluate, missing, select, settle};
pub use unit::is_protected;
