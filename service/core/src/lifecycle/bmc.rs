//! Adds, changes and shows BMCs, and advances the discovery of their machines from phase to phase.

mod advance;
mod event;
mod events;
mod firmware;
mod for_host;
mod ground;
mod input;
mod power;
mod reason;
mod resource;
mod view;

pub use advance::{BmcRefused, Step, abandon, advance};
pub use event::{BmcEvent, PowerAsked, PowerDone, Problem, Seen};
pub use events::{added, deleted};
pub use for_host::{LEFT_ALONE, WakeProgress, wake_progress};
pub use input::{create, update};
pub use power::{disk_boot_failure, installation, reboot_obstacle, sleep_obstacle, wakes};
pub use resource::{Followed, Wanted, create_for, follow, taken_over};
pub use view::view;
