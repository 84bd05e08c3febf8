//! Cases of checks that depend only on the machine.

use muster_api::host::{HostStage, MediaStatus};
use muster_api::inventory::Truncation;
use muster_api::steps::{
    ContainerImageAvailability, ContainerImageAvailabilityResult, DiskInfo, DiskSpeed, NtpSource,
    NtpSourceState,
};
use muster_core::record::CheckId as C;
use muster_core::rules::disks;

use super::case::Case;
use super::case::Outcome::{Error, Failure, Hidden, Pending, Success};
use super::case::Where::{Anywhere, Bound, Pool};
use super::scene::Scene;
use crate::world::AGENT;

fn truncated(scene: &mut Scene, kind: &str) {
    scene.inventory().truncation = Some(Truncation {
        kind: kind.into(),
        reasons: vec!["2000 disks".into()],
    });
}

fn memory_mib(scene: &mut Scene, mib: i64, method: &str) {
    let memory = scene.inventory().memory.as_mut().unwrap();
    memory.physical_bytes = mib << 20;
    memory.physical_bytes_method = method.into();
}

fn cores(scene: &mut Scene, count: i64) {
    scene.inventory().cpu.as_mut().unwrap().count = count;
}

fn ntp(scene: &mut Scene, state: NtpSourceState) {
    scene.host.data.ntp_sources = Some(vec![NtpSource {
        source_name: "198.51.100.1".into(),
        source_state: Some(state),
    }]);
}

fn openstack(scene: &mut Scene) {
    let vendor = scene.inventory().system_vendor.as_mut();
    vendor.unwrap().product_name = "OpenStack Compute".into();
}

fn measured(scene: &mut Scene, exit_code: i64) {
    let id = scene.host.data.installation_disk_id.clone();
    let info = DiskInfo {
        path: id.clone(),
        disk_speed: Some(DiskSpeed {
            tested: true,
            exit_code,
            speed_ms: 5,
        }),
    };
    scene.host.data.disks_info.insert(id, info);
}

fn image(scene: &mut Scene, result: ContainerImageAvailabilityResult, download_rate: f64) {
    let image = ContainerImageAvailability {
        name: "registry.example.test/a:1".into(),
        result: Some(result),
        size_bytes: 1e9,
        time: 10.0,
        download_rate,
    };
    scene.host.data.images_status.insert(image.name.clone(), image);
}

pub fn cases() -> Vec<Case> {
    let mut all = of_inventory();
    all.extend(of_capacity());
    all.extend(of_disks());
    all.extend(of_presence());
    all
}

