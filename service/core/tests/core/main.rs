//! The decisions of the core, through its public interface as the service uses it.

#![allow(
    clippy::unwrap_used,
    reason = "tests; the lint knows functions marked #[test] only"
)]

mod asked_logs;
mod bmcs;
mod cleaning;
mod cloud_config;
mod disks;
mod edits;
mod failures;
mod findings;
mod identity;
mod ignition;
mod ignition_spec;
mod infra_envs;
mod installing;
mod jobs;
mod lifecycle;
mod network_script;
mod nmstate;
mod placement;
mod properties;
mod query;
mod quotas;
mod reboots;
mod registry;
mod reinstalls;
mod replies;
mod returning;
mod silence;
mod sleep;
mod states;
mod steps;
mod walk;
mod world;
