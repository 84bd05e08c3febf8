//! REST: the v2 protocol under `/api/assisted-install/v2`, and what a service shows of itself.

pub mod body;
pub mod clusters;
pub mod description;
pub mod download;
pub mod events;
pub mod gate;
pub mod hosts;
pub mod infra_envs;
pub mod logs;
mod objects;
pub mod operators;
pub mod problem;
pub mod request_id;
pub mod router;
pub mod status;
pub mod support;
pub mod versions;
