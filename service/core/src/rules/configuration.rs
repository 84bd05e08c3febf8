//! Configurations that machines read when they boot: of live images, in Ignition, and those of Cluster API providers.

pub mod bootstrap_data;
pub mod ignition;
pub mod ignition_spec;
pub mod live_config;
