//! The client against an emulated BMC: each of its switches and faults.

#![allow(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

mod boot;
mod captured;
mod errors;
mod etags;
mod faults;
mod given;
mod inventory;
mod lab;
mod limits;
mod login;
mod media;
mod old_tls;
mod origins;
mod power;
mod preflight;
mod tasks;
mod trust;
mod vendors;
