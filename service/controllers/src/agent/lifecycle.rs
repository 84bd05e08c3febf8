//! Where Agents begin and end: Agents of new hosts and refused ones, Agents and hosts of which the other is missing, nodes of deleted Agents.

pub(super) mod creation;
mod gone;
pub mod orphans;
pub(super) mod reclaim;
pub mod refused;
pub mod restore;
