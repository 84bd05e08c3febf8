//! What the store and the built-in Kubernetes API share: the two databases, and statements with many rows.

mod kind;
mod statement;

pub use kind::Kind;
pub use statement::{in_parts, push_tuples};
