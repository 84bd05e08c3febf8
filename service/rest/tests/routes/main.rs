//! The routes of the REST API, served in this process: a file a noun, and what each token opens and shows.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod log;
mod service;
mod world;

mod infra_envs;

mod agent_program;
mod findings;
mod hosts;

mod clusters;
mod large_clusters;

mod downloads;
mod events;
mod logs;

mod hostile_input;
mod transport;

mod tokens {
    mod audit;
    mod authorization;
    mod canaries;
    mod proofs;
    mod scopes;
}
