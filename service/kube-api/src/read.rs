//! Reads objects and lists.

mod continuation;
mod list;
mod projection;
mod selection;

pub use list::{Listed, parse_revision};
pub use projection::Projection;
pub use selection::Selection;
