//! Takes the discovery of machines through their BMCs from phase to phase (docs/protocol/redfish.md#2.8).
//!
//! A machine is booted without a request if its host waits for a boot.
//!
//! [`run`] claims BMCs that are due, and carries out the phase of each with `muster-bmc`; the outcome goes to `muster_operations::bmcs`,
//! which decides and stores. So a restart continues from the stored phase, and several replicas share the work.

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
