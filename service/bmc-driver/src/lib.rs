//! Takes the discovery of machines through their BMCs from phase to phase (docs/protocol/redfish.md#2.8).
//!
//! A machine whose host waits for a boot is booted without being asked for.
//!
//! [`run`] claims BMCs that are due, and does for each what its phase is for, with `muster-bmc`; what came of it goes to
//! `muster_operations::bmcs`, which decides and stores. So a restart goes on where it was, and several replicas share the work.

mod agent;
mod arrivals;
mod context;
mod differences;
mod ejector;
mod inventory;
mod judge;
mod others;
mod power;
mod problem;
mod returns;
mod run;
mod settings;
mod step;
mod target;
mod work;

pub use ejector::Ejector;
pub use muster_bmc::{CertificateMode, Client, Credentials, Target};
pub use others::{Answer, Other, Others};
pub use run::run;
pub use settings::Settings;