fn of_inventory() -> Vec<Case> {
    vec![
        (C::HasInventory, Anywhere, Success, |_| ()),
        (C::HasInventory, Anywhere, Failure, Scene::no_inventory),
        (C::InventoryNotPartiallyTruncated, Anywhere, Success, |_| ()),
        (C::InventoryNotPartiallyTruncated, Anywhere, Success, |s| {
            truncated(s, "full")
        }),
        (C::InventoryNotPartiallyTruncated, Anywhere, Failure, |s| {
            truncated(s, "partial")
        }),
        (C::InventoryNotPartiallyTruncated, Anywhere, Error, |s| {
            truncated(s, "odd")
        }),
        (
            C::InventoryNotPartiallyTruncated,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (C::InventoryNotFullyTruncated, Anywhere, Success, |s| {
            truncated(s, "partial")
        }),
        (C::InventoryNotFullyTruncated, Anywhere, Failure, |s| {
            truncated(s, "full")
        }),
        (C::InventoryNotFullyTruncated, Anywhere, Error, |s| {
            truncated(s, "odd")
        }),
        (
            C::InventoryNotFullyTruncated,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (C::HostnameValid, Anywhere, Success, |_| ()),
        (C::HostnameValid, Anywhere, Failure, |s| {
            s.inventory().hostname = "localhost".into()
        }),
        (C::HostnameValid, Anywhere, Failure, |s| {
            s.inventory().hostname.clear()
        }),
        (C::HostnameValid, Anywhere, Success, |s| {
            s.inventory().hostname = "localhost".into();
            s.host.data.requested_hostname = Some("worker-1".into());
        }),
        (C::HostnameValid, Anywhere, Failure, Scene::no_inventory),
        (C::HostnameUnique, Pool, Hidden, |_| ()),
        (C::HostnameUnique, Bound, Success, |_| ()),
        (C::HostnameUnique, Bound, Failure, |s| {
            s.peers[1].hostname = "host-1".into()
        }),
        // The name of a peer without an inventory may still change.
        (C::HostnameUnique, Bound, Success, |s| {
            s.peers[1].hostname = "host-1".into();
            s.peers[1].nics.clear();
        }),
        (C::HostnameUnique, Bound, Pending, Scene::no_inventory),
        (C::ValidPlatformNetworkSettings, Anywhere, Success, |_| ()),
        (C::ValidPlatformNetworkSettings, Pool, Hidden, openstack),
        (C::ValidPlatformNetworkSettings, Bound, Failure, openstack),
        (C::ValidPlatformNetworkSettings, Bound, Success, |s| {
            openstack(s);
            s.user_managed();
        }),
        (C::ValidPlatformNetworkSettings, Anywhere, Error, |s| {
            s.inventory().system_vendor = None
        }),
        (
            C::ValidPlatformNetworkSettings,
            Anywhere,
            Pending,
            Scene::no_inventory,
        ),
        (C::HasDefaultRoute, Anywhere, Success, |_| ()),
        (C::HasDefaultRoute, Anywhere, Failure, |s| {
            s.inventory().routes.clear()
        }),
        (C::HasDefaultRoute, Anywhere, Failure, |s| {
            s.inventory().routes[0].gateway = "0.0.0.0".into()
        }),
        (C::HasDefaultRoute, Anywhere, Pending, Scene::no_inventory),
    ]
}

fn of_capacity() -> Vec<Case> {
    vec![
        (C::HasMinCpuCores, Anywhere, Success, |s| cores(s, 2)),
        (C::HasMinCpuCores, Anywhere, Failure, |s| cores(s, 1)),
        (C::HasMinCpuCores, Anywhere, Failure, |s| s.inventory().cpu = None),
        (C::HasMinCpuCores, Anywhere, Pending, Scene::no_inventory),
        (C::HasMinMemory, Anywhere, Success, |s| {
            memory_mib(s, 8092, "dmidecode")
        }),
        (C::HasMinMemory, Anywhere, Failure, |s| {
            memory_mib(s, 8091, "dmidecode")
        }),
        (C::HasMinMemory, Anywhere, Success, |s| {
            memory_mib(s, 7929, "meminfo")
        }),
        (C::HasMinMemory, Anywhere, Failure, |s| {
            memory_mib(s, 7928, "meminfo")
        }),
        (C::HasMinMemory, Anywhere, Failure, |s| {
            s.inventory().memory = None
        }),
        (C::HasMinMemory, Anywhere, Pending, Scene::no_inventory),
        (C::HasCpuCoresForRole, Anywhere, Success, |_| ()),
        (C::HasCpuCoresForRole, Pool, Failure, |s| {
            s.world.requirements.default.arbiter.cpu_cores = 9
        }),
        (C::HasCpuCoresForRole, Bound, Failure, |s| {
            s.world.requirements.default.worker.cpu_cores = 9
        }),
        (C::HasCpuCoresForRole, Anywhere, Pending, Scene::no_inventory),
        (C::HasMemoryForRole, Anywhere, Success, |s| {
            memory_mib(s, 8092, "meminfo")
        }),
        (C::HasMemoryForRole, Anywhere, Failure, |s| {
            memory_mib(s, 8091, "meminfo")
        }),
        (C::HasMemoryForRole, Bound, Failure, |s| {
            memory_mib(s, 16283, "dmidecode");
            s.host.data.role = muster_api::host::HostRole::Master;
        }),
        (C::HasMemoryForRole, Anywhere, Pending, Scene::no_inventory),
    ]
}

fn of_disks() -> Vec<Case> {
    vec![
        (C::HasMinValidDisks, Anywhere, Success, |_| ()),
        (C::HasMinValidDisks, Anywhere, Failure, |s| {
            s.inventory().disks.remove(0);
            let mut host = s.host.clone();
            disks::settle(&mut host, &s.facts());
            s.host = host;
        }),
        (C::HasMinValidDisks, Anywhere, Error, |s| {
            s.inventory().disks.clear()
        }),
        (C::HasMinValidDisks, Anywhere, Pending, Scene::no_inventory),
        (C::SufficientInstallationDiskSpeed, Anywhere, Success, |_| ()),
        (C::SufficientInstallationDiskSpeed, Anywhere, Success, |s| {
            measured(s, 0)
        }),
        (C::SufficientInstallationDiskSpeed, Anywhere, Failure, |s| {
            measured(s, 1)
        }),
        (C::SufficientInstallationDiskSpeed, Anywhere, Error, |s| {
            s.host.data.installation_disk_path.clear()
        }),
        (C::NoSkipInstallationDisk, Anywhere, Success, |_| ()),
        (C::NoSkipInstallationDisk, Anywhere, Failure, |s| {
            s.host.data.skip_formatting_disks = vec![s.host.data.installation_disk_id.clone()];
        }),
        (C::NoSkipMissingDisk, Anywhere, Success, |_| ()),
        (C::NoSkipMissingDisk, Anywhere, Failure, |s| {
            s.host.data.skip_formatting_disks = vec!["gone".into()]
        }),
        (C::NoSkipMissingDisk, Anywhere, Pending, Scene::no_inventory),
    ]
}

fn of_presence() -> Vec<Case> {
    vec![
        (C::Connected, Anywhere, Success, |_| ()),
        (C::Connected, Anywhere, Failure, |s| {
            s.world.wait(chrono::Duration::minutes(3))
        }),
        (C::Connected, Bound, Hidden, |s| {
            s.world.wait(chrono::Duration::hours(1));
            s.stage(HostStage::Rebooting);
        }),
        (C::MediaConnected, Anywhere, Success, |_| ()),
        (C::MediaConnected, Anywhere, Failure, |s| {
            s.host.data.media_status = Some(MediaStatus::Disconnected)
        }),
        (C::MediaConnected, Bound, Hidden, |s| {
            s.stage(HostStage::Configuring)
        }),
        (C::NtpSynced, Pool, Hidden, |_| ()),
        (C::NtpSynced, Anywhere, Success, |s| {
            ntp(s, NtpSourceState::Synced)
        }),
        (C::NtpSynced, Bound, Failure, |_| ()),
        (C::NtpSynced, Pool, Failure, |s| {
            s.world.infra_env.settings.ntp_sources = "198.51.100.1".into();
            ntp(s, NtpSourceState::Unreachable);
        }),
        (C::NtpSynced, Bound, Hidden, |s| s.stage(HostStage::Done)),
        (C::TimeSyncedBetweenHostAndService, Anywhere, Success, |s| {
            s.world.clock_ahead = Some(3600)
        }),
        (C::TimeSyncedBetweenHostAndService, Anywhere, Failure, |s| {
            s.world.clock_ahead = Some(3601)
        }),
        (C::TimeSyncedBetweenHostAndService, Anywhere, Success, |s| {
            s.world.clock_ahead = Some(-1200)
        }),
        (C::TimeSyncedBetweenHostAndService, Anywhere, Failure, |s| {
            s.world.clock_ahead = Some(-1201)
        }),
        (C::TimeSyncedBetweenHostAndService, Anywhere, Pending, |s| {
            s.world.clock_ahead = None;
            s.host.data.timestamp = 0;
        }),
        (C::TimeSyncedBetweenHostAndService, Bound, Hidden, |s| {
            s.stage(HostStage::Joined)
        }),
        (C::CompatibleAgent, Anywhere, Success, |_| ()),
        (C::CompatibleAgent, Anywhere, Success, |s| {
            s.host.data.discovery_agent_version = "quay.io/other/agent:1".into()
        }),
        (C::CompatibleAgent, Anywhere, Failure, |s| {
            s.host.data.discovery_agent_version = format!("{AGENT}+protocol.0")
        }),
        (C::CompatibleAgent, Bound, Hidden, |s| {
            s.stage(HostStage::StartingInstallation)
        }),
        (C::ContainerImagesAvailable, Anywhere, Success, |_| ()),
        (C::ContainerImagesAvailable, Anywhere, Success, |s| {
            image(s, ContainerImageAvailabilityResult::Success, 40.0)
        }),
        (C::ContainerImagesAvailable, Anywhere, Failure, |s| {
            image(s, ContainerImageAvailabilityResult::Success, 0.0)
        }),
        (C::ContainerImagesAvailable, Anywhere, Failure, |s| {
            image(s, ContainerImageAvailabilityResult::Failure, 40.0)
        }),
    ]
}
