//! What the Muster live image is told of an InfraEnv, and what it cannot apply.

use muster_api::live::{CONFIG_VERSION, LiveConfig, LiveProxy};
use muster_api::time::Timestamp;

use super::{InfraEnv, Settings, news};
use crate::event::NewEvent;

/// The configuration in the image. `ca_pem`: the service's own CA, or empty.
pub fn live_config(infra_env: &InfraEnv, service_url: &str, token: Option<&str>, ca_pem: &str) -> LiveConfig {
    let settings = &infra_env.settings;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let certificates: Vec<&str> = [ca_pem.trim(), settings.additional_trust_bundle.trim()]
        .into_iter()
        .filter(|pem| !pem.is_empty())
        .collect();
    LiveConfig {
        version: CONFIG_VERSION,
        service_url: service_url.trim_end_matches('/').to_owned(),
        infra_env_id: infra_env.id,
        infra_env_name: infra_env.name.clone(),
        token: token.map(str::to_owned),
        ca_certificates: certificates.iter().map(|pem| format!("{pem}\n")).collect(),
        proxy: LiveProxy {
            http_proxy: text(&settings.proxy.http_proxy),
            https_proxy: text(&settings.proxy.https_proxy),
            no_proxy: text(&settings.proxy.no_proxy),
        },
        ntp_sources: infra_env
            .ntp_source_list()
            .split(',')
            .map(str::trim)
            .filter(|source| !source.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// A setting that the live image cannot apply: it has no Ignition, no SSH server and no nmstate. CoreOS images can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the settings")]
pub enum Unapplied {
    IgnitionOverride,
    SshKeys,
    StaticNetwork,
}

impl Unapplied {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::IgnitionOverride, Self::SshKeys, Self::StaticNetwork];

    /// The setting's name in the API.
    pub fn field(self) -> &'static str {
        match self {
            Self::IgnitionOverride => "ignition_config_override",
            Self::SshKeys => "ssh_authorized_key",
            Self::StaticNetwork => "static_network_config",
        }
    }

    /// Why the live image cannot apply it, and what happens to hosts.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::IgnitionOverride => {
                "the Muster live image has no Ignition; discovery.ign carries the override, for CoreOS images"
            }
            Self::SshKeys => {
                "nobody can log in to the Muster live image; discovery.ign carries the keys, for CoreOS images"
            }
            Self::StaticNetwork => {
                "the Muster live image configures its network by DHCP and router advertisements only; hosts without these will not be discovered"
            }
        }
    }

    /// Whether `settings` ask for it.
    pub fn is_set(self, settings: &Settings) -> bool {
        match self {
            Self::IgnitionOverride => !settings.ignition_config_override.is_empty(),
            Self::SshKeys => !settings.ssh_authorized_key.is_empty(),
            Self::StaticNetwork => !settings.static_network_config.is_empty(),
        }
    }

    pub(super) fn differs(self, old: &Settings, new: &Settings) -> bool {
        match self {
            Self::IgnitionOverride => old.ignition_config_override != new.ignition_config_override,
            Self::SshKeys => old.ssh_authorized_key != new.ssh_authorized_key,
            Self::StaticNetwork => old.static_network_config != new.static_network_config,
        }
    }
}

/// An event (warning) for each setting of `infra_env` that the live image cannot apply.
pub fn unapplied_by_live_image(infra_env: &InfraEnv, now: Timestamp) -> Vec<NewEvent> {
    Unapplied::ALL
        .into_iter()
        .filter(|setting| setting.is_set(&infra_env.settings))
        .map(|setting| news::not_applied(infra_env, setting, now))
        .collect()
}
