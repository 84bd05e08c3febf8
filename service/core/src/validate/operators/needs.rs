//! What selected operators need of a host on top of the rest. Source: docs/protocol/hardware-requirements.md#5.

use muster_api::host::HostRole;
use muster_api::inventory::Inventory;

use super::{Operator, disks, masters_are_schedulable};
use crate::host::requirements::Version;
use crate::validate::look::{Bound, Look};

/// What one operator needs of one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Need {
    /// Logical cores.
    pub cpu_cores: i64,
    /// MiB.
    pub ram_mib: i64,
}

const fn need(cpu_cores: i64, ram_mib: i64) -> Need {
    Need { cpu_cores, ram_mib }
}

const NOTHING: Need = need(0, 0);
/// MiB.
const GIB: i64 = 1024;

/// What each selected operator needs of the host.
pub(in crate::validate) fn needs(look: &Look<'_>, bound: &Bound<'_>) -> Vec<Need> {
    Operator::ALL
        .into_iter()
        .filter(|operator| operator.is_selected(bound))
        .map(|operator| need_of(operator, look, bound))
        .collect()
}

/// What `operator` needs of the host.
pub(super) fn need_of(operator: Operator, look: &Look<'_>, bound: &Bound<'_>) -> Need {
    let role = look.role();
    let single = bound.is_single_node();
    let arbiter = role == HostRole::Arbiter;
    match operator {
        Operator::Odf => disks::odf_need(look, bound),
        Operator::Cnv if arbiter => NOTHING,
        Operator::Cnv => {
            let devices = look.inventory().map_or(0, supported_devices) * GIB;
            match role {
                HostRole::Master if single => need(6, 510 + devices),
                HostRole::Master => need(4, 150),
                HostRole::AutoAssign | HostRole::Arbiter | HostRole::Worker | HostRole::Bootstrap => {
                    need(2, 360 + devices)
                }
            }
        }
        Operator::Lvm if arbiter => NOTHING,
        Operator::Lvm if role == HostRole::Master && !masters_are_schedulable(role, bound) => NOTHING,
        Operator::Lvm => {
            let since = |version| {
                Version::parse(&bound.data().openshift_version).is_none_or(|own| own >= Version(version))
            };
            if since([4, 16, 0]) {
                need(1, 100)
            } else if since([4, 13, 0]) {
                need(1, 400)
            } else {
                need(1, 1200)
            }
        }
        Operator::Mce if arbiter => NOTHING,
        Operator::Mce if single => need(8, 32 * GIB),
        Operator::Mce => need(4, 16 * GIB),
        Operator::Mtv | Operator::Osc if arbiter => NOTHING,
        Operator::Mtv | Operator::Osc => need(1, GIB),
        Operator::OpenshiftAi if role == HostRole::Worker => need(8, 32 * GIB),
        Operator::OpenshiftAi
        | Operator::AmdGpu
        | Operator::Authorino
        | Operator::ClusterObservability
        | Operator::FenceAgentsRemediation
        | Operator::Kmm
        | Operator::KubeDescheduler
        | Operator::Loki
        | Operator::Lso
        | Operator::Metallb
        | Operator::Nmstate
        | Operator::NodeFeatureDiscovery
        | Operator::NodeHealthcheck
        | Operator::NodeMaintenance
        | Operator::NumaResources
        | Operator::NvidiaGpu
        | Operator::Oadp
        | Operator::OpenshiftLogging
        | Operator::Pipelines
        | Operator::SelfNodeRemediation
        | Operator::Serverless
        | Operator::Servicemesh => NOTHING,
    }
}

/// GPUs that can be handed to virtual machines, vendor and device.
const GPUS: [(&str, &str); 2] = [("10de", "1db6"), ("10de", "1eb8")];
/// Network cards that can be.
const NICS: [(&str, &str); 5] = [
    ("8086", "158b"),
    ("15b3", "1015"),
    ("15b3", "1017"),
    ("15b3", "1013"),
    ("15b3", "101b"),
];

/// Devices that each take 1 GiB.
fn supported_devices(inventory: &Inventory) -> i64 {
    let bare = |id: &str| id.trim_start_matches("0x").to_lowercase();
    let is_in = |list: &[(&str, &str)], vendor: &str, device: &str| {
        list.contains(&(bare(vendor).as_str(), bare(device).as_str()))
    };
    let gpus = inventory.gpus.iter();
    let gpus = gpus
        .filter(|gpu| is_in(&GPUS, &gpu.vendor_id, &gpu.device_id))
        .count();
    let nics = inventory.interfaces.iter();
    let nics = nics.filter(|nic| is_in(&NICS, &nic.vendor, &nic.product)).count();
    i64::try_from(gpus + nics).unwrap_or(i64::MAX / GIB)
}
