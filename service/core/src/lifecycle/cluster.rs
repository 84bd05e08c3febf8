//! Imports, updates and shows clusters.
//!
//! They exist before they are imported, so there is one kind and one status (docs/protocol/host-lifecycle.md#15), and
//! only users change one.

pub mod events;
pub mod ignore;
mod import;
pub mod ui_settings;
mod update;
pub mod view;

pub use import::import;
pub use update::{Update, update};
pub use view::{Shape, view};
