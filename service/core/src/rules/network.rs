//! Addresses and names of hosts, and static networks.

pub mod addresses;
pub mod hostname;
pub mod live_network;
