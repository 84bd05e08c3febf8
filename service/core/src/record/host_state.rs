//! States of hosts. Source: docs/protocol/host-lifecycle.md#1.
//!
//! The states of unbound hosts and of hosts that are added to an existing cluster (day-2). States of the protocol that
//! such hosts never enter have no variant: `preparing-for-installation`, `preparing-successful`, `preparing-failed` and
//! `installed` belong to new clusters, and nothing leads to `resetting`, `disabled` and `disabled-unbound` any more.
//! `pending-for-input` waits for the machine network of a cluster; imported clusters do not need one, so it is entered
//! only if that check fails.

use muster_api::host::HostStatus;
use serde::{Deserialize, Serialize};

use super::check_id::{CheckId, readable};

/// The states of a host, with the data of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum HostState {
    /// Unbound. Registered, no usable inventory yet.
    DiscoveringUnbound,
    /// Unbound. All gating checks pass: ready to be bound.
    KnownUnbound,
    /// Unbound. Gating checks fail.
    InsufficientUnbound {
        /// In the order of [`CheckId::ALL`].
        #[serde(deserialize_with = "readable")]
        failed: Vec<CheckId>,
    },
    /// Unbound. Silent for longer than allowed, or its boot medium is gone.
    DisconnectedUnbound,
    /// Bound to a cluster; waits for its agent to register again.
    Binding,
    /// In a cluster. Registered, no usable inventory yet.
    Discovering,
    /// In a cluster. All gating checks pass: ready to be installed.
    Known,
    /// In a cluster. Gating checks fail.
    Insufficient {
        /// In the order of [`CheckId::ALL`].
        #[serde(deserialize_with = "readable")]
        failed: Vec<CheckId>,
    },
    /// In a cluster. Only settings of the user are missing.
    PendingForInput {
        /// In the order of [`CheckId::ALL`].
        #[serde(deserialize_with = "readable")]
        failed: Vec<CheckId>,
    },
    /// In a cluster. Silent for longer than allowed, or its boot medium is gone.
    Disconnected,
    /// The install step was sent.
    Installing,
    /// The host reports its progress.
    InstallingInProgress,
    /// It did not come up from its disk; a user must check its boot order.
    InstallingPendingUserAction { why: NotBooted },
    /// A node of its cluster, as far as can be seen.
    AddedToExistingCluster,
    /// The installation failed.
    Error,
    /// The installation was cancelled.
    Cancelled,
    /// Reset; waits for the user to boot the discovery image again.
    ResettingPendingUserAction,
    /// Unbound before it was installed; waits for its agent to register again.
    Unbinding,
    /// Unbound after its installation began; waits for the user to boot the discovery image.
    UnbindingPendingUserAction,
    /// An installed node that returns to its InfraEnv: it downloads its next boot artifacts.
    Reclaiming,
    /// It reboots into discovery.
    ReclaimingRebooting,
}

/// The reason to conclude that a host did not boot from its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotBooted {
    /// The reboot took too long.
    TooSlow,
    /// The discovery image came up again and registered.
    DiscoveryImage,
}

/// Groups of states, which suffice for most rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// In no cluster: `*-unbound`.
    Unbound,
    /// In a cluster and not installed yet.
    PreInstall,
    /// From the install step to the end of the installation.
    Installing,
    /// The installation has succeeded, failed, or was cancelled.
    Ended,
    /// Between cluster and pool: waits for the agent or the user, and is not evaluated meanwhile.
    Moving,
}

impl HostState {
    /// One of each, for tables and tests.
    pub fn one_of_each() -> Vec<Self> {
        vec![
            Self::DiscoveringUnbound,
            Self::InsufficientUnbound { failed: Vec::new() },
            Self::KnownUnbound,
            Self::DisconnectedUnbound,
            Self::Binding,
            Self::Discovering,
            Self::Insufficient { failed: Vec::new() },
            Self::PendingForInput { failed: Vec::new() },
            Self::Known,
            Self::Disconnected,
            Self::Installing,
            Self::InstallingInProgress,
            Self::InstallingPendingUserAction {
                why: NotBooted::TooSlow,
            },
            Self::AddedToExistingCluster,
            Self::Error,
            Self::Cancelled,
            Self::ResettingPendingUserAction,
            Self::Unbinding,
            Self::UnbindingPendingUserAction,
            Self::Reclaiming,
            Self::ReclaimingRebooting,
        ]
    }

    /// The name on the wire.
    pub fn status(&self) -> HostStatus {
        match self {
            Self::DiscoveringUnbound => HostStatus::DiscoveringUnbound,
            Self::KnownUnbound => HostStatus::KnownUnbound,
            Self::InsufficientUnbound { .. } => HostStatus::InsufficientUnbound,
            Self::DisconnectedUnbound => HostStatus::DisconnectedUnbound,
            Self::Binding => HostStatus::Binding,
            Self::Discovering => HostStatus::Discovering,
            Self::Known => HostStatus::Known,
            Self::Insufficient { .. } => HostStatus::Insufficient,
            Self::PendingForInput { .. } => HostStatus::PendingForInput,
            Self::Disconnected => HostStatus::Disconnected,
            Self::Installing => HostStatus::Installing,
            Self::InstallingInProgress => HostStatus::InstallingInProgress,
            Self::InstallingPendingUserAction { .. } => HostStatus::InstallingPendingUserAction,
            Self::AddedToExistingCluster => HostStatus::AddedToExistingCluster,
            Self::Error => HostStatus::Error,
            Self::Cancelled => HostStatus::Cancelled,
            Self::ResettingPendingUserAction => HostStatus::ResettingPendingUserAction,
            Self::Unbinding => HostStatus::Unbinding,
            Self::UnbindingPendingUserAction => HostStatus::UnbindingPendingUserAction,
            Self::Reclaiming => HostStatus::Reclaiming,
            Self::ReclaimingRebooting => HostStatus::ReclaimingRebooting,
        }
    }

    pub fn phase(&self) -> Phase {
        match self {
            Self::DiscoveringUnbound
            | Self::KnownUnbound
            | Self::InsufficientUnbound { .. }
            | Self::DisconnectedUnbound => Phase::Unbound,
            Self::Discovering
            | Self::Known
            | Self::Insufficient { .. }
            | Self::PendingForInput { .. }
            | Self::Disconnected => Phase::PreInstall,
            Self::Installing | Self::InstallingInProgress | Self::InstallingPendingUserAction { .. } => {
                Phase::Installing
            }
            Self::AddedToExistingCluster | Self::Error | Self::Cancelled => Phase::Ended,
            Self::Binding
            | Self::ResettingPendingUserAction
            | Self::Unbinding
            | Self::UnbindingPendingUserAction
            | Self::Reclaiming
            | Self::ReclaimingRebooting => Phase::Moving,
        }
    }

    /// True until the installation begins: settings of a user still take effect.
    pub fn takes_settings(&self) -> bool {
        match self.phase() {
            Phase::Unbound | Phase::PreInstall => true,
            Phase::Moving => *self == Self::Binding,
            Phase::Installing | Phase::Ended => false,
        }
    }

    /// True on the way out of a cluster.
    pub fn is_leaving(&self) -> bool {
        matches!(
            self,
            Self::Unbinding | Self::UnbindingPendingUserAction | Self::Reclaiming | Self::ReclaimingRebooting
        )
    }

    /// True if the next poll brings the host back, so that it must be reported as
    /// ([`HostEvent::CheckedIn`](crate::lifecycle::host::HostEvent)).
    pub fn waits_for_poll(&self) -> bool {
        matches!(self, Self::DisconnectedUnbound | Self::Disconnected)
    }
}
