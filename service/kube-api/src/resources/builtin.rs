//! The built-in kinds, which every client of Kubernetes expects. They are stored data: nothing runs on a
//! node, no account is checked.

mod columns;
mod definitions;
mod kinds;

pub use definitions::{definitions_below, references, schema};
pub use kinds::resources;
