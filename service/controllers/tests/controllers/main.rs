//! The controllers on a built-in Kubernetes API in this process: a module for each group of kinds, one for waits, and one for an API server
//! that misbehaves. The tests simulate the rest. All are in one program, since each program is linked again after every change.

#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

mod agents;
mod backend;
mod bmcs;
mod hostile_server;
mod metal3;
mod nodepool;
mod plain_bridge;
mod provider;
mod rivals;
mod two_doors;
mod waits;
