//! Names the checks of a host. Source: docs/protocol/host-validations.tsv.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::Verdict;
use super::look::{Look, View};
use super::table::{Gate, Shown, rule_of};
use crate::cluster::ignored::NEVER_IGNORED;
use crate::validate::OPERATORS;

/// The checks, in the order in which they are shown within their category: those of hardware and network in the order of the
/// protocol, those of operators by name. On the wire they have these names in kebab-case.
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
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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
    TimeSyncedBetweenHostAndService,
    ContainerImagesAvailable,
    SufficientNetworkLatencyRequirementForRole,
    SufficientPacketLossRequirementForRole,
    HasDefaultRoute,
    ApiDomainNameResolvedCorrectly,
    ApiIntDomainNameResolvedCorrectly,
    AppsDomainNameResolvedCorrectly,
    DnsWildcardNotConfigured,
    NonOverlappingSubnets,
    NoIpCollisionsInNetwork,
    NoIscsiNicBelongsToMachineCidr,
    AmdGpuRequirementsSatisfied,
    AuthorinoRequirementsSatisfied,
    ClusterObservabilityRequirementsSatisfied,
    CnvRequirementsSatisfied,
    FenceAgentsRemediationRequirementsSatisfied,
    KmmRequirementsSatisfied,
    KubeDeschedulerRequirementsSatisfied,
    LokiRequirementsSatisfied,
    LsoRequirementsSatisfied,
    LvmRequirementsSatisfied,
    MceRequirementsSatisfied,
    MetallbRequirementsSatisfied,
    MtvRequirementsSatisfied,
    NmstateRequirementsSatisfied,
    NodeFeatureDiscoveryRequirementsSatisfied,
    NodeHealthcheckRequirementsSatisfied,
    NodeMaintenanceRequirementsSatisfied,
    NumaResourcesRequirementsSatisfied,
    NvidiaGpuRequirementsSatisfied,
    OadpRequirementsSatisfied,
    OdfRequirementsSatisfied,
    OpenshiftAiRequirementsSatisfied,
    OpenshiftLoggingRequirementsSatisfied,
    OscRequirementsSatisfied,
    PipelinesRequirementsSatisfied,
    SelfNodeRemediationRequirementsSatisfied,
    ServerlessRequirementsSatisfied,
    ServicemeshRequirementsSatisfied,
}

impl CheckId {
    /// All checks, in their order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Those that a host of the pool must pass to be known (docs/protocol/host-lifecycle.md#4, rules 36 and 38).
    pub const POOL_GATE: [Self; 4] = [
        Self::HasMinCpuCores,
        Self::HasMinMemory,
        Self::HasMinValidDisks,
        Self::HostnameValid,
    ];

    /// The name on the wire.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The check with this name on the wire.
    pub fn from_id(id: &str) -> Option<Self> {
        id.parse().ok()
    }

    /// [`HARDWARE`](super::HARDWARE), [`NETWORK`](super::NETWORK) or [`OPERATORS`].
    pub fn category(self) -> &'static str {
        rule_of(self).category
    }

    /// The state that a host of a cluster reaches only when this check passes.
    pub fn gate(self) -> Gate {
        rule_of(self).gate
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
        let rule = rule_of(self);
        let is_over = match rule.shown {
            Shown::Always => false,
            Shown::UntilReboot => view.is_late(),
            Shown::BeforeInstallation => !view.stage().is_empty(),
        };
        if is_over {
            return Verdict::Hidden;
        }
        match (rule.verdict)(view) {
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
