//! The table of all checks. Source: docs/protocol/host-validations.tsv; rows of hardware and network in its order, operators by id.

use super::check_id::CheckId;
use super::look::View;
use super::operators::{self, Operator};
use super::{
    HARDWARE, NETWORK, OPERATORS, Verdict, agent, capacity, connection, disks, domains, encryption, hostname,
    ignition, images, inventory, iscsi, machine_network, majority, mtu, network, platform, quality, subnets,
    time, vsphere,
};

/// A check.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) check: CheckId,
    pub(super) id: &'static str,
    pub(super) category: &'static str,
    pub(super) gate: Gate,
    pub(super) shown: Shown,
    pub(super) judge: fn(&View<'_>) -> Verdict,
}

/// What a bound host must pass it for.
#[derive(Clone, Copy)]
pub(super) enum Gate {
    /// To be known.
    Known,
    /// To have a minimum of hardware.
    MinHardware,
    /// To have all that users must say.
    Input,
    /// It matters by a rule of its own, or not at all.
    Apart,
}

/// When it is shown.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    /// In every stage.
    Always,
    /// Not any more when the host reboots into what was installed.
    UntilReboot,
    /// Not during installation.
    BeforeInstallation,
}

const fn row(
    check: CheckId,
    id: &'static str,
    category: &'static str,
    gate: Gate,
    judge: fn(&View<'_>) -> Verdict,
) -> Row {
    Row {
        check,
        id,
        category,
        gate,
        shown: match check {
            CheckId::Connected | CheckId::MediaConnected | CheckId::NtpSynced | CheckId::TimeSynced => {
                Shown::UntilReboot
            }
            CheckId::CompatibleAgent => Shown::BeforeInstallation,
            _ => Shown::Always,
        },
        judge,
    }
}

const fn operator(check: CheckId, id: &'static str, judge: fn(&View<'_>) -> Verdict) -> Row {
    row(check, id, OPERATORS, Gate::Known, judge)
}

