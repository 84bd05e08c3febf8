//! The checks of a host of the pool: facts in, verdicts out. One family a file. Source: host-validations.tsv, column `unbound`.
//!
//! Texts say what is wrong and what to do. They hold no moment, so that an unchanged host keeps an unchanged record.

mod agent;
mod capacity;
mod connection;
mod disks;
mod hostname;
mod images;
mod inventory;
mod network;
mod platform;
mod time;

use muster_api::inventory::Inventory;
use muster_api::time::Timestamp;
use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};

use crate::host::{Host, HostFacts};

/// Category of checks of the machine itself.
pub const HARDWARE: &str = "hardware";
/// Category of checks of the machine's surroundings.
pub const NETWORK: &str = "network";

/// The checks, in the order in which they are shown within their category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    HostnameValid,
    SufficientInstallationDiskSpeed,
    CompatibleAgent,
    NoSkipInstallationDisk,
    NoSkipMissingDisk,
    Connected,
    MediaConnected,
    ValidPlatformNetworkSettings,
    NtpSynced,
    TimeSynced,
    ContainerImagesAvailable,
    HasDefaultRoute,
    NoIpCollisions,
}

impl CheckId {
    /// All, in the order of the table.
    pub const ALL: [Self; 21] = [
        Self::HasInventory,
        Self::InventoryNotPartiallyTruncated,
        Self::InventoryNotFullyTruncated,
        Self::HasMinCpuCores,
        Self::HasMinMemory,
        Self::HasMinValidDisks,
        Self::HasCpuCoresForRole,
        Self::HasMemoryForRole,
        Self::HostnameValid,
        Self::SufficientInstallationDiskSpeed,
        Self::CompatibleAgent,
        Self::NoSkipInstallationDisk,
        Self::NoSkipMissingDisk,
        Self::Connected,
        Self::MediaConnected,
        Self::ValidPlatformNetworkSettings,
        Self::NtpSynced,
        Self::TimeSynced,
        Self::ContainerImagesAvailable,
        Self::HasDefaultRoute,
        Self::NoIpCollisions,
    ];

    /// Those that a host of the pool must pass to be known (host-lifecycle.md §4, rules 36 and 38).
    pub const POOL_GATE: [Self; 4] = [
        Self::HasMinCpuCores,
        Self::HasMinMemory,
        Self::HasMinValidDisks,
        Self::HostnameValid,
    ];

    /// The name on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::HasInventory => "has-inventory",
            Self::InventoryNotPartiallyTruncated => "inventory-not-partially-truncated",
            Self::InventoryNotFullyTruncated => "inventory-not-fully-truncated",
            Self::HasMinCpuCores => "has-min-cpu-cores",
            Self::HasMinMemory => "has-min-memory",
            Self::HasMinValidDisks => "has-min-valid-disks",
            Self::HasCpuCoresForRole => "has-cpu-cores-for-role",
            Self::HasMemoryForRole => "has-memory-for-role",
            Self::HostnameValid => "hostname-valid",
            Self::SufficientInstallationDiskSpeed => "sufficient-installation-disk-speed",
            Self::CompatibleAgent => "compatible-agent",
            Self::NoSkipInstallationDisk => "no-skip-installation-disk",
            Self::NoSkipMissingDisk => "no-skip-missing-disk",
            Self::Connected => "connected",
            Self::MediaConnected => "media-connected",
            Self::ValidPlatformNetworkSettings => "valid-platform-network-settings",
            Self::NtpSynced => "ntp-synced",
            Self::TimeSynced => "time-synced-between-host-and-service",
            Self::ContainerImagesAvailable => "container-images-available",
            Self::HasDefaultRoute => "has-default-route",
            Self::NoIpCollisions => "no-ip-collisions-in-network",
        }
    }

    /// [`HARDWARE`] or [`NETWORK`].
    pub fn category(self) -> &'static str {
        match self {
            Self::HasInventory
            | Self::InventoryNotPartiallyTruncated
            | Self::InventoryNotFullyTruncated
            | Self::HasMinCpuCores
            | Self::HasMinMemory
            | Self::HasMinValidDisks
            | Self::HasCpuCoresForRole
            | Self::HasMemoryForRole
            | Self::HostnameValid
            | Self::SufficientInstallationDiskSpeed
            | Self::CompatibleAgent
            | Self::NoSkipInstallationDisk
            | Self::NoSkipMissingDisk => HARDWARE,
            Self::Connected
            | Self::MediaConnected
            | Self::ValidPlatformNetworkSettings
            | Self::NtpSynced
            | Self::TimeSynced
            | Self::ContainerImagesAvailable
            | Self::HasDefaultRoute
            | Self::NoIpCollisions => NETWORK,
        }
    }

    /// The verdict about a host.
    pub fn check(self, look: &Look<'_>) -> Verdict {
        match self {
            Self::HasInventory => inventory::has_inventory(look),
            Self::InventoryNotPartiallyTruncated => inventory::not_partially_truncated(look),
            Self::InventoryNotFullyTruncated => inventory::not_fully_truncated(look),
            Self::HasMinCpuCores => capacity::min_cpu_cores(look),
            Self::HasMinMemory => capacity::min_memory(look),
            Self::HasMinValidDisks => disks::min_valid_disks(look),
            Self::HasCpuCoresForRole => capacity::cpu_cores_for_role(look),
            Self::HasMemoryForRole => capacity::memory_for_role(look),
            Self::HostnameValid => hostname::valid(look),
            Self::SufficientInstallationDiskSpeed => disks::speed(look),
            Self::CompatibleAgent => agent::compatible(look),
            Self::NoSkipInstallationDisk => disks::installation_disk_not_skipped(look),
            Self::NoSkipMissingDisk => disks::skipped_disks_exist(look),
            Self::Connected => connection::connected(look),
            Self::MediaConnected => connection::media_connected(look),
            Self::ValidPlatformNetworkSettings => platform::network_settings(look),
            Self::NtpSynced => time::ntp_synced(look),
            Self::TimeSynced => time::clocks_agree(look),
            Self::ContainerImagesAvailable => images::available(look),
            Self::HasDefaultRoute => network::default_route(look),
            Self::NoIpCollisions => network::no_ip_collisions(look),
        }
    }
}

