//! BMC resources on a built-in Kubernetes API in this process: what they ask for reaches the records, and what becomes of these is told.
//! The driver that talks to BMCs is played.
#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

#[path = "support/backend.rs"]
mod backend;
#[path = "bmcs/cases.rs"]
mod cases;
#[path = "support/plain_bridge.rs"]
mod plain_bridge;
#[path = "bmcs/world.rs"]
mod world;
