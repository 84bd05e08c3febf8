//! Bootstrap data of Cluster API providers: what of it an installed host can apply. Source:
//! docs/protocol/capi-day1.md.

mod devices;
mod ignition2;
mod nested;
mod refused;
mod version;

pub use devices::unreachable_devices;
pub use ignition2::translated;
pub use nested::check_nested;
pub use refused::Refused;
pub(crate) use version::{is_known, version};
