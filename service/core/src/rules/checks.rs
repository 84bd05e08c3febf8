//! Evaluates the checks of a host: facts in, verdicts out. One family a file, in `hardware` and `network`. Source:
//! docs/protocol/host-validations.tsv.
//!
//! Messages state the fault and the remedy. They hold no timestamp, so that an unchanged host keeps an unchanged
//! record. To add a check: a variant of [`CheckId`](crate::record::CheckId), its rule in `table.rs`, a function in its
//! family, a line in `tests/core/checks.tsv` and cases in `tests/core/registry`.

mod conditions;
mod context;
mod evaluate;
mod hardware;
mod ignored;
mod inputs;
mod network;
mod new_clusters;
mod summary;
mod table;
mod verdict;
mod worker_ignition;

pub use conditions::Conditions;
pub use context::CheckContext;
pub(crate) use evaluate::find_by_id;
pub use evaluate::{evaluate, find, holds};
pub(crate) use ignored::{ALL_CHECKS, NEVER_IGNORED};
pub use ignored::{BadCheckList, parse_disabled};
pub use inputs::CheckInputs;
pub use summary::summary;
pub use table::Gate;
pub use verdict::Verdict;
pub(crate) use worker_ignition::without_secrets;
