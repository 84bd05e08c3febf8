//! The program and what is shipped with it. One program of tests: each further one is linked again after every change.

mod ask_queries;
mod bmcs;
mod boot_media;
mod by_kubectl;
mod data_dir;
mod decided;
mod deploy;
mod events;
mod metrics;
mod migrate;
mod mirror;
mod secrets_at_rest;
mod sessions;
mod silence;
mod stop;
mod viewers;
mod world;
