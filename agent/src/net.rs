//! The host's network: resolving names, and (as PID 1) bringing links up and keeping them configured.

pub mod configuration;
pub mod dhcp;
pub mod links;
pub mod manager;
pub mod names;
pub mod predictable_names;
pub mod resolv_conf;
pub mod router_options;
pub mod view;
