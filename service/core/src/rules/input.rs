//! Validates settings that users give, one kind a file. Source: docs/protocol/rest-behaviour.md#4 and #6,
//! docs/protocol/discovery-ignition.md#9 and #10, docs/protocol/static-network.md#3. No error repeats a secret.

pub(crate) mod cluster;
mod comma_list;
mod control_characters;
pub(crate) mod image_url;
mod invalid;
mod kernel_arguments;
mod name;
mod ntp;
mod proxy;
mod pull_secret;
mod rendezvous;
mod resource;
mod ssh_keys;
mod static_network;
mod trust_bundle;
mod version;

pub use comma_list::comma_list;
pub(crate) use control_characters::no_control_characters;
pub use invalid::Invalid;
pub(crate) use kernel_arguments::kernel_arguments;
pub(crate) use name::name;
pub(crate) use ntp::{is_host_name, ntp_sources};
pub(crate) use proxy::proxy;
pub(crate) use pull_secret::pull_secret;
pub(crate) use rendezvous::rendezvous_ip;
pub(crate) use resource::resource;
pub use ssh_keys::key_lines;
pub(crate) use ssh_keys::ssh_keys;
pub(crate) use static_network::is_predictable;
pub use static_network::static_network;
pub(crate) use trust_bundle::trust_bundle;
pub(crate) use version::{image_version, openshift_version};
