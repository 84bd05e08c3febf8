//! Every check has a case in which it passes and one in which it does not.

use muster_api::host::MediaStatus;
use muster_api::inventory::Truncation;
use muster_api::steps::{NtpSource, NtpSourceState};
use muster_core::host::{Host, disks};
use muster_core::validate::{CheckId, Look, Verdict};

use crate::world::{AGENT, World};

/// A change of host and world that makes a check pass or not.
type Change = fn(&mut Host, &mut World);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure,
    Pending,
    Error,
    Hidden,
}

fn outcome(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Success(_) => Outcome::Success,
        Verdict::Failure(_) => Outcome::Failure,
        Verdict::Pending(_) => Outcome::Pending,
        Verdict::Error(_) => Outcome::Error,
        Verdict::Hidden => Outcome::Hidden,
    }
}

fn nothing(_: &mut Host, _: &mut World) {}

fn no_inventory(host: &mut Host, _: &mut World) {
    host.inventory = None;
}

fn truncated(host: &mut Host, kind: &str) {
    host.inventory.as_mut().unwrap().truncation = Some(Truncation {
        kind: kind.into(),
        reasons: vec!["2000 disks".into()],
    });
}

fn memory_mib(host: &mut Host, mib: i64, method: &str) {
    let memory = host.inventory.as_mut().unwrap().memory.as_mut().unwrap();
    memory.physical_bytes = mib << 20;
    memory.physical_bytes_method = method.into();
}

fn hostname(host: &mut Host, name: &str) {
    host.inventory.as_mut().unwrap().hostname = name.into();
}

fn ntp(host: &mut Host, state: NtpSourceState) {
    host.data.ntp_sources = Some(vec![NtpSource {
        source_name: "198.51.100.1".into(),
        source_state: Some(state),
    }]);
}

/// What the table promises for hosts of the pool. Two checks have nothing there that could fail them.
#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(CheckId, Outcome, Change)> {
    use CheckId as C;
    use Outcome::{Error, Failure, Hidden, Pending, Success};
    let vendor = |host: &mut Host, _: &mut World| {
        let vendor = host.inventory.as_mut().unwrap().system_vendor.as_mut();
        vendor.unwrap().product_name = "OpenStack Compute".into();
    };
    vec![
        (C::HasInventory, Success, nothing),
        (C::HasInventory, Failure, no_inventory),
        (C::InventoryNotPartiallyTruncated, Success, nothing),
        (C::InventoryNotPartiallyTruncated, Success, |h, _| {
            truncated(h, "full")
        }),
        (C::InventoryNotPartiallyTruncated, Failure, |h, _| {
            truncated(h, "partial")
        }),
        (C::InventoryNotPartiallyTruncated, Error, |h, _| {
            truncated(h, "odd")
        }),
        (C::InventoryNotPartiallyTruncated, Pending, no_inventory),
        (C::InventoryNotFullyTruncated, Success, |h, _| {
            truncated(h, "partial")
        }),
        (C::InventoryNotFullyTruncated, Failure, |h, _| {
            truncated(h, "full")
        }),
        (C::InventoryNotFullyTruncated, Error, |h, _| truncated(h, "odd")),
        (C::InventoryNotFullyTruncated, Pending, no_inventory),
        (C::HasMinCpuCores, Success, |h, _| {
            h.inventory.as_mut().unwrap().cpu.as_mut().unwrap().count = 2
        }),
        (C::HasMinCpuCores, Failure, |h, _| {
            h.inventory.as_mut().unwrap().cpu.as_mut().unwrap().count = 1
        }),
        (C::HasMinCpuCores, Failure, |h, _| {
            h.inventory.as_mut().unwrap().cpu = None
        }),
        (C::HasMinCpuCores, Pending, no_inventory),
        (C::HasMinMemory, Success, |h, _| memory_mib(h, 8092, "dmidecode")),
        (C::HasMinMemory, Failure, |h, _| memory_mib(h, 8091, "dmidecode")),
        (C::HasMinMemory, Success, |h, _| memory_mib(h, 7929, "meminfo")),
        (C::HasMinMemory, Failure, |h, _| memory_mib(h, 7928, "meminfo")),
        (C::HasMinMemory, Failure, |h, _| {
            h.inventory.as_mut().unwrap().memory = None
        }),
        (C::HasMinMemory, Pending, no_inventory),
        (C::HasMinValidDisks, Success, nothing),
        (C::HasMinValidDisks, Failure, |h, w| {
            h.inventory.as_mut().unwrap().disks.remove(0);
            disks::settle(h, &w.facts());
        }),
        (C::HasMinValidDisks, Error, |h, _| {
            h.inventory.as_mut().unwrap().disks.clear()
        }),
        (C::HasMinValidDisks, Pending, no_inventory),
        (C::HasCpuCoresForRole, Success, nothing),
        (C::HasCpuCoresForRole, Failure, |_, w| {
            w.requirements.default.arbiter.cpu_cores = 9
        }),
        (C::HasCpuCoresForRole, Pending, no_inventory),
        (C::HasMemoryForRole, Success, |h, _| {
            memory_mib(h, 8092, "meminfo")
        }),
        (C::HasMemoryForRole, Failure, |h, _| {
            memory_mib(h, 8091, "meminfo")
        }),
        (C::HasMemoryForRole, Pending, no_inventory),
        (C::HostnameValid, Success, nothing),
        (C::HostnameValid, Failure, |h, _| hostname(h, "localhost")),
        (C::HostnameValid, Failure, |h, _| hostname(h, "")),
        (C::HostnameValid, Success, |h, _| {
            hostname(h, "localhost");
            h.data.requested_hostname = Some("worker-1".into());
        }),
        (C::HostnameValid, Failure, no_inventory),
        (C::SufficientInstallationDiskSpeed, Success, nothing),
        (C::SufficientInstallationDiskSpeed, Error, |h, _| {
            h.data.installation_disk_path.clear()
        }),
        (C::CompatibleAgent, Success, nothing),
        (C::CompatibleAgent, Success, |h, _| {
            h.data.discovery_agent_version = "quay.io/other/agent:1".into()
        }),
        (C::CompatibleAgent, Failure, |h, _| {
            h.data.discovery_agent_version = format!("{AGENT}-old")
        }),
        (C::NoSkipInstallationDisk, Success, nothing),
        (C::NoSkipInstallationDisk, Failure, |h, _| {
            h.data.skip_formatting_disks = vec![h.data.installation_disk_id.clone()];
        }),
        (C::NoSkipMissingDisk, Success, nothing),
        (C::NoSkipMissingDisk, Failure, |h, _| {
            h.data.skip_formatting_disks = vec!["gone".into()]
        }),
        (C::NoSkipMissingDisk, Pending, no_inventory),
        (C::Connected, Success, nothing),
        (C::Connected, Failure, |_, w| w.wait(chrono::Duration::minutes(3))),
        (C::MediaConnected, Success, nothing),
        (C::MediaConnected, Failure, |h, _| {
            h.data.media_status = Some(MediaStatus::Disconnected)
        }),
        (C::ValidPlatformNetworkSettings, Success, nothing),
        (C::ValidPlatformNetworkSettings, Hidden, vendor),
        (C::ValidPlatformNetworkSettings, Error, |h, _| {
            h.inventory.as_mut().unwrap().system_vendor = None
        }),
        (C::ValidPlatformNetworkSettings, Pending, no_inventory),
        (C::NtpSynced, Hidden, nothing),
        (C::NtpSynced, Success, |h, _| ntp(h, NtpSourceState::Synced)),
        (C::NtpSynced, Failure, |h, w| {
            w.infra_env.settings.ntp_sources = "198.51.100.1".into();
            ntp(h, NtpSourceState::Unreachable);
        }),
        (C::TimeSynced, Success, |_, w| w.clock_ahead = Some(3600)),
        (C::TimeSynced, Failure, |_, w| w.clock_ahead = Some(3601)),
        (C::TimeSynced, Success, |_, w| w.clock_ahead = Some(-1200)),
        (C::TimeSynced, Failure, |_, w| w.clock_ahead = Some(-1201)),
        (C::TimeSynced, Failure, |h, w| {
            w.clock_ahead = None;
            h.data.timestamp = 0;
        }),
        (C::ContainerImagesAvailable, Success, nothing),
        (C::HasDefaultRoute, Success, nothing),
        (C::HasDefaultRoute, Failure, |h, _| {
            h.inventory.as_mut().unwrap().routes.clear()
        }),
        (C::HasDefaultRoute, Failure, |h, _| {
            h.inventory.as_mut().unwrap().routes[0].gateway = "0.0.0.0".into();
        }),
        (C::HasDefaultRoute, Pending, no_inventory),
        (C::NoIpCollisions, Success, nothing),
    ]
}

