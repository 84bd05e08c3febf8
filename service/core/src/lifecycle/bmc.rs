//! Adds, changes and shows BMCs, and takes the discovery of their machines from phase to phase.

mod advance;
mod event;
mod events;
mod ground;
mod input;
mod reason;
mod view;

pub use advance::{BmcRefused, Step, advance};
pub use event::{BmcEvent, Problem, Seen};
pub use events::{added, deleted};
pub use input::{create, update};
pub use view::view;
