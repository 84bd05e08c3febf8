//! What can happen to a host. Everything that changes one arrives as one of these.

use muster_api::fingerprint::Fingerprint;
use muster_api::host::{HostFinding, HostStage, HostUpdateParams, LogsProgressState};
use muster_api::ids::{ClusterId, HostId};
use muster_api::inventory::Inventory;
use muster_api::steps::{
    ApiVipConnectivityResponse, ConnectivityReport, ContainerImageAvailability, DiskSpeedCheckResponse,
    DomainResolutionResponse, FreeNetworkAddresses, NtpSource, UpgradeAgentResponse, VerifiedVip,
};

use crate::record::Secret;

/// Something that happened to a host, or that somebody wants of it.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "events are few and short-lived")]
pub enum HostEvent {
    /// Its agent registered (again): it has booted, or its agent has started anew.
    Registered {
        /// As the agent told it.
        agent_version: String,
        /// As our own agents tell it; see [`identity`](super::identity).
        fingerprint: Option<Fingerprint>,
    },
    /// The first poll of a host that counted as disconnected.
    CheckedIn,
    /// It told what it is made of; already capped and cleaned by [`super::reply::interpret`].
    InventoryReported(Inventory),
    /// It told how its time sources are.
    NtpReported(Vec<NtpSource>),
    /// It told whom it reaches.
    ConnectivityReported(ConnectivityReport),
    /// It told which addresses nobody uses.
    FreeAddressesReported(Vec<FreeNetworkAddresses>),
    /// It told what names mean.
    DomainsReported(DomainResolutionResponse),
    /// It told whether it can take its ignition from the cluster.
    ApiVipReported(ApiVipConnectivityResponse),
    /// It told whether servers of disk keys answer: the reply as JSON, or the error's text.
    TangReported(String),
    /// It told how fast a disk is.
    DiskSpeedReported {
        /// Of the step.
        exit_code: i64,
        /// What was measured, if anything.
        response: DiskSpeedCheckResponse,
    },
    /// It told which images can be had.
    ImagesReported(Vec<ContainerImageAvailability>),
    /// It told whether addresses of the cluster are taken.
    VipsVerified(Vec<VerifiedVip>),
    /// It told what became of an upgrade of its agent.
    UpgradeReported(UpgradeAgentResponse),
    /// Its boot medium cannot be read any more (exit code 256).
    MediaLost,
    /// A step went well, so the boot medium can be read.
    MediaBack,
    /// It has downloaded what it needs to boot into discovery again; only asked of hosts that are reclaimed.
    BootArtifactsDownloaded,
    /// It could not.
    BootArtifactsFailed,
    /// The install step failed.
    InstallationFailed {
        /// In the words of the host.
        reason: String,
    },
    /// It told how far its installation is.
    Progressed {
        /// `None` when the report names none, which is refused.
        stage: Option<HostStage>,
        /// Often a percentage of the stage.
        info: String,
    },
    /// It told how the collecting of its logs goes.
    LogsProgressed { state: LogsProgressState },
    /// Its logs have come.
    LogsUploaded,
    /// `due_at` has come.
    DeadlinePassed,
    /// A user changed its settings.
    Edited(HostUpdateParams),
    /// A user set the arguments of coreos-installer.
    InstallerArgsSet(Vec<String>),
    /// A user set what is merged into the host's ignition; empty removes it.
    IgnitionOverrideSet(Secret),
    /// A user approves its Agent, or takes that back.
    Approved(bool),
    /// A user wants a check made anew.
    ValidationReset(String),
    /// A user gives it to a cluster, which is the one in the facts.
    Bound {
        /// The cluster.
        cluster_id: ClusterId,
    },
    /// A user takes it out of its cluster.
    Unbound,
    /// As [`Unbound`](Self::Unbound), and an installed node is brought back to the pool by itself. Only controllers can do that:
    /// they run an agent on the node.
    Reclaimed,
    /// A user wants it installed.
    InstallRequested,
    /// A user gives its installation up.
    Cancelled {
        /// Shown as it is.
        reason: String,
    },
    /// A user wants it to begin anew.
    ResetRequested,
    /// Another machine claims the id of this one; see [`identity`](super::identity).
    IdClaimed(HostFinding),
    /// A user says that the machines of a finding `duplicate-host-id` are as they should be.
    IdentitySettled {
        /// The other host; `None`: all.
        other: Option<HostId>,
    },
    /// What is known outside of the host changed: its InfraEnv, its cluster, the hardware requirements.
    FactsChanged,
    /// Other hosts of its cluster came, went, moved or told something.
    PeersChanged,
}

impl HostEvent {
    /// For messages and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registration",
            Self::CheckedIn => "check-in",
            Self::InventoryReported(_) => "inventory",
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
            Self::InstallationFailed { .. } => "failed installation",
            Self::Progressed { .. } => "progress",
            Self::LogsProgressed { .. } => "progress of logs",
            Self::LogsUploaded => "logs",
            Self::DeadlinePassed => "deadline",
            Self::Edited(_) => "edit",
            Self::InstallerArgsSet(_) => "installer arguments",
            Self::IgnitionOverrideSet(_) => "ignition override",
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
            Self::FactsChanged => "changed facts",
            Self::PeersChanged => "changed peers",
        }
    }

    /// Who caused it, for the history: `agent`, `user`, `deadline`, or what around the host changed.
    pub fn origin(&self) -> &'static str {
        match self {
            Self::Registered { .. }
            | Self::CheckedIn
            | Self::InventoryReported(_)
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
            | Self::InstallationFailed { .. }
            | Self::Progressed { .. }
            | Self::LogsProgressed { .. }
            | Self::LogsUploaded
            | Self::IdClaimed(_) => "agent",
            Self::DeadlinePassed => "deadline",
            Self::Edited(_)
            | Self::InstallerArgsSet(_)
            | Self::IgnitionOverrideSet(_)
            | Self::Approved(_)
            | Self::ValidationReset(_)
            | Self::Bound { .. }
            | Self::Unbound
            | Self::Reclaimed
            | Self::InstallRequested
            | Self::Cancelled { .. }
            | Self::ResetRequested
            | Self::IdentitySettled { .. } => "user",
            Self::FactsChanged => "infra-env",
            Self::PeersChanged => "cluster",
        }
    }
}
