//! Addresses and names of hosts, static networks, and which hosts reach each other.

pub mod addresses;
pub mod hostname;
pub mod live_network;
pub mod reachability;
