//! Addresses and names of hosts, static networks, and who reaches whom.

pub mod addresses;
pub mod hostname;
pub mod live_network;
pub mod reachability;
