//! Takes the discovery of machines through their BMCs from phase to phase (docs/protocol/redfish.md#2.8).
//!
//! [`run`] claims BMCs that are due, and does for each what its phase is for, with `muster-bmc`; what came of it goes to
//! `muster_operations::bmcs`, which decides and stores. So a restart goes on where it was, and several replicas share the work.

mod agent;
mod arrivals;
mod context;
mod differences;
mod inventory;
mod problem;
mod run;
mod settings;
mod step;
mod target;
mod work;

pub use run::run;
pub use settings::Settings;