/// The least that a host of a cluster must be: without it, nothing else is looked at.
pub fn least_hardware() -> &'static [CheckId] {
    &[
        CheckId::HasMinCpuCores,
        CheckId::HasMinMemory,
        CheckId::HasMinValidDisks,
    ]
}

/// What waits for a user's input.
pub fn input() -> &'static [CheckId] {
    &[]
}

/// Those that a host of a cluster must pass to be known, beside [`least_hardware`] and [`input`].
pub fn bound_gate() -> &'static [CheckId] {
    &[
        CheckId::HasCpuCoresForRole,
        CheckId::HasMemoryForRole,
        CheckId::HostnameValid,
        CheckId::SufficientInstallationDiskSpeed,
        CheckId::CompatibleAgent,
        CheckId::NoSkipInstallationDisk,
        CheckId::NoSkipMissingDisk,
        CheckId::ValidPlatformNetworkSettings,
        CheckId::TimeSynced,
        CheckId::HasDefaultRoute,
        CheckId::NoIpCollisions,
    ]
}

/// What a check looks at.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The host.
    pub host: &'a Host,
    /// What is known around it.
    pub facts: &'a HostFacts<'a>,
    /// The present moment.
    pub now: Timestamp,
}

impl<'a> Look<'a> {
    fn inventory(&self) -> Option<&'a Inventory> {
        self.host.inventory.as_ref()
    }
}

/// How a check came out, with a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Success(String),
    /// Not as it should be.
    Failure(String),
    /// Cannot be said yet.
    Pending(String),
    /// Cannot be said because what the host tells makes no sense.
    Error(String),
    /// Does not apply to this host, so it is not shown and counts as passed.
    Hidden,
}

/// The verdict while there is no inventory.
fn no_inventory() -> Verdict {
    Verdict::Pending("Waits for the host's inventory".into())
}

/// All checks, as they are stored and shown.
pub fn evaluate(look: &Look<'_>) -> ValidationsInfo {
    let mut info = ValidationsInfo::new();
    for check in CheckId::ALL {
        let (status, message) = match check.check(look) {
            Verdict::Success(message) => (ValidationStatus::Success, message),
            Verdict::Failure(message) => (ValidationStatus::Failure, message),
            Verdict::Pending(message) => (ValidationStatus::Pending, message),
            Verdict::Error(message) => (ValidationStatus::Error, message),
            Verdict::Hidden => continue,
        };
        info.entry(check.category().to_owned())
            .or_default()
            .push(ValidationResult {
                id: check.id().to_owned(),
                status,
                message,
            });
    }
    info
}

/// The stored row of a check; `None` when it is hidden or was never made.
pub fn find<'a>(info: &'a ValidationsInfo, id: &str) -> Option<&'a ValidationResult> {
    info.values().flatten().find(|row| row.id == id)
}

/// Whether a check stands in nobody's way: passed or hidden.
pub fn holds(info: &ValidationsInfo, check: CheckId) -> bool {
    find(info, check.id()).is_none_or(|row| match row.status {
        ValidationStatus::Success | ValidationStatus::Disabled => true,
        ValidationStatus::Failure | ValidationStatus::Pending | ValidationStatus::Error => false,
    })
}
