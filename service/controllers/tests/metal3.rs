//! Metal3's kinds on a built-in Kubernetes API in this process. The baremetal-operator, InfraEnvs and Agents are played.
#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

#[path = "support/backend.rs"]
mod backend;
#[path = "metal3/hosts.rs"]
mod hosts;
#[path = "metal3/images.rs"]
mod images;
#[path = "metal3/world.rs"]
mod world;
