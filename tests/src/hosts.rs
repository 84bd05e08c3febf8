//! Hosts without hardware: with agents that act on their own, request by request, in clusters, by `muster-fleet`.

pub mod agents;
pub mod clusters;
pub mod fleet;
pub mod plain;
