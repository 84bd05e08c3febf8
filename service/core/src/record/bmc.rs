//! A BMC as it is stored, with the state of the discovery of its machine.

pub mod power;

use chrono::TimeDelta;
use muster_api::bmc::{BmcBoot, BmcCertificate, BmcCheck, BmcDifference, BmcFailure, BmcInventory, BmcPhase};
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use serde::{Deserialize, Serialize};

use self::power::BmcPower;
use super::kube_ref::KubeRef;
use super::secret::Secret;

/// A BMC as it is stored. `version` belongs to the store, as with hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Bmc {
    pub id: BmcId,
    pub infra_env_id: InfraEnvId,
    /// Unique in the InfraEnv.
    pub name: String,
    /// Number of writes.
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub settings: BmcSettings,
    pub password: Secret,
    /// Number of discoveries that were requested or cancelled. Work of an earlier discovery is void.
    pub run: i64,
    pub stage: BmcStage,
    pub progress: BmcProgress,
    /// The last host that the machine was. A further discovery keeps it until another host is found.
    pub host_id: Option<HostId>,
    /// The machine as the BMC reported it last.
    pub inventory: Option<BmcInventory>,
    /// Reads of the image; counted apart from the record, without a new version.
    pub image: ImageReads,
    /// Of its machine.
    pub power: BmcPower,
    /// The custom resource that it belongs to; `None`: made by REST.
    pub resource: Option<BmcResource>,
}

/// The custom resource that a BMC belongs to, and its last requests: an unchanged request starts nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcResource {
    pub kube: KubeRef,
    pub asked: BmcAsked,
}

/// The requests of a custom resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BmcAsked {
    /// Discovery of the machine is requested.
    pub discover: bool,
    /// The value of the annotation that requests another discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// The users' settings of a BMC, except the password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BmcSettings {
    /// `https://HOST[:PORT]`, in lower case.
    pub address: String,
    pub user_name: String,
    pub certificate: BmcCertificate,
    /// `None`: the only system of the BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    pub boot: BmcBoot,
}

/// A phase with its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BmcStage {
    Waiting,
    Checking,
    Inserting,
    Booting,
    WaitingForAgent,
    Discovered {
        host_id: HostId,
        #[serde(default)]
        differences: Vec<BmcDifference>,
    },
    Failed {
        failure: BmcFailure,
    },
    Stopped,
}

/// Data of the present phase, and the results of the last checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BmcProgress {
    /// For users: the awaited event, or the reason why the discovery ended.
    pub reason: String,
    /// Begin of the phase.
    pub since: Timestamp,
    /// The phase fails then.
    #[serde(default)]
    pub deadline: Option<Timestamp>,
    /// Time of the next check; `None`: nothing is due.
    #[serde(default)]
    pub due_at: Option<Timestamp>,
    /// Attempts of this phase that failed.
    #[serde(default)]
    pub attempts: u32,
    /// The failure of the last attempt.
    #[serde(default)]
    pub last_failure: Option<BmcFailure>,
    /// The discovery has no user's request: it began because the host waits for a boot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_host: bool,
    /// Time at which the boot of this run began: a host that registered earlier is not from this boot.
    #[serde(default)]
    pub booted_at: Option<Timestamp>,
    /// The medium and override to remove from the BMC.
    #[serde(default)]
    pub leftover: Option<Leftover>,
    /// Its InfraEnv was deleted: the BMC is deleted when no medium is left in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    #[serde(default)]
    pub checks: Vec<BmcCheck>,
    /// SHA-256 of the certificate that was shown last.
    #[serde(default)]
    pub certificate_shown: Option<String>,
}

/// A medium that is in the BMC or may be, with the boot override.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The path of the slot, where it is known.
    #[serde(default)]
    pub slot: Option<String>,
    /// Failed attempts to eject it.
    #[serde(default)]
    pub attempts: u32,
    /// The host runs from it: it stays until the host has rebooted from its disk, or was deleted.
    #[serde(default)]
    pub in_use: bool,
    /// All attempts failed: a user has to check the BMC.
    #[serde(default)]
    pub given_up: bool,
    #[serde(default)]
    pub medium: Medium,
}

/// The known state of the medium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// The BMC showed it in a slot.
    #[default]
    Shown,
    /// The BMC has the request to insert it, and has not shown it yet.
    Begun,
    /// There is none: the firmware loads the image itself.
    None,
}

/// Reads of the image through the BMC's own URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageReads {
    pub requests: i64,
    /// Bytes that the service began to send.
    pub bytes: i64,
    pub last_at: Option<Timestamp>,
}

/// Time limits of phases.
#[derive(Debug, Clone, Copy)]
pub struct BmcLimits {
    pub checking: TimeDelta,
    pub inserting: TimeDelta,
    pub booting: TimeDelta,
    pub agent: TimeDelta,
    /// Between an attempt and the next, doubled up to [`BmcLimits::longest_pause`].
    pub pause: TimeDelta,
    pub longest_pause: TimeDelta,
    /// Between two checks if the agent has registered; a change of a host triggers a check, too.
    pub look: TimeDelta,
    /// A request for another power state, counted from the request.
    pub power: TimeDelta,
    /// A request for the present power state.
    pub power_status: TimeDelta,
}

impl Default for BmcLimits {
    /// For slow hardware: the power-on self test of a large server takes a quarter of an hour.
    fn default() -> Self {
        Self {
            checking: TimeDelta::minutes(10),
            inserting: TimeDelta::minutes(20),
            booting: TimeDelta::minutes(20),
            agent: TimeDelta::minutes(60),
            pause: TimeDelta::seconds(15),
            longest_pause: TimeDelta::minutes(2),
            look: TimeDelta::seconds(60),
            power: TimeDelta::minutes(15),
            power_status: TimeDelta::minutes(2),
        }
    }
}

impl BmcStage {
    pub fn phase(&self) -> BmcPhase {
        match self {
            Self::Waiting => BmcPhase::Waiting,
            Self::Checking => BmcPhase::Checking,
            Self::Inserting => BmcPhase::Inserting,
            Self::Booting => BmcPhase::Booting,
            Self::WaitingForAgent => BmcPhase::WaitingForAgent,
            Self::Discovered { .. } => BmcPhase::Discovered,
            Self::Failed { .. } => BmcPhase::Failed,
            Self::Stopped => BmcPhase::Stopped,
        }
    }

    /// True while a discovery is under way.
    pub fn is_active(&self) -> bool {
        match self {
            Self::Waiting | Self::Checking | Self::Inserting | Self::Booting | Self::WaitingForAgent => true,
            Self::Discovered { .. } | Self::Failed { .. } | Self::Stopped => false,
        }
    }
}

impl Bmc {
    /// True while a medium has to be ejected and attempts are left.
    pub fn cleans_up(&self) -> bool {
        let left = self.progress.leftover.as_ref();
        !self.stage.is_active() && self.progress.due_at.is_some() && left.is_some()
    }

    /// True while the BMC shows a medium, or may hold one: a discovery that has ended had requested its insertion.
    pub fn medium_inserted(&self) -> bool {
        self.progress
            .leftover
            .as_ref()
            .is_some_and(|left| match left.medium {
                Medium::Shown => true,
                Medium::Begun => !self.stage.is_active(),
                Medium::None => false,
            })
    }

    /// Identifies the machine behind it: two records of one machine would conflict.
    pub fn place(&self) -> String {
        let settings = &self.settings;
        let bare = settings.address.split_once("://");
        let bare = bare.map_or(settings.address.as_str(), |(_, rest)| rest);
        format!("{bare}#{}", settings.system_id.as_deref().unwrap_or_default())
    }
}
