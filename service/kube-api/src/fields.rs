//! Tracks field ownership for `metadata.managedFields` and server-side apply.
//!
//! The rules are those of `sigs.k8s.io/structured-merge-diff`: maps are merged by member unless atomic, lists only where the schema has
//! `set` or `map`; values without a schema are merged by member, with lists as a whole.

pub mod managers;
mod set;
mod structure;

pub use managers::{Manager, Operation};
