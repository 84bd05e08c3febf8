//! What can happen to a host. Everything that changes one arrives as one of these.

use muster_api::host::HostUpdateParams;
use muster_api::inventory::Inventory;
use muster_api::steps::NtpSource;

/// Something that happened to a host, or that somebody wants of it.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "events are few and short-lived")]
pub enum HostEvent {
    /// Its agent registered (again): it has booted, or its agent has started anew.
    Registered {
        /// As the agent told it.
        agent_version: String,
    },
    /// The first poll of a host that counted as disconnected.
    CheckedIn,
    /// It told what it is made of; already capped and cleaned by [`super::reply::interpret`].
    InventoryReported(Inventory),
    /// It told how its time sources are.
    NtpReported(Vec<NtpSource>),
    /// Its boot medium cannot be read any more (exit code 256).
    MediaLost,
    /// A step went well, so the boot medium can be read.
    MediaBack,
    /// It has downloaded what it needs to boot into discovery again; only asked of hosts that are reclaimed.
    BootArtifactsDownloaded,
    /// `due_at` has come.
    DeadlinePassed,
    /// A user changed its settings.
    Edited(HostUpdateParams),
    /// What is known outside of the host changed: its InfraEnv, the hardware requirements.
    FactsChanged,
}

impl HostEvent {
    /// For messages and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registration",
            Self::CheckedIn => "check-in",
            Self::InventoryReported(_) => "inventory",
            Self::NtpReported(_) => "time sources",
            Self::MediaLost => "media lost",
            Self::MediaBack => "media back",
            Self::BootArtifactsDownloaded => "boot artifacts",
            Self::DeadlinePassed => "deadline",
            Self::Edited(_) => "edit",
            Self::FactsChanged => "changed facts",
        }
    }
}
