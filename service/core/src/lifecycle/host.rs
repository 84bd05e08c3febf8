//! Hosts from registration to installation: events in, a changed host and its history out.

mod advance;
mod approval;
mod bind;
pub mod deadline;
pub mod edit;
mod event;
pub mod events;
mod install;
pub mod instructions;
mod jitter;
pub mod key;
mod logs;
mod media;
mod not_booted;
mod overrides;
mod progress;
mod refresh;
mod register;
pub mod reply;
mod reports;
mod set_back;
mod step;
mod transition;
mod view;
mod waiting;
mod wipe;

pub use advance::advance;
pub use bind::node_may_be_back;
pub use event::HostEvent;
pub use install::obstacle;
pub use instructions::instructions;
pub use register::{Machine, full, register};
pub use step::{RefusalClass, Refused, Step};
pub use view::{Shown, registration_view, repeated_registration_view, view};
