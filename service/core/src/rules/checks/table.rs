//! The rule of each check. Source: docs/protocol/host-validations.tsv.

use super::context::CheckContext;
use super::hardware::{agent, capacity, disks, encryption, hostname, inventory, platform, vsphere};
use super::network::{connection, domains, ignition, images, quality, routes, subnets, time};
use super::new_clusters;
use super::verdict::Verdict;
use crate::record::CheckId;

/// Category of checks of the machine itself.
const HARDWARE: &str = "hardware";
/// Category of checks of the machine's surroundings.
const NETWORK: &str = "network";
/// Category of checks for add-on operators.
pub(super) const OPERATORS: &str = "operators";

/// Checks that a host must pass to become `known-unbound` (docs/protocol/host-lifecycle.md#4, rules 36 and 38).
pub(super) const UNBOUND_GATE: [CheckId; 4] = [
    CheckId::HasMinCpuCores,
    CheckId::HasMinMemory,
    CheckId::HasMinValidDisks,
    CheckId::HostnameValid,
];

impl CheckId {
    /// `hardware`, `network` or `operators`.
    pub fn category(self) -> &'static str {
        rule_of(self).category
    }

    /// The state that a host of a cluster reaches only when this check passes.
    pub fn gate(self) -> Gate {
        rule_of(self).gate
    }
}

/// The rule of a check.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) category: &'static str,
    pub(super) gate: Gate,
    pub(super) shown: Shown,
    pub(super) verdict: fn(&CheckContext<'_>) -> Verdict,
}

/// The state that a host of a cluster reaches only when the check passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// `known`.
    Known,
    /// Everything beyond `insufficient`: a minimum of hardware.
    MinHardware,
    /// Everything beyond `pending-for-input`.
    Input,
    /// None, or a gate of its own.
    Apart,
}

/// The part of a host's life in which a check is shown.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    Always,
    /// Until the host reboots into the installed system.
    UntilReboot,
    BeforeInstallation,
}

impl Rule {
    const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }
}

const fn rule(category: &'static str, gate: Gate, verdict: fn(&CheckContext<'_>) -> Verdict) -> Rule {
    Rule {
        category,
        gate,
        shown: Shown::Always,
        verdict,
    }
}

const fn hardware(gate: Gate, verdict: fn(&CheckContext<'_>) -> Verdict) -> Rule {
    rule(HARDWARE, gate, verdict)
}

const fn network(gate: Gate, verdict: fn(&CheckContext<'_>) -> Verdict) -> Rule {
    rule(NETWORK, gate, verdict)
}

/// The rule of `check`.
pub(super) const fn rule_of(check: CheckId) -> Rule {
    use CheckId as C;
    use Gate::{Apart, Input, Known, MinHardware};

    match check {
        C::HasInventory => hardware(Apart, inventory::has_inventory),
        C::InventoryNotPartiallyTruncated => hardware(Apart, inventory::not_partially_truncated),
        C::InventoryNotFullyTruncated => hardware(Apart, inventory::not_fully_truncated),
        C::HasMinCpuCores => hardware(MinHardware, capacity::min_cpu_cores),
        C::HasMinMemory => hardware(MinHardware, capacity::min_memory),
        C::HasMinValidDisks => hardware(MinHardware, disks::min_valid_disks),
        C::HasCpuCoresForRole => hardware(Known, capacity::cpu_cores_for_role),
        C::HasMemoryForRole => hardware(Known, capacity::memory_for_role),
        C::HostnameUnique => hardware(Known, hostname::unique),
        C::HostnameValid => hardware(Known, hostname::valid),
        C::SufficientInstallationDiskSpeed => hardware(Known, disks::speed),
        C::CompatibleWithClusterPlatform => hardware(MinHardware, platform::compatible),
        C::DiskEncryptionRequirementsSatisfied => hardware(MinHardware, encryption::satisfied),
        C::VsphereDiskUuidEnabled => hardware(Apart, vsphere::disk_uuid),
        C::CompatibleAgent => hardware(Known, agent::compatible).shown(Shown::BeforeInstallation),
        C::NoSkipInstallationDisk => hardware(Known, disks::installation_disk_not_skipped),
        C::NoSkipMissingDisk => hardware(Known, disks::skipped_disks_exist),
        C::Connected => network(Apart, connection::connected).shown(Shown::UntilReboot),
        C::MediaConnected => network(Apart, connection::media_connected).shown(Shown::UntilReboot),
        C::MachineCidrDefined => network(Input, new_clusters::machine_network_defined),
        C::BelongsToMachineCidr => network(Known, new_clusters::belongs_to_machine_network),
        C::IgnitionDownloadable => network(Known, ignition::downloadable),
        C::BelongsToMajorityGroup => network(Known, new_clusters::belongs_to_majority),
        C::MtuValid => network(Apart, new_clusters::mtu_valid),
        C::ValidPlatformNetworkSettings => network(Known, platform::network_settings),
        C::NtpSynced => network(Apart, time::ntp_synced).shown(Shown::UntilReboot),
        C::TimeSyncedBetweenHostAndService => network(Known, time::clocks_agree).shown(Shown::UntilReboot),
        C::ContainerImagesAvailable => network(Apart, images::available),
        C::SufficientNetworkLatencyRequirementForRole => network(Known, quality::latency),
        C::SufficientPacketLossRequirementForRole => network(Known, quality::packet_loss),
        C::HasDefaultRoute => network(Known, routes::default_route),
        C::ApiDomainNameResolvedCorrectly => network(Known, domains::api),
        C::ApiIntDomainNameResolvedCorrectly => network(Known, domains::api_int),
        C::AppsDomainNameResolvedCorrectly => network(Known, domains::apps),
        C::DnsWildcardNotConfigured => network(Known, new_clusters::no_wildcard),
        C::NonOverlappingSubnets => network(Known, subnets::do_not_overlap),
        C::NoIpCollisionsInNetwork => network(Known, new_clusters::no_ip_collisions),
        C::NoIscsiNicBelongsToMachineCidr => network(Known, new_clusters::no_iscsi_nic_in_machine_network),
        C::AmdGpuRequirementsSatisfied
        | C::AuthorinoRequirementsSatisfied
        | C::ClusterObservabilityRequirementsSatisfied
        | C::CnvRequirementsSatisfied
        | C::FenceAgentsRemediationRequirementsSatisfied
        | C::KmmRequirementsSatisfied
        | C::KubeDeschedulerRequirementsSatisfied
        | C::LokiRequirementsSatisfied
        | C::LsoRequirementsSatisfied
        | C::LvmRequirementsSatisfied
        | C::MceRequirementsSatisfied
        | C::MetallbRequirementsSatisfied
        | C::MtvRequirementsSatisfied
        | C::NmstateRequirementsSatisfied
        | C::NodeFeatureDiscoveryRequirementsSatisfied
        | C::NodeHealthcheckRequirementsSatisfied
        | C::NodeMaintenanceRequirementsSatisfied
        | C::NumaResourcesRequirementsSatisfied
        | C::NvidiaGpuRequirementsSatisfied
        | C::OadpRequirementsSatisfied
        | C::OdfRequirementsSatisfied
        | C::OpenshiftAiRequirementsSatisfied
        | C::OpenshiftLoggingRequirementsSatisfied
        | C::OscRequirementsSatisfied
        | C::PipelinesRequirementsSatisfied
        | C::SelfNodeRemediationRequirementsSatisfied
        | C::ServerlessRequirementsSatisfied
        | C::ServicemeshRequirementsSatisfied => rule(OPERATORS, Known, new_clusters::operator),
    }
}
