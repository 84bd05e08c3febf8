//! Creates, changes and deletes objects.

mod apply;
mod builtin;
mod checks;
mod commit;
mod create;
mod delete;
mod patch;
mod scale;
mod strategic;
mod update;

pub use commit::Outcome;
pub use delete::{Deletion, FOREGROUND, ORPHAN};
pub use patch::Form;
