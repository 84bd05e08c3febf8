//! The seed of a host whose image is configured by cloud-init. An addition of Muster's.
//! Source: docs/protocol/capi-day1.md#2.3.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::serialize::null_as_default;

/// Longest content of the three files of a seed together, bytes: what its partition has room for.
pub const LARGEST_SEED: usize = 3 << 20;

/// The content of the host's ignition download where the image is configured by cloud-init. It has no `ignition.version`, so an
/// agent that does not know it refuses it before it writes to a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSeed {
    pub cloud_init: Option<Seed>,
}

/// The files of a NoCloud seed. They hold secrets: `Debug` shows none of them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seed {
    /// `user-data`: the cloud-config as the bootstrap provider made it; cloud-init resolves its templates.
    #[serde(deserialize_with = "null_as_default")]
    pub user_data: String,
    /// `meta-data`, YAML.
    #[serde(deserialize_with = "null_as_default")]
    pub meta_data: String,
    /// `network-config` of version 2, YAML; `None`: cloud-init takes DHCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_config: Option<String>,
}

impl Seed {
    /// The files by their names, which cloud-init expects.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let network = self.network_config.as_deref();
        [
            ("user-data", self.user_data.as_str()),
            ("meta-data", self.meta_data.as_str()),
        ]
        .into_iter()
        .chain(network.map(|text| ("network-config", text)))
    }

    /// Bytes of all files.
    pub fn length(&self) -> usize {
        self.files().map(|(_, content)| content.len()).sum()
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seed").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_its_files_on_the_wire_and_none_in_debug() {
        let seed = HostSeed {
            cloud_init: Some(Seed {
                user_data: "#cloud-config\nhunter2: 1\n".into(),
                meta_data: "instance-id: a\n".into(),
                network_config: None,
            }),
        };
        let text = serde_json::to_string(&seed).unwrap();
        assert_eq!(
            text,
            r##"{"cloud_init":{"user_data":"#cloud-config\nhunter2: 1\n","meta_data":"instance-id: a\n"}}"##
        );
        assert_eq!(serde_json::from_str::<HostSeed>(&text).unwrap(), seed);
        assert!(!format!("{seed:?}").contains("hunter2"), "{seed:?}");
        let names: Vec<&str> = seed
            .cloud_init
            .iter()
            .flat_map(Seed::files)
            .map(|file| file.0)
            .collect();
        assert_eq!(names, ["user-data", "meta-data"]);
        assert_eq!(seed.cloud_init.map(|seed| seed.length()), Some(25 + 15));
    }

    #[test]
    fn ignition_is_no_seed() {
        let none: HostSeed = serde_json::from_str(r#"{"ignition":{"version":"3.4.0"}}"#).unwrap();
        assert_eq!(none.cloud_init, None);
    }
}
