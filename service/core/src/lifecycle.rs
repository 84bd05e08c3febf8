//! Changes records: events happen to hosts, users create and update InfraEnvs and clusters. Views and instructions follow from
//! the records.

pub mod bmc;
pub mod cluster;
pub mod host;
pub mod infra_env;
