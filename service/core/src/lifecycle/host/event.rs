//! Events of hosts. Every change of a host begins with one.

use muster_api::fingerprint::Fingerprint;
use muster_api::host::{HostFinding, HostStage, HostUpdateParams, LogsProgressState};
use muster_api::ids::{ClusterId, HostId};
use muster_api::inventory::Inventory;
use muster_api::steps::{
    ApiVipConnectivityResponse, ConnectivityReport, ContainerImageAvailability, DiskSpeedCheckResponse,
    DomainResolutionResponse, EraseDisksResponse, FreeNetworkAddresses, HealthReport, NtpSource,
    UpgradeAgentResponse, VerifiedVip,
};
use muster_api::time::Timestamp;

use crate::record::{BmcBoots, ImageWish, Secret, SleepCause, WakeCause};

/// A report about a host, or a request of a user or controller.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "events are few and short-lived")]
pub enum HostEvent {
    /// Its agent registered (again): the host booted, or the agent restarted.
    Registered {
        agent_version: String,
        /// Reported only by our agents; see [`identity`](crate::rules::identity).
        fingerprint: Option<Fingerprint>,
        /// Only from our agents, else empty; checked by [`key`](super::key).
        public_key: String,
    },
    /// The first poll of a host that counted as disconnected.
    CheckedIn,
    /// An inventory; already capped and cleaned by [`super::reply::interpret`].
    InventoryReported(Inventory),
    /// Values of its sensors.
    HealthReported(HealthReport),
    /// The state of its time sources.
    NtpReported(Vec<NtpSource>),
    /// A connectivity report.
    ConnectivityReported(ConnectivityReport),
    /// Addresses that are free.
    FreeAddressesReported(Vec<FreeNetworkAddresses>),
    /// Results of DNS lookups.
    DomainsReported(DomainResolutionResponse),
    /// Result of the download of the cluster's ignition.
    ApiVipReported(ApiVipConnectivityResponse),
    /// Reachability of tang servers: the reply as JSON, or the error's text.
    TangReported(String),
    /// Speed of a disk.
    DiskSpeedReported {
        /// Of the step.
        exit_code: i64,
        /// The measurement, if there was one.
        response: DiskSpeedCheckResponse,
    },
    /// Availability of container images.
    ImagesReported(Vec<ContainerImageAvailability>),
    /// Virtual addresses that are in use.
    VipsVerified(Vec<VerifiedVip>),
    /// Result of an upgrade of its agent.
    UpgradeReported(UpgradeAgentResponse),
    /// Its boot medium cannot be read any more (exit code 256).
    MediaLost,
    /// A step went well, so the boot medium can be read.
    MediaBack,
    /// It has downloaded what it needs to boot into discovery again; requested only from reclaimed hosts.
    BootArtifactsDownloaded,
    /// The download failed.
    BootArtifactsFailed,
    /// A step failed, and the reply does not name it.
    StepFailed {
        exit_code: i64,
        /// As the host reported it; may be empty.
        reason: String,
    },
    /// The install step failed.
    InstallationFailed {
        /// As the host reported it.
        reason: String,
    },
    /// Progress of its installation.
    Progressed {
        /// `None` when the report names none, which is refused.
        stage: Option<HostStage>,
        /// Often a percentage of the stage.
        info: String,
    },
    /// State of the log collection.
    LogsProgressed { state: LogsProgressState },
    /// Its logs were uploaded to its cluster.
    LogsUploaded,
    /// The logs that an operator requested were uploaded.
    AskedLogsUploaded,
    /// It could not send its logs.
    LogsNotSent {
        /// As the host reported it.
        reason: String,
    },
    /// `due_at` passed.
    DeadlinePassed,
    /// A user changed its settings.
    Edited(HostUpdateParams),
    /// A user set the arguments of coreos-installer.
    InstallerArgsSet(Vec<String>),
    /// A user set the Ignition that is merged into the host's; empty removes it.
    IgnitionOverrideSet(Secret),
    /// A controller sets the data of a bootstrap provider, Ignition or cloud-config; empty removes it.
    BootstrapIgnitionSet(Secret),
    /// A controller requests an image of the operator's list for its disk; an empty one leaves the choice to its cluster.
    ImageRequested(ImageWish),
    /// A user approves its Agent, or withdraws the approval.
    Approved(bool),
    /// A user requests that the measurements of a check are repeated.
    ValidationReset(String),
    /// A user binds it to the cluster in the facts.
    Bound {
        /// The cluster.
        cluster_id: ClusterId,
    },
    /// A user unbinds it from its cluster.
    Unbound,
    /// As [`Unbound`](Self::Unbound), but an installed node that runs our agent starts to return at once, not with its
    /// next poll.
    Reclaimed,
    /// A user requests its installation.
    InstallRequested,
    /// An operator requests its logs.
    LogsAsked,
    /// A controller requests that the installed host reboots.
    RebootAsked(RebootAsked),
    /// The request to reboot it was withdrawn.
    RebootWithdrawn,
    /// A controller requests that its node is installed again, in its cluster.
    ReinstallAsked(ReinstallAsked),
    /// The agent on its node reboots it, or could not.
    RebootReported {
        /// As the node reported it; `None`: it reboots.
        failure: Option<String>,
    },
    /// Its BMC has carried out the request of that time, or could not.
    RebootedByBmc {
        requested_at: Timestamp,
        /// `None`: the machine was switched off and on.
        failure: Option<String>,
    },
    /// A user cancels its installation.
    Cancelled {
        /// Shown unchanged.
        reason: String,
    },
    /// A user resets it.
    ResetRequested,
    /// Another machine claims the id of this one; see [`identity`](crate::rules::identity).
    IdClaimed(HostFinding),
    /// A user confirms that the machines of a finding `duplicate-host-id` are as they should be.
    IdentitySettled {
        /// The other host; `None`: all.
        other: Option<HostId>,
    },
    /// Its node was lost, and a controller replaces its machine.
    NodeFailed {
        /// As the controller reports it.
        reason: String,
    },
    /// How far the erasure of its disks is.
    ErasureReported(EraseDisksResponse),
    /// The step that erases its disks failed as a whole.
    ErasureRefused {
        /// As the host reported it.
        reason: String,
    },
    /// A user requests another attempt to erase its disks.
    ErasureRetried,
    /// A user makes the host available although its disks were not erased.
    ErasureSkipped,
    /// A user has looked at the host: its failures count no more.
    FailuresForgotten,
    /// Its BMC is booting it, or could not; only of hosts that wait for a boot.
    BmcTold(BmcBoots),
    /// It is put to sleep or woken, or a report about that.
    Sleep(SleepEvent),
    /// Facts outside of the host changed: its InfraEnv, its cluster, the hardware requirements.
    FactsChanged,
    /// Other hosts of its cluster were added, deleted, moved or sent reports.
    PeersChanged,
}

