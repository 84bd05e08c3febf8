//! Rules about the records: their meaning, acceptable input, noteworthy facts.

pub mod agent_version;
pub mod checks;
pub mod cleaning;
pub mod cluster_peers;
mod configuration;
pub mod confirmation;
pub mod disks;
pub mod facts;
pub mod failures;
pub mod findings;
pub mod hardware;
pub mod health;
pub mod identity;
mod images;
pub mod input;
pub mod labels;
pub mod limits;
pub mod mirror;
pub mod naming;
mod network;
pub mod placement;
pub mod requirements;
pub(crate) mod role;
pub mod sleep;
pub mod stages;

pub use configuration::{bootstrap_data, ignition, ignition_spec, live_config};
pub(crate) use images::architecture;
pub use images::{boot_argument, os_image};
pub use network::{addresses, hostname, live_network, reachability};
