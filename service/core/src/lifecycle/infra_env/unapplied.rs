//! Settings of an InfraEnv that the Muster live image cannot apply.

use strum::VariantArray;

use crate::record::Settings;

/// A setting that the live image cannot apply: it has no Ignition, no SSH server and no nmstate. CoreOS images can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Unapplied {
    IgnitionOverride,
    SshKeys,
    StaticNetwork,
}

impl Unapplied {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The setting's name in the API.
    pub fn field(self) -> &'static str {
        match self {
            Self::IgnitionOverride => "ignition_config_override",
            Self::SshKeys => "ssh_authorized_key",
            Self::StaticNetwork => "static_network_config",
        }
    }

    /// The reason, and the consequence for hosts.
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
