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

pub mod artifacts;
pub mod attack;
pub mod bmc;
pub mod browser;
pub mod certificates;
pub mod condition;
pub mod database;
pub mod discovery;
pub mod evidence;
pub mod hosts;
pub mod http;
pub mod install;
pub mod kube;
pub mod pages;
pub mod process;
pub mod qemu;
pub mod rest;
pub mod segment;
pub mod service;
pub mod walk;
