//! Changes of a host by events, and the steps that it is sent.

mod asked_logs;
mod cleaning;
mod edits;
mod failures;
mod identity;
mod installing;
mod reboots;
mod reinstalls;
mod replies;
mod returning;
mod silence;
mod sleep;
mod steps;
