//! The sleep of a host: its BMC switches it off, and it stays in its pool.

use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A host that sleeps, falls asleep, wakes, or did not wake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sleep {
    /// Time of the request. It identifies the request at the BMC.
    pub asked_at: Timestamp,
    /// Name of the BMC that switches the host off and boots it.
    pub bmc: String,
    pub cause: SleepCause,
    pub stage: SleepStage,
}

/// The reason why a host was put to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SleepCause {
    /// No machine took it for the time that its InfraEnv names.
    Idle,
    /// A person requested it.
    Person,
}

/// The stage of a sleep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SleepStage {
    /// Its BMC has to switch it off.
    Falling,
    /// Its BMC reported at that time that it is off.
    Asleep { since: Timestamp },
    /// Its BMC boots it from the discovery image.
    Waking(Waking),
    /// It was not there by the end of the wait.
    DidNotWake {
        at: Timestamp,
        /// For users; the end of a sentence.
        reason: String,
    },
}

/// A host that is being woken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waking {
    pub asked_at: Timestamp,
    pub cause: WakeCause,
    /// Its BMC began then; `None`: the BMC waits for its turn, which is no fault of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
}

/// The reason why a host is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakeCause {
    /// It was bound to a cluster.
    Claim,
    /// Too few hosts of its InfraEnv are awake.
    Spare,
    /// A person requested it.
    Person,
}

/// A host that could not be put to sleep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepFailed {
    pub at: Timestamp,
    /// For users; the end of a sentence.
    pub reason: String,
}

/// The holds that keep a host awake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptAwake {
    /// A person requested it, until a person puts it to sleep.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    /// Its Agent names a cluster that it is not bound to yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_claim: bool,
}

impl KeptAwake {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Sleep {
    /// `None`: it is not being woken.
    pub fn waking(&self) -> Option<&Waking> {
        match &self.stage {
            SleepStage::Waking(waking) => Some(waking),
            SleepStage::Falling | SleepStage::Asleep { .. } | SleepStage::DidNotWake { .. } => None,
        }
    }

    /// True while its BMC has to switch it off or to boot it.
    pub fn is_changing(&self) -> bool {
        matches!(self.stage, SleepStage::Falling | SleepStage::Waking(_))
    }

    /// True while silence of the host is expected.
    pub fn is_silence_expected(&self) -> bool {
        !matches!(self.stage, SleepStage::DidNotWake { .. })
    }
}