/// A request to reboot an installed host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebootAsked {
    /// The time of the request, which identifies it.
    pub requested_at: Timestamp,
    /// The cluster that the requester takes the host to be a node of; `None`: it is not known here.
    pub cluster_id: Option<ClusterId>,
    /// Name of the BMC that can reboot the host now; `None`: there is none.
    pub bmc: Option<String>,
}

/// An event about the sleep of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SleepEvent {
    /// It is to sleep.
    Asked(SleepAsked),
    /// Its BMC has carried out the request of that time, or could not.
    SwitchedOff {
        asked_at: Timestamp,
        /// `None`: the BMC reports that it is off.
        failure: Option<String>,
    },
    /// It is to wake without a claim; `keep`: a person keeps it awake from now on.
    WakeAsked { cause: WakeCause, keep: bool },
    /// Its BMC began to boot it.
    WakeBegun { asked_at: Timestamp },
    /// Its BMC could not boot it.
    WakeFailed {
        asked_at: Timestamp,
        /// The end of a sentence.
        reason: String,
        /// No fault of the service or of its settings.
        is_of_machine: bool,
    },
    /// Its Agent names a cluster that it is not bound to yet, or no longer.
    Claimed(bool),
}

/// A request that a host sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SleepAsked {
    /// Name of the BMC that has booted the host, and can do so again.
    pub bmc: String,
    pub cause: SleepCause,
}

impl SleepEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Asked(_) => "request to sleep",
            Self::SwitchedOff { .. } => "switching off",
            Self::WakeAsked { .. } => "request to wake",
            Self::WakeBegun { .. } | Self::WakeFailed { .. } => "waking",
            Self::Claimed(_) => "claim",
        }
    }

    fn origin(&self) -> &'static str {
        match self {
            Self::Asked(asked) => match asked.cause {
                SleepCause::Person => "user",
                SleepCause::Idle => "infra-env",
            },
            Self::WakeAsked { cause, .. } => match cause {
                WakeCause::Person => "user",
                WakeCause::Spare => "infra-env",
                WakeCause::Claim => "cluster",
            },
            Self::SwitchedOff { .. } | Self::WakeBegun { .. } | Self::WakeFailed { .. } => "bmc",
            Self::Claimed(_) => "cluster",
        }
    }
}

/// A request to install the node of a host again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReinstallAsked {
    /// The time of the request, which identifies it.
    pub requested_at: Timestamp,
    /// The cluster that the requester takes the host to be a node of; `None`: it is not known here.
    pub cluster_id: Option<ClusterId>,
}

