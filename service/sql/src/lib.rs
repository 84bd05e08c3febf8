//! The two databases and statements with many rows, for the store and for the built-in Kubernetes API.

pub mod damage;
mod kind;
mod statement;

pub use kind::Kind;
pub use statement::{in_parts, push_tuples};
