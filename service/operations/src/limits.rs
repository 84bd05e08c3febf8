//! Limits how much machines and users may store and how often the same refusal is reported.

pub mod events;
pub mod inventories;
pub(crate) mod refused_deletions;