impl HostEvent {
    /// For messages and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registration",
            Self::CheckedIn => "check-in",
            Self::InventoryReported(_) => "inventory",
            Self::HealthReported(_) => "health",
            Self::NtpReported(_) => "time sources",
            Self::ConnectivityReported(_) => "connectivity",
            Self::FreeAddressesReported(_) => "free addresses",
            Self::DomainsReported(_) => "domain names",
            Self::ApiVipReported(_) => "ignition download",
            Self::TangReported(_) => "tang servers",
            Self::DiskSpeedReported { .. } => "disk speed",
            Self::ImagesReported(_) => "container images",
            Self::VipsVerified(_) => "virtual addresses",
            Self::UpgradeReported(_) => "agent upgrade",
            Self::MediaLost => "media lost",
            Self::MediaBack => "media back",
            Self::BootArtifactsDownloaded => "boot artifacts",
            Self::BootArtifactsFailed => "failed boot artifacts",
            Self::StepFailed { .. } => "failed step",
            Self::InstallationFailed { .. } => "failed installation",
            Self::Progressed { .. } => "progress",
            Self::LogsProgressed { .. } => "progress of logs",
            Self::LogsUploaded | Self::AskedLogsUploaded => "logs",
            Self::LogsNotSent { .. } => "failed logs",
            Self::LogsAsked => "request for logs",
            Self::RebootAsked(_) => "request for a reboot",
            Self::RebootWithdrawn => "withdrawn reboot",
            Self::ReinstallAsked(_) => "request for a reinstallation",
            Self::RebootReported { .. } | Self::RebootedByBmc { .. } => "reboot",
            Self::DeadlinePassed => "deadline",
            Self::Edited(_) => "edit",
            Self::InstallerArgsSet(_) => "installer arguments",
            Self::IgnitionOverrideSet(_) => "ignition override",
            Self::BootstrapIgnitionSet(_) => "bootstrap data",
            Self::ImageRequested(_) => "OS image",
            Self::Approved(_) => "approval",
            Self::ValidationReset(_) => "reset of a validation",
            Self::Bound { .. } => "bind",
            Self::Unbound => "unbind",
            Self::Reclaimed => "reclaim",
            Self::InstallRequested => "install",
            Self::Cancelled { .. } => "cancel",
            Self::ResetRequested => "reset",
            Self::IdClaimed(_) => "claimed id",
            Self::IdentitySettled { .. } => "settled identity",
            Self::NodeFailed { .. } => "failed node",
            Self::ErasureReported(_) => "erasure",
            Self::ErasureRefused { .. } => "failed erasure",
            Self::ErasureRetried => "retry of the erasure",
            Self::ErasureSkipped => "skipped erasure",
            Self::FailuresForgotten => "forgotten failures",
            Self::BmcTold(_) => "BMC",
            Self::Sleep(event) => event.name(),
            Self::FactsChanged => "changed facts",
            Self::PeersChanged => "changed peers",
        }
    }

    /// The cause, for the history: `agent`, `user`, `deadline`, `bmc`, `infra-env` or `cluster`.
    pub fn origin(&self) -> &'static str {
        match self {
            Self::Registered { .. }
            | Self::CheckedIn
            | Self::InventoryReported(_)
            | Self::HealthReported(_)
            | Self::NtpReported(_)
            | Self::ConnectivityReported(_)
            | Self::FreeAddressesReported(_)
            | Self::DomainsReported(_)
            | Self::ApiVipReported(_)
            | Self::TangReported(_)
            | Self::DiskSpeedReported { .. }
            | Self::ImagesReported(_)
            | Self::VipsVerified(_)
            | Self::UpgradeReported(_)
            | Self::MediaLost
            | Self::MediaBack
            | Self::BootArtifactsDownloaded
            | Self::BootArtifactsFailed
            | Self::StepFailed { .. }
            | Self::InstallationFailed { .. }
            | Self::Progressed { .. }
            | Self::LogsProgressed { .. }
            | Self::LogsUploaded
            | Self::AskedLogsUploaded
            | Self::LogsNotSent { .. }
            | Self::RebootReported { .. }
            | Self::ErasureReported(_)
            | Self::ErasureRefused { .. }
            | Self::IdClaimed(_) => "agent",
            Self::DeadlinePassed => "deadline",
            Self::Edited(_)
            | Self::InstallerArgsSet(_)
            | Self::IgnitionOverrideSet(_)
            | Self::BootstrapIgnitionSet(_)
            | Self::ImageRequested(_)
            | Self::Approved(_)
            | Self::ValidationReset(_)
            | Self::Bound { .. }
            | Self::Unbound
            | Self::Reclaimed
            | Self::InstallRequested
            | Self::LogsAsked
            | Self::RebootAsked(_)
            | Self::RebootWithdrawn
            | Self::ReinstallAsked(_)
            | Self::Cancelled { .. }
            | Self::ResetRequested
            | Self::ErasureRetried
            | Self::ErasureSkipped
            | Self::FailuresForgotten
            | Self::IdentitySettled { .. } => "user",
            Self::BmcTold(_) | Self::RebootedByBmc { .. } => "bmc",
            Self::Sleep(event) => event.origin(),
            Self::FactsChanged => "infra-env",
            Self::PeersChanged | Self::NodeFailed { .. } => "cluster",
        }
    }
}
