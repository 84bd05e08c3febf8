//! Which values a setting may have, one kind a file. Source: rest-behaviour.md §4, discovery-ignition.md §9 and §10,
//! static-network.md §3. No error repeats a secret.

mod control_characters;
mod kernel_arguments;
mod name;
mod ntp;
mod proxy;
mod pull_secret;
mod rendezvous;
mod ssh_keys;
mod static_network;
mod trust_bundle;
mod version;

pub(super) use control_characters::no_control_characters;
pub(super) use kernel_arguments::kernel_arguments;
pub(super) use name::name;
pub(super) use ntp::ntp_sources;
pub(super) use proxy::proxy;
pub(super) use pull_secret::pull_secret;
pub(super) use rendezvous::rendezvous_ip;
pub(super) use ssh_keys::ssh_keys;
pub(super) use static_network::static_network;
pub(super) use trust_bundle::trust_bundle;
pub(super) use version::openshift_version;
