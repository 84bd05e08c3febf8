//! Custom resources as far as operations depend on them: which decide about a record, and what REST is refused for that.

pub mod bridge;
pub mod owned;
pub mod resources;
