//! Names the checks of a host. Source: docs/protocol/host-validations.tsv.

use serde::{Deserialize, Deserializer, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

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

    /// The name on the wire.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The check with this name on the wire.
    pub fn from_id(id: &str) -> Option<Self> {
        id.parse().ok()
    }
}

/// Reads a list of ids, and drops those of checks that no longer exist.
pub(crate) fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CheckId>, D::Error> {
    let ids = Vec::<String>::deserialize(deserializer)?;
    Ok(ids.iter().filter_map(|id| CheckId::from_id(id)).collect())
}
