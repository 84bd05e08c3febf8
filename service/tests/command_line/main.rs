//! The `muster` command line against a service of this test: help, tables, and the error of each mistake, as golden files.

#![expect(clippy::unwrap_used, reason = "a test that gets no answer has failed")]

mod bmcs;
mod commands;
mod completion;
mod events;
mod golden;
mod help;
mod jobs;
mod logs;
mod mistakes;
mod world;
