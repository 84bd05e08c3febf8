//! Summaries of hosts by their records and inventories.

use std::sync::Arc;

use chrono::Duration;
use muster_api::bmc::BmcCreateParams;
use muster_api::host::{HostRole, HostStatus};
use muster_api::ids::BmcId;
use muster_api::inventory::{Boot, Disk, Gpu, Interface, Inventory, SwitchPort, SystemVendor};
use muster_api::search::{HostGpus, HostSwitchPort};
use muster_core::lifecycle::bmc;
use muster_core::lifecycle::host::HostEvent;
use muster_core::query::{
    BmcSummary, DiskSummary, DriveType, Firmware, HardwareSummary, HostSummary, Surroundings, WaitSummary,
    summary,
};
use muster_core::record::{Bmc, Host, KubeRef, PowerSeen};
use uuid::Uuid;

use super::sample::passes;
use crate::world::{World, disk, good_inventory};

fn summarized(world: &World, host: &Host, bmc: Option<&Bmc>) -> HostSummary {
    let facts = world.facts_of(host);
    let bmc = bmc.map(BmcSummary::of);
    let around = Surroundings {
        infra_env: facts.infra_env,
        cluster: facts.cluster.map(|cluster| cluster.cluster),
        bmc: bmc.as_ref(),
        deadlines: &facts.deadlines(),
    };
    let hardware = host.inventory.as_deref().map(HardwareSummary::of);
    summary(host, hardware, &around)
}

#[test]
fn a_host_of_a_pool_is_summarized() {
    let mut world = World::new();
    let host = world.known_host();
    let found = summarized(&world, &host, None);
    assert_eq!(
        (found.pool.as_str(), found.cluster.as_str(), found.cluster_id),
        ("hw", "", None)
    );
    assert_eq!(
        (found.name.as_str(), found.status),
        ("host-1", HostStatus::KnownUnbound)
    );
    assert_eq!((found.stage, found.percentage, found.approved), (None, 0, None));
    assert_eq!(
        (found.since, found.seen_at, found.registered_at),
        (world.now, world.now, world.now)
    );
    assert_eq!(found.agent_version, crate::world::AGENT);
    assert_eq!(found.reason, host.data.status_info);
    assert_eq!((&found.failed_checks, &found.wait), (&Vec::new(), &None));
    let hardware = found.hardware.unwrap();
    assert_eq!((hardware.cpu_threads, hardware.memory_bytes), (8, 32 << 30));
    assert_eq!(
        (hardware.disks.len(), hardware.disk_bytes()),
        (2, 488_000_000_000)
    );
    assert_eq!(
        (hardware.vendor.as_str(), hardware.model.as_str()),
        ("ACME", "Server 1")
    );
    assert_eq!(hardware.ips, ["198.51.100.11"]);
}

#[test]
fn a_host_that_reported_nothing_yet_is_summarized() {
    let world = World::new();
    let host = world.register();
    let found = summarized(&world, &host, None);
    assert_eq!((found.name, found.hardware), (host.id.to_string(), None));
}

#[test]
fn a_wait_has_its_begin_and_its_end() {
    let mut world = World::new();
    world.kube = true;
    let known = world.known_host_of_cluster();
    let installing = world.after(&known, &HostEvent::InstallRequested);
    let begun = world.now;
    world.wait(Duration::minutes(5));
    let found = summarized(&world, &installing, None);
    assert_eq!((found.cluster.as_str(), found.role), ("day2", HostRole::Worker));
    let expected = WaitSummary {
        what: "the beginning of the installation".into(),
        since: begun,
        until: Some(begun + Duration::minutes(20)),
        then: "the installation counts as failed".into(),
        what_to_do: "See the console of the host if it goes on: it must be on and reach the service".into(),
    };
    assert_eq!(found.wait, Some(expected));
}

#[test]
fn hosts_with_an_agent_are_approved_or_not() {
    let mut world = World::new();
    world.infra_env.kube = Some(KubeRef::new("hardware", "hw"));
    let host = world.known_host();
    assert_eq!(summarized(&world, &host, None).approved, Some(false));
    let host = world.after(&host, &HostEvent::Approved(true));
    assert_eq!(summarized(&world, &host, None).approved, Some(true));
}

#[test]
fn checks_that_failed_are_named_and_those_that_wait_are_not() {
    let mut world = World::new();
    let host = world.known_host();
    let small = Inventory {
        hostname: "localhost".into(),
        disks: vec![disk("sda", 8)],
        ..good_inventory()
    };
    let host = world.after(&host, &HostEvent::InventoryReported(small));
    let failed: Vec<&str> = summarized(&world, &host, None)
        .failed_checks
        .iter()
        .map(|check| check.id())
        .collect();
    assert!(
        failed.contains(&"has-min-valid-disks") && failed.contains(&"hostname-valid"),
        "{failed:?}"
    );
    assert!(!failed.contains(&"has-inventory") && !failed.contains(&"api-domain-name-resolved-correctly"));
}

#[test]
fn the_management_controller_is_that_of_the_record() {
    let world = World::new();
    let host = world.register();
    let params = BmcCreateParams {
        name: Some("bmc-7".into()),
        address: "https://192.0.2.7:8443".into(),
        user_name: "root".into(),
        password: "secret".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: None,
    };
    let mut bmc = bmc::create(params, world.infra_env.id, BmcId(Uuid::from_u128(9)), world.now).unwrap();
    bmc.power.seen = Some(PowerSeen {
        state: "Off".into(),
        at: world.now,
    });
    let found = summarized(&world, &host, Some(&bmc));
    assert_eq!(found.bmc_address(), "192.0.2.7");
    assert!(passes("bmc:bmc-7 bmc:192.0.2.7 power:off 192.0.2.7", &found));
}