#[test]
fn each_check_comes_out_as_the_table_says_and_has_words_for_it() {
    for (check, expected, change) in cases() {
        let mut world = World::new();
        let mut host = world.known_host();
        change(&mut host, &mut world);
        let facts = world.facts();
        let verdict = check.check(&Look {
            host: &host,
            facts: &facts,
            now: world.now,
        });
        assert_eq!(outcome(&verdict), expected, "{}: {verdict:?}", check.id());
        match verdict {
            Verdict::Success(text)
            | Verdict::Failure(text)
            | Verdict::Pending(text)
            | Verdict::Error(text) => {
                assert!(!text.is_empty(), "{}", check.id());
            }
            Verdict::Hidden => {}
        }
    }
}

#[test]
fn each_check_has_a_passing_and_a_failing_case() {
    // In the pool nothing is pulled and no cluster's addresses are compared, so these two always pass.
    let cannot_fail = [CheckId::ContainerImagesAvailable, CheckId::NoIpCollisions];
    for check in CheckId::ALL {
        let has = |wanted: &[Outcome]| {
            cases()
                .iter()
                .any(|(id, outcome, _)| *id == check && wanted.contains(outcome))
        };
        assert!(has(&[Outcome::Success]), "{} has no passing case", check.id());
        assert_eq!(
            has(&[Outcome::Failure, Outcome::Error]),
            !cannot_fail.contains(&check),
            "{}",
            check.id()
        );
    }
}

#[test]
fn checks_stand_in_the_recorded_order() {
    let mut world = World::new();
    world.infra_env.settings.ntp_sources = "198.51.100.1".into();
    let host = world.known_host();
    let ids = |category: &str| -> Vec<&str> {
        host.data.validations[category]
            .iter()
            .map(|row| row.id.as_str())
            .collect()
    };
    assert_eq!(
        ids("hardware"),
        [
            "has-inventory",
            "inventory-not-partially-truncated",
            "inventory-not-fully-truncated",
            "has-min-cpu-cores",
            "has-min-memory",
            "has-min-valid-disks",
            "has-cpu-cores-for-role",
            "has-memory-for-role",
            "hostname-valid",
            "sufficient-installation-disk-speed",
            "compatible-agent",
            "no-skip-installation-disk",
            "no-skip-missing-disk",
        ]
    );
    assert_eq!(
        ids("network"),
        [
            "connected",
            "media-connected",
            "valid-platform-network-settings",
            "ntp-synced",
            "time-synced-between-host-and-service",
            "container-images-available",
            "has-default-route",
            "no-ip-collisions-in-network",
        ]
    );
}
