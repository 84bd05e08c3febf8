//! Work of steps on a host: installations, erasures, checks of the network, logs, the way back to discovery.

pub mod boot_artifacts;
pub mod checks;
pub mod erase;
pub mod foreign;
pub mod install;
pub mod logs;
