//! What is done to the database as a whole: what is old is deleted, values are sealed under another key, SQLite's file is copied.

mod copy;
mod keys_in_use;
mod reseal;
mod retention;

pub use reseal::{Resealed, StaleValue};
pub use retention::Aging;
