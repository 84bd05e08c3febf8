//! The lab: machines under QEMU, network segments, PostgreSQL clusters, Kubernetes control planes and Muster services
//! that a test owns while it runs.
//!
//! Rules that everything here keeps:
//!
//! * A thing ends when its value is dropped, by process id, and cannot outlive the test program.
//! * Waits are for a condition with a deadline; no caller sleeps.
//! * A failure shows its evidence: a machine its serial console, a program its log.
//! * Set-up and waits panic (a test cannot continue); requests to the service return a `Result`.
//!
//! Nothing here depends on `muster` or `muster-store`, so that their tests may use it.

pub mod agents;
pub mod architecture;
pub mod artifacts;
pub mod attack;
pub mod balancer;
pub mod bmc;
pub mod certificates;
pub mod clock;
pub mod clusters;
pub mod condition;
pub mod coreos;
pub mod database;
pub mod described;
pub mod discovery;
pub mod failures;
pub mod fleet;
pub mod http;
pub mod ignition;
pub mod ignition_server;
pub mod initramfs;
pub mod kube;
pub mod pages;
pub mod plain_host;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod python;
pub mod qemu;
pub mod recorder;
pub mod registry;
pub mod rest;
pub mod segment;
pub mod service;
pub mod small_disk;
pub mod sushy;
pub mod tagged_switch;
pub mod target;
pub mod tls_client;
pub mod transcript;
pub mod walk;
