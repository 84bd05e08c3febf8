//! Settings of an InfraEnv that the Muster live image cannot apply.

use strum::VariantArray;

use crate::record::Settings;
use crate::rules::live_network::first_unapplied;

/// A setting that the live image cannot apply: it has no Ignition, and supports only a part of nmstate. CoreOS images
/// can apply it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Unapplied {
    IgnitionOverride,
    StaticNetwork,
}

impl Unapplied {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The setting's name in the API.
    pub fn field(self) -> &'static str {
        match self {
            Self::IgnitionOverride => "ignition_config_override",
            Self::StaticNetwork => "static_network_config",
        }
    }

    /// The reason, and the consequence for hosts.
    pub(super) fn why(self, settings: &Settings) -> String {
        match self {
            Self::IgnitionOverride => {
                "the Muster live image has no Ignition; discovery.ign carries the override, for CoreOS images"
                    .into()
            }
            Self::StaticNetwork => first_unapplied(&settings.static_network_config)
                .map(|(index, why)| unapplied_network(index, &why))
                .unwrap_or_default(),
        }
    }

    pub fn is_set(self, settings: &Settings) -> bool {
        match self {
            Self::IgnitionOverride => !settings.ignition_config_override.is_empty(),
            Self::StaticNetwork => first_unapplied(&settings.static_network_config).is_some(),
        }
    }

    pub(super) fn differs(self, old: &Settings, new: &Settings) -> bool {
        match self {
            Self::IgnitionOverride => old.ignition_config_override != new.ignition_config_override,
            Self::StaticNetwork => old.static_network_config != new.static_network_config,
        }
    }
}

/// The reason why the network at this place of the list is not applied, and the consequence.
pub(super) fn unapplied_network(index: usize, why: &str) -> String {
    format!(
        "the Muster live image cannot apply the network [{index}] ({why}); a host with these cards is discovered by DHCP or not at all"
    )
}
