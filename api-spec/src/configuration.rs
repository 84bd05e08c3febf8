//! Configurations that the service writes for programs on hosts.

pub mod live;
pub mod node_agent;
