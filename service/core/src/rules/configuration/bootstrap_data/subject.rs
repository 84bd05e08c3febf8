//! The values of a host that templates in bootstrap data refer to. Source: docs/protocol/capi-day1.md#2.3.

use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::record::Host;
use crate::rules::addresses::networks_of;
use crate::rules::hostname;

/// Prefix of the provider ids of hosts of this service. Source: docs/protocol/capi-agent-provider.md#2.
pub const PROVIDER_ID_PREFIX: &str = "agent://";

/// The host that bootstrap data is for: the values of a NoCloud seed's `meta-data`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `instance-id`: another one with each bootstrap data that the host is given.
    pub instance_id: String,
    /// `local-hostname` and `hostname`: the name that the host is installed with.
    pub hostname: String,
    /// `name`: with Metal3's templates the name of the Node, so it is the host's name, too.
    pub name: String,
    /// `uuid`: the id of the host.
    pub uuid: String,
    /// `local_ipv4`: the first address that other machines reach.
    pub local_ipv4: Option<String>,
    /// `provider-id`: the whole one, as the Node and the Machine have it.
    pub provider_id: String,
}

impl Subject {
    /// The values of `host`, which is given the bootstrap data `text`.
    pub fn of(host: &Host, text: &str) -> Self {
        let name = hostname::display(host);
        let id = host.id.to_string();
        let digest = Sha256::digest(text.as_bytes());
        let claim = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
        Self {
            instance_id: format!("{id}-{}", claim.collect::<String>()),
            hostname: name.clone(),
            name,
            uuid: id.clone(),
            local_ipv4: local_ipv4(host),
            provider_id: format!("{PROVIDER_ID_PREFIX}{id}"),
        }
    }

    /// Values that stand for those of any host, with which bootstrap data is checked before there is a host for it.
    pub(super) fn sample() -> Self {
        let id = "00000000-0000-0000-0000-000000000000";
        Self {
            instance_id: format!("{id}-00000000"),
            hostname: "host".into(),
            name: "host".into(),
            uuid: id.into(),
            local_ipv4: Some("192.0.2.1".into()),
            provider_id: format!("{PROVIDER_ID_PREFIX}{id}"),
        }
    }
}

fn local_ipv4(host: &Host) -> Option<String> {
    let interfaces = &host.inventory.as_ref()?.interfaces;
    let mut networks = interfaces.iter().flat_map(networks_of);
    networks.find_map(|net| match net.addr() {
        IpAddr::V4(ip) => Some(ip.to_string()),
        IpAddr::V6(_) => None,
    })
}
