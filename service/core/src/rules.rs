//! Rules about the records: their meaning, acceptable input, noteworthy facts.

pub mod addresses;
pub mod agent_version;
pub(crate) mod architecture;
pub mod boot_argument;
pub mod bootstrap_data;
pub mod checks;
pub mod cluster_peers;
pub mod disks;
pub mod facts;
pub mod findings;
pub mod hostname;
pub mod identity;
pub mod ignition;
pub mod ignition_spec;
pub mod input;
pub mod labels;
pub mod limits;
pub mod live_config;
pub mod live_network;
pub mod mirror;
pub mod os_image;
pub mod placement;
pub mod requirements;
pub(crate) mod role;
pub mod stages;
