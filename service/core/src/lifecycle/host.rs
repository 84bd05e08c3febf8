//! Hosts from registration to installation: events in, a changed host and its history out.

mod advance;
mod bind;
mod cleaning;
pub mod deadline;
pub mod edit;
mod event;
pub mod events;
mod failures;
mod hardware;
mod install;
pub mod instructions;
pub mod key;
mod of_job;
mod power;
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

use power::{bmc_boot, media, reboot, sleep};

pub use advance::advance;
pub use bind::node_may_be_back;
pub use event::{HostEvent, RebootAsked, ReinstallAsked, SleepAsked, SleepEvent};
pub use install::obstacle;
pub use instructions::instructions;
pub use of_job::JobStep;
pub use power::bmc_boot::{AWAITING_BOOT, AwaitedBoot, AwaitedSystem, awaited_boot};
pub use register::{Machine, full, register};
pub use reports::shown_logs::shown_logs;
pub use step::{RefusalClass, Refused, Step};
pub use view::{
    Shown, listed_view, reason_of_sleep, registration_view, repeated_registration_view, stage_of_sleep, view,
};
pub use waiting::{Wait, wait};
