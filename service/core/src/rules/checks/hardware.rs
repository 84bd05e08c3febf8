//! Checks of the machine itself: its inventory, parts, name and agent.

pub(super) mod agent;
pub(super) mod capacity;
pub(super) mod disks;
pub(super) mod encryption;
pub(super) mod hostname;
pub(super) mod inventory;
pub(super) mod platform;
pub(super) mod vsphere;
