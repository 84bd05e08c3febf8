//! The states that the session and the network publish: for the screen, for the inventory, and for each other.

pub mod erasure;
pub mod network;
pub mod problem;
pub mod session;
