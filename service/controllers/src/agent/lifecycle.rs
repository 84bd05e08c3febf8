//! Agents that begin and end: of new hosts, refused, without a host or hosts without one, deleted while their node runs; and what is
//! requested of them once.

pub(super) mod creation;
mod gone;
pub mod orphans;
pub(super) mod reclaim;
pub mod refused;
mod requested;
pub mod restore;
