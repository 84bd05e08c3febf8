//! What each token opens and shows, asked of the whole REST API in this process.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod agent_program;
mod asked_logs;
mod audit;
mod canaries;
mod large_clusters;
mod proofs;
mod scopes;
mod uploads;
mod world;
