//! Requests about a host that it, or its BMC, is to follow: logs, a reboot, an installation in its cluster.

pub mod logs;
pub mod reboot;
pub mod reinstall;
