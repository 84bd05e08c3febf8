//! Reads objects and lists.

mod continuation;
mod field_selector;
mod label_selector;
mod list;
mod pages;
mod projection;
mod selection;

pub use list::{Listed, parse_revision};
pub use pages::ListPages;
pub use projection::{Item, Projection};
pub use selection::Selection;
