//! Which checks there are.

use super::Verdict;
use super::look::{Look, View};
use super::table::{self, Gate, ROWS, Shown, TABLE};
use crate::cluster::ignored::NEVER_IGNORED;
use crate::validate::OPERATORS;

/// The checks, in the order in which they are shown within their category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    missing_docs,
    reason = "`id` gives the protocol's name, the family's file says what is checked"
)]
pub enum CheckId {
    HasInventory,
    InventoryNotPartiallyTruncated,
    InventoryNotFullyTruncated,
    HasMinCpuCores,
    HasMinMemory,
    HasMinValidDisks,
    HasCpuCoresForRole,
    HasMemoryForRole,
    HostnameUnique,
    HostnameValid,
    SufficientInstallationDiskSpeed,
    CompatibleWithClusterPlatform,
    DiskEncryptionRequirementsSatisfied,
    VsphereDiskUuidEnabled,
    CompatibleAgent,
    NoSkipInstallationDisk,
    NoSkipMissingDisk,
    Connected,
    MediaConnected,
    MachineCidrDefined,
    BelongsToMachineCidr,
    IgnitionDownloadable,
    BelongsToMajorityGroup,
    MtuValid,
    ValidPlatformNetworkSettings,
    NtpSynced,
    TimeSynced,
    ContainerImagesAvailable,
    SufficientNetworkLatency,
    SufficientPacketLoss,
    HasDefaultRoute,
    ApiDomainNameResolved,
    ApiIntDomainNameResolved,
    AppsDomainNameResolved,
    DnsWildcardNotConfigured,
    NonOverlappingSubnets,
    NoIpCollisions,
    NoIscsiNicInMachineCidr,
    AmdGpu,
    Authorino,
    ClusterObservability,
    Cnv,
    FenceAgentsRemediation,
    Kmm,
    KubeDescheduler,
    Loki,
    Lso,
    Lvm,
    Mce,
    Metallb,
    Mtv,
    Nmstate,
    NodeFeatureDiscovery,
    NodeHealthcheck,
    NodeMaintenance,
    NumaResources,
    NvidiaGpu,
    Oadp,
    Odf,
    OpenshiftAi,
    OpenshiftLogging,
    Osc,
    Pipelines,
    SelfNodeRemediation,
    Serverless,
    Servicemesh,
}

impl CheckId {
    /// All, in the order of the table.
    pub const ALL: [Self; ROWS.len()] = table::all();

    /// Those that a host of the pool must pass to be known (docs/protocol/host-lifecycle.md#4, rules 36 and 38).
    pub const POOL_GATE: [Self; 4] = [
        Self::HasMinCpuCores,
        Self::HasMinMemory,
        Self::HasMinValidDisks,
        Self::HostnameValid,
    ];

    /// Minimum hardware of bound hosts (rules 27 to 30).
    pub const MIN_HARDWARE: [Self; table::count(Gate::MinHardware)] = table::with(Gate::MinHardware);

    /// What only users can tell (rules 28 to 30).
    pub const INPUT: [Self; table::count(Gate::Input)] = table::with(Gate::Input);

    /// Those that a bound host must pass to be known (rules 29 to 31).
    pub const BOUND_GATE: [Self; table::count(Gate::Known)] = table::with(Gate::Known);

    /// The name on the wire.
    pub fn id(self) -> &'static str {
        TABLE[self as usize].id
    }

    /// The check with this name on the wire.
    pub fn from_id(id: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.id == id).map(|row| row.check)
    }

    /// [`HARDWARE`](super::HARDWARE), [`NETWORK`](super::NETWORK) or [`OPERATORS`].
    pub fn category(self) -> &'static str {
        TABLE[self as usize].category
    }

    /// Whether users of a cluster may ignore it. Source: docs/protocol/host-lifecycle.md#4.
    pub fn is_ignorable(self) -> bool {
        !NEVER_IGNORED.contains(&self.id())
    }

    /// The verdict about a host.
    pub fn check(self, look: &Look<'_>) -> Verdict {
        self.verdict(&View::new(*look))
    }

    pub(super) fn verdict(self, view: &View<'_>) -> Verdict {
        let row = &TABLE[self as usize];
        let is_over = match row.shown {
            Shown::Always => false,
            Shown::UntilReboot => view.is_late(),
            Shown::BeforeInstallation => !view.stage().is_empty(),
        };
        if is_over {
            return Verdict::Hidden;
        }
        match (row.judge)(view) {
            Verdict::Hidden => Verdict::Hidden,
            _ if self.is_disabled(view) => Verdict::Disabled(
                "Switched off in the settings of this service, so it counts as passed".into(),
            ),
            verdict => verdict,
        }
    }

    /// The service's own list counts only where the cluster ignores nothing by itself, and never for operators.
    fn is_disabled(self, look: &Look<'_>) -> bool {
        look.facts.requirements.disabled_checks.contains(&self)
            && self.category() != OPERATORS
            && look
                .bound()
                .is_none_or(|bound| bound.data().ignored_host_validations.is_empty())
    }
}