#[test]
fn hardware_is_what_stands_in_the_rack() {
    let card = |name: &str, kind: &str, speed: i64, port: Option<SwitchPort>| Interface {
        name: name.into(),
        kind: kind.into(),
        mac_address: "52:54:00:AA:BB:01".into(),
        speed_mbps: speed,
        ipv4_addresses: vec!["10.0.0.7/24".into(), "127.0.0.1/8".into()],
        ipv6_addresses: vec!["fe80::1/64".into(), "2001:db8::7/64".into()],
        switch_port: port,
        ..Interface::default()
    };
    let port = SwitchPort {
        switch: "sw1".into(),
        port: "Gi1/0/7".into(),
        native_vlan: 7,
        tagged_vlans: vec![200, 10],
        missing_vlans: vec![],
    };
    let gpu = |vendor_id: &str, vendor: &str, name: &str| Gpu {
        vendor_id: vendor_id.into(),
        device_id: "2330".into(),
        vendor: vendor.into(),
        name: name.into(),
        ..Gpu::default()
    };
    let of_type = |name: &str, drive_type: &str| Disk {
        drive_type: drive_type.into(),
        serial: "To be filled by O.E.M.".into(),
        ..disk(name, 100)
    };
    let inventory = Inventory {
        bmc_address: "0.0.0.0".into(),
        bmc_v6address: "2001:db8::b".into(),
        boot: Some(Boot {
            current_boot_mode: "uefi".into(),
            secure_boot_state: "Enabled".into(),
            ..Boot::default()
        }),
        gpus: vec![
            gpu("1a03", "ASPEED Technology", "ASPEED Graphics Family"),
            gpu("10de", "NVIDIA Corporation", "H100"),
            gpu("10de", "NVIDIA Corporation", "H100"),
            gpu("10de", "unknown", "unknown"),
        ],
        disks: vec![
            of_type("sda", "SSD"),
            of_type("sr0", "ODD"),
            of_type("dm-0", "LVM"),
            of_type("dm-1", "Multipath"),
            Disk {
                holders: "dm-1".into(),
                ..of_type("sdb", "FC")
            },
            Disk {
                is_installation_media: true,
                ..of_type("sdc", "HDD")
            },
        ],
        interfaces: vec![
            card("eth0", "physical", 25_000, Some(port.clone())),
            card("eth1", "physical", -1, Some(port)),
            card("bond0", "bond", 50_000, None),
        ],
        system_vendor: Some(SystemVendor {
            manufacturer: " Dell Inc. ".into(),
            product_name: "R750\u{1b}[31m".into(),
            serial_number: "Default string".into(),
            is_virtual: false,
        }),
        ..Inventory::default()
    };
    let disk = |drive_type| DiskSummary {
        bytes: 100_000_000_000,
        drive_type,
        serial: String::new(),
    };
    let gpu = |model: &str, count| HostGpus {
        model: model.into(),
        count,
    };
    let expected = HardwareSummary {
        vendor: "Dell Inc.".into(),
        model: "R750\u{fffd}[31m".into(),
        serial: String::new(),
        cpu_threads: 0,
        memory_bytes: 0,
        disks: vec![disk(DriveType::Ssd), disk(DriveType::Multipath)],
        gpus: vec![gpu("NVIDIA Corporation H100", 2), gpu("10de:2330", 1)],
        nic_speed_mbps: 25_000,
        macs: vec!["52:54:00:aa:bb:01".into()],
        ips: vec!["10.0.0.7".into(), "2001:db8::7".into()],
        ports: vec![HostSwitchPort {
            switch: "sw1".into(),
            port: "Gi1/0/7".into(),
        }],
        vlans: vec![7, 10, 200],
        bmc_address: "2001:db8::b".into(),
        firmware: Some(Firmware::Uefi),
        secure_boot: Some(true),
    };
    assert_eq!(HardwareSummary::of(&inventory), expected);
}

#[test]
fn a_summary_is_small_and_reads_back() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let found = summarized(&world, &host, None);
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.len() < 1100, "{} bytes: {json}", json.len());
    assert_eq!(serde_json::from_str::<HostSummary>(&json).unwrap(), found);
    let full = super::sample::host();
    let json = serde_json::to_string(&full).unwrap();
    assert_eq!(serde_json::from_str::<HostSummary>(&json).unwrap(), full);
    let older = json.replace("ntp-synced", "check-that-is-gone");
    let read: HostSummary = serde_json::from_str(&older).unwrap();
    assert!(read.failed_checks.is_empty());
}

#[test]
fn a_machine_cannot_make_its_summary_large() {
    let mut world = World::new();
    let host = world.known_host();
    let long = "x".repeat(100_000);
    let mut inventory = good_inventory();
    inventory.hostname = long.clone();
    let card = |index: usize| Interface {
        name: long.clone(),
        mac_address: format!("{index}-{long}"),
        ipv4_addresses: vec![format!("10.0.{}.{}/24", index / 250, index % 250)],
        switch_port: Some(SwitchPort {
            switch: format!("{index}-{long}"),
            port: long.clone(),
            ..SwitchPort::default()
        }),
        ..Interface::default()
    };
    inventory.interfaces = (0..400).map(card).collect();
    inventory.disks = (0..400).map(|index| disk(&format!("sd{index}"), 1)).collect();
    let host = Host {
        inventory: Some(Arc::new(inventory)),
        ..host
    };
    let found = summarized(&world, &host, None);
    let hardware = found.hardware.as_ref().unwrap();
    assert_eq!(
        (hardware.disks.len(), hardware.macs.len(), hardware.ports.len()),
        (256, 256, 256)
    );
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.len() < 300_000, "{} bytes", json.len());
}
