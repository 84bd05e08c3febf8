//! The routes of the REST API, served in this process: a file a noun, and the access of each token.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod log;
mod service;
mod world;

mod infra_envs;

mod agent_program;
mod connectivity;
mod erasing;
mod findings;
mod health;
mod hosts;
mod jobs;
mod returning;
mod search;

mod changes;
mod clusters;
mod large_clusters;
mod node_pools;
mod support;

mod downloads;
mod events;
mod logs;

mod hostile_input;
mod transport;

mod two_doors;
mod web;

mod tokens {
    mod audit;
    mod authorization;
    mod canaries;
    mod listed;
    mod proofs;
    pub mod scopes;
    mod sessions;
}
