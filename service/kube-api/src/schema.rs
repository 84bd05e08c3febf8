//! Structural schemas of CRDs and built-in kinds, compiled for pruning, defaulting, validation and merging.
//!
//! Source of the keywords: `apiextensions.k8s.io/v1 JSONSchemaProps`.

mod cel;
mod compile;
mod cost;
mod default;
mod format;
mod prune;
mod structural;
mod validate;

pub use cel::{Fault, Node, Sort};
pub use default::{DefaultsTooLarge, apply_defaults, fill_zeros};
pub use prune::{drop_nulls, prune};
pub use structural::{ListType, Schema, Type};
pub use validate::validate;
