//! The decisions of the core, through its public interface as the service uses it.

#![allow(
    clippy::unwrap_used,
    reason = "tests; the lint knows functions marked #[test] only"
)]

mod bmcs;
mod cloud_config;
mod disks;
mod findings;
mod hardware;
mod health;
mod host;
mod ignition;
mod ignition_spec;
mod infra_envs;
mod jobs;
mod lifecycle;
mod network;
mod placement;
mod properties;
mod query;
mod quotas;
mod registry;
mod states;
mod walk;
mod world;
