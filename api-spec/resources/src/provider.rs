//! Kinds of the Cluster API provider whose machines are Agents.

pub mod agent_cluster;
pub mod agent_cluster_template;
pub mod agent_machine;
pub mod agent_machine_template;
