//! The checks of a host: facts in, verdicts out. One family a file. Source: docs/protocol/host-validations.tsv.
//!
//! Texts say what is wrong and what to do. They hold no moment, so that an unchanged host keeps an unchanged record.
//! To add a check: a variant of [`CheckId`], a row in `table.rs`, a function in its family, a line in `tests/core/checks.tsv`
//! and cases in `tests/core/registry`.

mod agent;
mod capacity;
mod check_id;
mod conditions;
mod connection;
mod disks;
mod domains;
mod encryption;
mod hostname;
mod ignition;
mod ignored;
mod images;
mod inventory;
mod look;
mod network;
mod new_clusters;
mod platform;
mod quality;
mod required;
mod subnets;
mod table;
mod time;
mod vsphere;
mod worker_ignition;

use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};

pub use check_id::CheckId;
pub use conditions::Conditions;
pub use ignored::{BadCheckList, parse_disabled};
pub use look::Look;
pub(crate) use look::{effective_role, is_of_a_network, networks_of};
pub use required::{Required, required};
pub use table::Gate;

use look::View;

/// Category of checks of the machine itself.
pub const HARDWARE: &str = "hardware";
/// Category of checks of the machine's surroundings.
pub const NETWORK: &str = "network";
/// Category of checks for add-on operators.
pub const OPERATORS: &str = "operators";

/// How a check came out, with a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Success(String),
    /// Not as it should be.
    Failure(String),
    /// Cannot be said yet.
    Pending(String),
    /// Cannot be said because what the host tells makes no sense.
    Error(String),
    /// Switched off for the whole service.
    Disabled(String),
    /// Does not apply to this host, so it is not shown and counts as passed.
    Hidden,
}

impl Verdict {
    fn success(text: impl Into<String>) -> Self {
        Self::Success(text.into())
    }
}

/// The verdict while there is no inventory.
fn no_inventory() -> Verdict {
    Verdict::Pending("Waits for the host's inventory".into())
}

/// All checks, as they are stored and shown. Pure, and cheap enough to be called for every change of a host.
///
/// An installed host keeps the rows that it had when it was last judged: ask only in states that are refreshed.
pub fn evaluate(look: &Look<'_>) -> ValidationsInfo {
    let view = View::new(*look);
    let mut info = ValidationsInfo::new();
    for check in CheckId::ALL.iter().copied() {
        let (status, message) = match check.verdict(&view) {
            Verdict::Success(message) => (ValidationStatus::Success, message),
            Verdict::Failure(message) => (ValidationStatus::Failure, message),
            Verdict::Pending(message) => (ValidationStatus::Pending, message),
            Verdict::Error(message) => (ValidationStatus::Error, message),
            Verdict::Disabled(message) => (ValidationStatus::Disabled, message),
            Verdict::Hidden => continue,
        };
        let row = ValidationResult {
            id: check.id().to_owned(),
            status,
            message,
        };
        match info.get_mut(check.category()) {
            Some(rows) => rows.push(row),
            None => {
                info.insert(check.category().to_owned(), vec![row]);
            }
        }
    }
    info
}

/// The stored row of a check; `None` when it is hidden or was never made.
pub fn find<'a>(info: &'a ValidationsInfo, id: &str) -> Option<&'a ValidationResult> {
    info.values().flatten().find(|row| row.id == id)
}

/// Whether a check stands in nobody's way: passed or hidden. Where a cluster's users ignore some, see [`Conditions`].
pub fn holds(info: &ValidationsInfo, check: CheckId) -> bool {
    find(info, check.id()).is_none_or(|row| passes(row.status))
}

fn passes(status: ValidationStatus) -> bool {
    match status {
        ValidationStatus::Success | ValidationStatus::Disabled => true,
        ValidationStatus::Failure | ValidationStatus::Pending | ValidationStatus::Error => false,
    }
}
