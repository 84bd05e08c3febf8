//! The host's network: name resolution, HTTP clients, and (as PID 1) links and their configuration.

pub mod arp;
pub mod bonds;
pub mod card_runtime;
pub mod configuration;
pub mod devices;
pub mod dhcp;
pub mod dracut;
pub mod ethernet;
pub mod fixed;
pub mod http;
pub mod keyfiles;
pub mod links;
pub mod lldp;
pub mod manager;
pub mod names;
pub mod paths;
pub mod predictable_names;
pub mod preference;
pub mod resolv_conf;
pub mod router_options;
pub mod stateless;
pub mod trust;
pub mod unanswered;