/// The table, for constants.
pub(super) const ROWS: [Row; 66] = [
    row(
        CheckId::HasInventory,
        "has-inventory",
        HARDWARE,
        Gate::Apart,
        inventory::has_inventory,
    ),
    row(
        CheckId::InventoryNotPartiallyTruncated,
        "inventory-not-partially-truncated",
        HARDWARE,
        Gate::Apart,
        inventory::not_partially_truncated,
    ),
    row(
        CheckId::InventoryNotFullyTruncated,
        "inventory-not-fully-truncated",
        HARDWARE,
        Gate::Apart,
        inventory::not_fully_truncated,
    ),
    row(
        CheckId::HasMinCpuCores,
        "has-min-cpu-cores",
        HARDWARE,
        Gate::MinHardware,
        capacity::min_cpu_cores,
    ),
    row(
        CheckId::HasMinMemory,
        "has-min-memory",
        HARDWARE,
        Gate::MinHardware,
        capacity::min_memory,
    ),
    row(
        CheckId::HasMinValidDisks,
        "has-min-valid-disks",
        HARDWARE,
        Gate::MinHardware,
        disks::min_valid_disks,
    ),
    row(
        CheckId::HasCpuCoresForRole,
        "has-cpu-cores-for-role",
        HARDWARE,
        Gate::Known,
        capacity::cpu_cores_for_role,
    ),
    row(
        CheckId::HasMemoryForRole,
        "has-memory-for-role",
        HARDWARE,
        Gate::Known,
        capacity::memory_for_role,
    ),
    row(
        CheckId::HostnameUnique,
        "hostname-unique",
        HARDWARE,
        Gate::Known,
        hostname::unique,
    ),
    row(
        CheckId::HostnameValid,
        "hostname-valid",
        HARDWARE,
        Gate::Known,
        hostname::valid,
    ),
    row(
        CheckId::SufficientInstallationDiskSpeed,
        "sufficient-installation-disk-speed",
        HARDWARE,
        Gate::Known,
        disks::speed,
    ),
    row(
        CheckId::CompatibleWithClusterPlatform,
        "compatible-with-cluster-platform",
        HARDWARE,
        Gate::MinHardware,
        platform::compatible,
    ),
    row(
        CheckId::DiskEncryptionRequirementsSatisfied,
        "disk-encryption-requirements-satisfied",
        HARDWARE,
        Gate::MinHardware,
        encryption::satisfied,
    ),
    row(
        CheckId::VsphereDiskUuidEnabled,
        "vsphere-disk-uuid-enabled",
        HARDWARE,
        Gate::Apart,
        vsphere::disk_uuid,
    ),
    row(
        CheckId::CompatibleAgent,
        "compatible-agent",
        HARDWARE,
        Gate::Known,
        agent::compatible,
    ),
    row(
        CheckId::NoSkipInstallationDisk,
        "no-skip-installation-disk",
        HARDWARE,
        Gate::Known,
        disks::installation_disk_not_skipped,
    ),
    row(
        CheckId::NoSkipMissingDisk,
        "no-skip-missing-disk",
        HARDWARE,
        Gate::Known,
        disks::skipped_disks_exist,
    ),
    row(
        CheckId::Connected,
        "connected",
        NETWORK,
        Gate::Apart,
        connection::connected,
    ),
    row(
        CheckId::MediaConnected,
        "media-connected",
        NETWORK,
        Gate::Apart,
        connection::media_connected,
    ),
    row(
        CheckId::MachineCidrDefined,
        "machine-cidr-defined",
        NETWORK,
        Gate::Input,
        machine_network::defined,
    ),
    row(
        CheckId::BelongsToMachineCidr,
        "belongs-to-machine-cidr",
        NETWORK,
        Gate::Known,
        machine_network::belongs,
    ),
    row(
        CheckId::IgnitionDownloadable,
        "ignition-downloadable",
        NETWORK,
        Gate::Known,
        ignition::downloadable,
    ),
    row(
        CheckId::BelongsToMajorityGroup,
        "belongs-to-majority-group",
        NETWORK,
        Gate::Known,
        majority::belongs,
    ),
    row(CheckId::MtuValid, "mtu-valid", NETWORK, Gate::Apart, mtu::valid),
    row(
        CheckId::ValidPlatformNetworkSettings,
        "valid-platform-network-settings",
        NETWORK,
        Gate::Known,
        platform::network_settings,
    ),
    row(
        CheckId::NtpSynced,
        "ntp-synced",
        NETWORK,
        Gate::Apart,
        time::ntp_synced,
    ),
    row(
        CheckId::TimeSynced,
        "time-synced-between-host-and-service",
        NETWORK,
        Gate::Known,
        time::clocks_agree,
    ),
    row(
        CheckId::ContainerImagesAvailable,
        "container-images-available",
        NETWORK,
        Gate::Apart,
        images::available,
    ),
    row(
        CheckId::SufficientNetworkLatency,
        "sufficient-network-latency-requirement-for-role",
        NETWORK,
        Gate::Known,
        quality::latency,
    ),
    row(
        CheckId::SufficientPacketLoss,
        "sufficient-packet-loss-requirement-for-role",
        NETWORK,
        Gate::Known,
        quality::packet_loss,
    ),
    row(
        CheckId::HasDefaultRoute,
        "has-default-route",
        NETWORK,
        Gate::Known,
        network::default_route,
    ),
    row(
        CheckId::ApiDomainNameResolved,
        "api-domain-name-resolved-correctly",
        NETWORK,
        Gate::Known,
        domains::api,
    ),
    row(
        CheckId::ApiIntDomainNameResolved,
        "api-int-domain-name-resolved-correctly",
        NETWORK,
        Gate::Known,
        domains::api_int,
    ),
    row(
        CheckId::AppsDomainNameResolved,
        "apps-domain-name-resolved-correctly",
        NETWORK,
        Gate::Known,
        domains::apps,
    ),
    row(
        CheckId::DnsWildcardNotConfigured,
        "dns-wildcard-not-configured",
        NETWORK,
        Gate::Known,
        domains::no_wildcard,
    ),
    row(
        CheckId::NonOverlappingSubnets,
        "non-overlapping-subnets",
        NETWORK,
        Gate::Known,
        subnets::do_not_overlap,
    ),
    row(
        CheckId::NoIpCollisions,
        "no-ip-collisions-in-network",
        NETWORK,
        Gate::Known,
        network::no_ip_collisions,
    ),
    row(
        CheckId::NoIscsiNicInMachineCidr,
        "no-iscsi-nic-belongs-to-machine-cidr",
        NETWORK,
        Gate::Known,
        iscsi::no_nic_in_machine_network,
    ),
    operator(CheckId::AmdGpu, "amd-gpu-requirements-satisfied", |view| {
        operators::judge(Operator::AmdGpu, view)
    }),
    operator(CheckId::Authorino, "authorino-requirements-satisfied", |view| {
        operators::judge(Operator::Authorino, view)
    }),
    operator(
        CheckId::ClusterObservability,
        "cluster-observability-requirements-satisfied",
        |view| operators::judge(Operator::ClusterObservability, view),
    ),
    operator(CheckId::Cnv, "cnv-requirements-satisfied", |view| {
        operators::judge(Operator::Cnv, view)
    }),
    operator(
        CheckId::FenceAgentsRemediation,
        "fence-agents-remediation-requirements-satisfied",
        |view| operators::judge(Operator::FenceAgentsRemediation, view),
    ),
    operator(CheckId::Kmm, "kmm-requirements-satisfied", |view| {
        operators::judge(Operator::Kmm, view)
    }),
    operator(
        CheckId::KubeDescheduler,
        "kube-descheduler-requirements-satisfied",
        |view| operators::judge(Operator::KubeDescheduler, view),
    ),
    operator(CheckId::Loki, "loki-requirements-satisfied", |view| {
        operators::judge(Operator::Loki, view)
    }),
    operator(CheckId::Lso, "lso-requirements-satisfied", |view| {
        operators::judge(Operator::Lso, view)
    }),
    operator(CheckId::Lvm, "lvm-requirements-satisfied", |view| {
        operators::judge(Operator::Lvm, view)
    }),
    operator(CheckId::Mce, "mce-requirements-satisfied", |view| {
        operators::judge(Operator::Mce, view)
    }),
    operator(CheckId::Metallb, "metallb-requirements-satisfied", |view| {
        operators::judge(Operator::Metallb, view)
    }),
    operator(CheckId::Mtv, "mtv-requirements-satisfied", |view| {
        operators::judge(Operator::Mtv, view)
    }),
    operator(CheckId::Nmstate, "nmstate-requirements-satisfied", |view| {
        operators::judge(Operator::Nmstate, view)
    }),
    operator(
        CheckId::NodeFeatureDiscovery,
        "node-feature-discovery-requirements-satisfied",
        |view| operators::judge(Operator::NodeFeatureDiscovery, view),
    ),
    operator(
        CheckId::NodeHealthcheck,
        "node-healthcheck-requirements-satisfied",
        |view| operators::judge(Operator::NodeHealthcheck, view),
    ),
    operator(
        CheckId::NodeMaintenance,
        "node-maintenance-requirements-satisfied",
        |view| operators::judge(Operator::NodeMaintenance, view),
    ),
    operator(
        CheckId::NumaResources,
        "numa-resources-requirements-satisfied",
        |view| operators::judge(Operator::NumaResources, view),
    ),
    operator(CheckId::NvidiaGpu, "nvidia-gpu-requirements-satisfied", |view| {
        operators::judge(Operator::NvidiaGpu, view)
    }),
    operator(CheckId::Oadp, "oadp-requirements-satisfied", |view| {
        operators::judge(Operator::Oadp, view)
    }),
    operator(CheckId::Odf, "odf-requirements-satisfied", |view| {
        operators::judge(Operator::Odf, view)
    }),
    operator(
        CheckId::OpenshiftAi,
        "openshift-ai-requirements-satisfied",
        |view| operators::judge(Operator::OpenshiftAi, view),
    ),
    operator(
        CheckId::OpenshiftLogging,
        "openshift-logging-requirements-satisfied",
        |view| operators::judge(Operator::OpenshiftLogging, view),
    ),
    operator(CheckId::Osc, "osc-requirements-satisfied", |view| {
        operators::judge(Operator::Osc, view)
    }),
    operator(CheckId::Pipelines, "pipelines-requirements-satisfied", |view| {
        operators::judge(Operator::Pipelines, view)
    }),
    operator(
        CheckId::SelfNodeRemediation,
        "self-node-remediation-requirements-satisfied",
        |view| operators::judge(Operator::SelfNodeRemediation, view),
    ),
    operator(CheckId::Serverless, "serverless-requirements-satisfied", |view| {
        operators::judge(Operator::Serverless, view)
    }),
    operator(
        CheckId::Servicemesh,
        "servicemesh-requirements-satisfied",
        |view| operators::judge(Operator::Servicemesh, view),
    ),
];

/// The table.
pub(super) static TABLE: [Row; ROWS.len()] = ROWS;

// A check is its own row number.
const _: () = {
    let mut index = 0;
    while index < ROWS.len() {
        assert!(ROWS[index].check as usize == index);
        index += 1;
    }
};

/// Every check.
pub(super) const fn all() -> [CheckId; ROWS.len()] {
    let mut all = [ROWS[0].check; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        all[index] = ROWS[index].check;
        index += 1;
    }
    all
}

/// How many checks have this gate.
pub(super) const fn count(gate: Gate) -> usize {
    let (mut found, mut index) = (0, 0);
    while index < ROWS.len() {
        if ROWS[index].gate as u8 == gate as u8 {
            found += 1;
        }
        index += 1;
    }
    found
}

/// The `N` checks that have this gate.
pub(super) const fn with<const N: usize>(gate: Gate) -> [CheckId; N] {
    let mut these = [ROWS[0].check; N];
    let (mut found, mut index) = (0, 0);
    while index < ROWS.len() {
        if ROWS[index].gate as u8 == gate as u8 {
            these[found] = ROWS[index].check;
            found += 1;
        }
        index += 1;
    }
    these
}
