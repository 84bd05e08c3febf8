//! The keys of filters, with the kinds of their values.

use muster_api::host::{HostRole, HostStage, HostStatus};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::query::summary::{DriveType, Firmware};
use crate::record::CheckId;
use crate::rules::findings::KINDS;
use crate::rules::identity::DUPLICATE_HOST_ID;

/// Keys of filters; on the wire in kebab-case.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", ascii_case_insensitive)]
pub enum Key {
    Name,
    Id,
    /// Name or id of the InfraEnv.
    Pool,
    /// Name or id of the cluster.
    Cluster,
    State,
    /// Of the installation, in kebab-case.
    Stage,
    Role,
    Approved,
    /// `KEY` or `KEY=VALUE` of a label of the node.
    Label,
    Finding,
    /// A check that failed.
    Check,
    /// Length of its present wait, or `overdue`.
    Wait,
    /// Time since its last poll.
    Seen,
    /// Time since its last change of state.
    Since,
    /// Threads.
    Cpu,
    Memory,
    /// Number of disks, size of a disk, or its type.
    Disk,
    /// Number of GPUs, or model of one.
    Gpu,
    /// Of its fastest network card.
    NicSpeed,
    Mac,
    /// An address of its own, or a network that one is in.
    Ip,
    /// Of the machine or of a disk.
    Serial,
    Vendor,
    Model,
    Switch,
    /// Of a switch.
    Port,
    Vlan,
    /// Name or address of its management controller.
    Bmc,
    Power,
    /// Of its hottest sensor, °C.
    Temp,
    Firmware,
    #[serde(rename = "secureboot")]
    #[strum(serialize = "secureboot")]
    SecureBoot,
    /// Version of its agent, with or without the name of the program.
    Agent,
}

/// The values that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// One of [`Key::words`].
    Word,
    /// `yes` or `no`, which [`Key::words`] has, too.
    Flag,
    Label,
    Count,
    Memory,
    Speed,
    /// Time since something; without a sign: at most.
    Age,
    /// Length of a wait; without a sign: at least.
    Wait,
    Mac,
    Address,
    /// An address or a text.
    Bmc,
    Disk,
    Gpu,
}

impl Key {
    /// All keys, in the order of the documentation.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in a filter.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The only words that the key takes, for completion; empty: it takes other values.
    pub fn words(self) -> Vec<String> {
        match self {
            Self::State => {
                let names = HostStatus::VARIANTS.iter().map(|status| status.name());
                let bound = IN_TWO_FORMS.iter().map(|(_, word, _)| *word);
                names.chain(bound).chain(SLEEP_WORDS).map(str::to_owned).collect()
            }
            Self::Stage => HostStage::VARIANTS
                .iter()
                .map(|stage| stage_word(*stage))
                .collect(),
            Self::Role => HostRole::VARIANTS.iter().map(HostRole::to_string).collect(),
            Self::Finding => owned(&[&KINDS[..], &[DUPLICATE_HOST_ID]].concat()),
            Self::Check => CheckId::ALL.iter().map(|check| check.id().to_owned()).collect(),
            Self::Firmware => Firmware::VARIANTS
                .iter()
                .map(|one| one.name().to_owned())
                .collect(),
            Self::Disk => DriveType::VARIANTS
                .iter()
                .map(|one| one.name().to_owned())
                .collect(),
            Self::Approved | Self::SecureBoot => owned(&["yes", "no"]),
            _ => Vec::new(),
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::State | Self::Stage | Self::Role | Self::Finding | Self::Check | Self::Firmware => {
                Kind::Word
            }
            Self::Approved | Self::SecureBoot => Kind::Flag,
            Self::Label => Kind::Label,
            Self::Cpu | Self::Vlan | Self::Temp => Kind::Count,
            Self::Memory => Kind::Memory,
            Self::NicSpeed => Kind::Speed,
            Self::Seen | Self::Since => Kind::Age,
            Self::Wait => Kind::Wait,
            Self::Mac => Kind::Mac,
            Self::Ip => Kind::Address,
            Self::Bmc => Kind::Bmc,
            Self::Disk => Kind::Disk,
            Self::Gpu => Kind::Gpu,
            Self::Name
            | Self::Id
            | Self::Pool
            | Self::Cluster
            | Self::Serial
            | Self::Vendor
            | Self::Model
            | Self::Switch
            | Self::Port
            | Self::Power
            | Self::Agent => Kind::Text,
        }
    }
}

/// The words of [`Key::State`] for hosts that sleep; these have a state besides.
const SLEEP_WORDS: [&str; 4] = ["falling-asleep", "asleep", "waking", "did-not-wake"];

/// The states that hosts have in clusters and outside: the former, whose name as a word means both, the word for it alone, the latter.
static IN_TWO_FORMS: [(HostStatus, &str, HostStatus); 5] = [
    (HostStatus::Known, "known-bound", HostStatus::KnownUnbound),
    (
        HostStatus::Disconnected,
        "disconnected-bound",
        HostStatus::DisconnectedUnbound,
    ),
    (
        HostStatus::Insufficient,
        "insufficient-bound",
        HostStatus::InsufficientUnbound,
    ),
    (
        HostStatus::Disabled,
        "disabled-bound",
        HostStatus::DisabledUnbound,
    ),
    (
        HostStatus::Discovering,
        "discovering-bound",
        HostStatus::DiscoveringUnbound,
    ),
];

/// The word that fits a state besides its name.
pub(super) fn other_word(status: HostStatus) -> Option<&'static str> {
    IN_TWO_FORMS.iter().find_map(|(bound, word, unbound)| {
        let is_bound = status == *bound;
        let both = (status == *unbound).then(|| bound.name());
        is_bound.then_some(*word).or(both)
    })
}

/// The word that fits the state of this name alone.
pub(super) fn only_word(name: &str) -> &str {
    let found = IN_TWO_FORMS.iter().find(|(bound, ..)| bound.name() == name);
    found.map_or(name, |(_, word, _)| *word)
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// `Writing image to disk` is `writing-image-to-disk`.
pub(super) fn stage_word(stage: HostStage) -> String {
    stage.name().to_lowercase().replace(' ', "-")
}
