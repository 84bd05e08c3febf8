//! Implements the REST API: the v2 protocol under `/api/assisted-install/v2`, `/health`, `/ready` and `/metrics`.

mod audit;
mod bmcs;
mod changes;
mod clusters;
mod events;
mod hosts;
mod infra_envs;
mod jobs;
mod lenient;
mod links;
mod logs;
mod node_pools;
mod openapi;
mod router;
mod scopes;
mod search;
mod service;
mod sessions;
mod state;
mod status;
mod support;
mod tokens;
mod troubles;
mod views;

pub use router::{api, boot_script, metrics, openapi, probes};
pub use state::Rest;
pub use status::process::record_process;
