//! Hardware over time: events about parts that differ, and machines that come back smaller than they were approved.

use muster_api::event::Severity;
use muster_api::inventory::{Interface, Inventory, Truncation};
use muster_api::steps::HealthReport;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, KubeRef, NewEvent};
use muster_core::rules::findings::SMALLER_THAN_APPROVED;

use crate::world::{World, disk, good_inventory};

fn card(name: &str, mac: &str) -> Interface {
    Interface {
        name: name.into(),
        mac_address: mac.into(),
        kind: "physical".into(),
        ..Interface::default()
    }
}

/// A machine whose parts have names of their own.
fn named() -> Inventory {
    let mut inventory = good_inventory();
    for disk in &mut inventory.disks {
        disk.serial = format!("S-{}", disk.name);
    }
    inventory.interfaces[0].mac_address = "02:00:00:00:00:01".into();
    inventory.interfaces.push(card("eth1", "02:00:00:00:00:02"));
    inventory
}

fn world() -> World {
    let mut world = World::new();
    world.kube = true;
    world.infra_env.kube = Some(KubeRef::new("hw", "pool"));
    world
}

/// The host after a report, and the events about its parts.
fn after(world: &World, host: &Host, event: &HostEvent) -> (Host, Vec<NewEvent>) {
    let step = world.step(host, event).unwrap();
    let events = step.events.into_iter();
    let about_parts = events.filter(|event| event.name == "muster_hardware_changed");
    (step.host, about_parts.collect())
}

fn reports(world: &World, host: &Host, inventory: Inventory) -> (Host, Vec<NewEvent>) {
    after(world, host, &HostEvent::InventoryReported(inventory))
}

fn told(events: &[NewEvent]) -> Vec<(Severity, &str)> {
    let told = events
        .iter()
        .map(|event| (event.severity, event.message.as_str()));
    told.collect()
}

/// A host that has registered again after it reported its parts.
fn rebooted(world: &mut World) -> Host {
    world.poll();
    let host = world.register();
    let (host, events) = reports(world, &host, named());
    assert_eq!(told(&events), [], "the first inventory differs from none");
    let (host, events) = reports(world, &host, named());
    assert_eq!(told(&events), []);
    world.after(&host, &world.registered())
}

#[test]
fn a_part_that_is_gone_swapped_or_new_is_an_event_with_both_values() {
    let mut world = world();
    let host = rebooted(&mut world);
    let mut changed = named();
    changed.memory.as_mut().unwrap().physical_bytes = 24 << 30;
    changed.cpu.as_mut().unwrap().count = 16;
    changed.disks[0].serial = "S-new".into();
    changed.interfaces.pop();
    changed.interfaces.push(card("eth2", "02:00:00:00:00:03"));
    let (host, events) = reports(&world, &host, changed.clone());
    assert_eq!(
        told(&events),
        [
            (Severity::Info, "Host host-1: processor threads: 8 -> 16"),
            (Severity::Warning, "Host host-1: memory: 32 GiB -> 24 GiB"),
            (
                Severity::Info,
                "Host host-1: disk: sda (480 GB, serial S-sda) -> sda (480 GB, serial S-new)"
            ),
            (
                Severity::Warning,
                "Host host-1: the network card eth1 (02:00:00:00:00:02) is gone"
            ),
            (
                Severity::Info,
                "Host host-1: the network card eth2 (02:00:00:00:00:03) is new"
            ),
        ]
    );
    assert_eq!(events[1].props["before"], "32 GiB");
    assert_eq!(events[1].props["after"], "24 GiB");
    assert_eq!(host.data.parts_before, None, "they are compared once");
    // Without a boot in between, too.
    changed.disks.remove(1);
    let (_, events) = reports(&world, &host, changed);
    assert_eq!(
        told(&events),
        [(
            Severity::Warning,
            "Host host-1: the disk sdb (8 GB, serial S-sdb) is gone"
        )]
    );
}

#[test]
fn firmware_of_another_version_is_an_event_also_after_a_boot() {
    let mut world = world();
    let host = rebooted(&mut world);
    let reported = |version: &str| {
        HostEvent::HealthReported(HealthReport {
            bios_version: version.into(),
            ..HealthReport::default()
        })
    };
    let (host, events) = after(&world, &host, &reported("2.1"));
    assert_eq!(told(&events), [], "there was none before");
    let host = world.after(&host, &world.registered());
    let (host, events) = after(&world, &host, &reported("2.2"));
    assert_eq!(
        told(&events),
        [(Severity::Info, "Host host-1: firmware: 2.1 -> 2.2")]
    );
    assert_eq!(events[0].props["part"], "firmware");
    assert_eq!(told(&after(&world, &host, &reported("")).1), []);
}

#[test]
fn what_says_nothing_about_parts_is_no_change() {
    let mut world = world();
    let host = rebooted(&mut world);
    // Another way to measure memory, disks that were left out, virtual cards.
    let mut other = named();
    let memory = other.memory.as_mut().unwrap();
    (memory.physical_bytes, memory.physical_bytes_method) = (31 << 30, "meminfo".into());
    other.truncation = Some(Truncation::default());
    other.disks.clear();
    other.interfaces.push(Interface {
        kind: "bond".into(),
        ..card("bond0", "02:00:00:00:00:09")
    });
    assert_eq!(told(&reports(&world, &host, other).1), []);
}

#[test]
fn an_inventory_that_could_not_be_made_is_no_change_and_the_next_is_compared() {
    let mut world = world();
    let host = rebooted(&mut world);
    let host = world.after(&host, &HostEvent::Approved(true));
    let unmade = || Inventory {
        hostname: "host-1".into(),
        ..Inventory::default()
    };
    let (host, events) = reports(&world, &host, unmade());
    assert_eq!(told(&events), []);
    assert_eq!(host.data.approved_size, None);
    // Also one after the other, and over another boot.
    let (host, _) = reports(&world, &host, unmade());
    let host = world.after(&host, &world.registered());
    let mut changed = named();
    changed.cpu.as_mut().unwrap().count = 16;
    let (host, events) = reports(&world, &host, changed);
    assert_eq!(
        told(&events),
        [(Severity::Info, "Host host-1: processor threads: 8 -> 16")]
    );
    assert_eq!(host.data.approved_size.unwrap().cpu_threads, 16);
    assert_eq!(host.data.parts_before, None);
}

#[test]
fn media_that_come_and_go_devices_in_memory_and_cards_of_a_bmc_are_no_parts_of_a_machine() {
    let mut world = world();
    let host = rebooted(&mut world);
    let mut other = named();
    let mut stick = disk("sdq", 16);
    (stick.serial, stick.removable) = ("S-stick".into(), true);
    let mut medium = disk("sdr", 1);
    (medium.serial, medium.is_installation_media) = ("S-medium".into(), true);
    let mut drive = disk("sr0", 1);
    (drive.serial, drive.drive_type) = ("S-drive".into(), "ODD".into());
    let in_memory = ["loop0", "zram0", "ram15"].map(|name| {
        let mut disk = disk(name, 1);
        disk.serial = format!("S-{name}");
        disk
    });
    other.disks.extend([stick, medium, drive]);
    other.disks.extend(in_memory);
    other.disks.reverse();
    other.interfaces.push(card("usb0", "BE:3A:F2:B6:05:9F"));
    let (host, events) = reports(&world, &host, other);
    assert_eq!(told(&events), []);
    assert_eq!(
        told(&reports(&world, &host, named()).1),
        [],
        "they are gone again"
    );
}

#[test]
fn a_disk_that_does_not_answer_is_neither_gone_nor_new_when_it_does() {
    let mut world = world();
    let host = rebooted(&mut world);
    let mut silent = named();
    silent.disks[1].serial = String::new();
    let (host, events) = reports(&world, &host, silent.clone());
    assert_eq!(told(&events), []);
    assert_eq!(told(&reports(&world, &host, named()).1), [], "it answers again");
    silent.disks.remove(1);
    let host = rebooted(&mut world);
    let (_, events) = reports(&world, &host, silent);
    let gone = "Host host-1: the disk sdb (8 GB, serial S-sdb) is gone";
    assert_eq!(told(&events), [(Severity::Warning, gone)]);
}

#[test]
fn cards_that_report_the_address_of_their_bond_are_not_swapped() {
    let mut world = world();
    let host = rebooted(&mut world);
    let mut bonded = named();
    let address = bonded.interfaces[0].mac_address.clone();
    bonded.interfaces[1].mac_address = address.to_uppercase();
    bonded.interfaces.push(Interface {
        kind: "bond".into(),
        ..card("bond0", &address)
    });
    let (host, events) = reports(&world, &host, bonded);
    assert_eq!(told(&events), []);
    assert_eq!(told(&reports(&world, &host, named()).1), [], "without the bond");
}

#[test]
fn many_changes_are_a_few_events_and_a_number() {
    let mut world = world();
    let host = rebooted(&mut world);
    let mut many = named();
    many.disks.extend((0..30).map(|number| {
        let mut disk = disk(&format!("sdx{number:02}"), 500);
        disk.serial = format!("X{number:02}");
        disk
    }));
    let (_, events) = reports(&world, &host, many);
    assert_eq!(events.len(), 17);
    assert_eq!(
        events[16].message,
        "Host host-1: 14 further parts differ from its inventory before"
    );
}

fn finding(host: &Host) -> Option<&str> {
    let mut findings = host.data.findings.iter();
    let found = findings.find(|finding| finding.kind == SMALLER_THAN_APPROVED)?;
    Some(&found.message)
}

#[test]
fn a_machine_that_comes_back_smaller_than_it_was_approved_is_found() {
    let mut world = world();
    world.poll();
    let host = world.register();
    let (host, _) = reports(&world, &host, named());
    let host = world.after(&host, &HostEvent::Approved(true));
    assert_eq!(host.data.approved_size.unwrap().cards, 2);
    let mut small = named();
    small.memory.as_mut().unwrap().physical_bytes = 24 << 30;
    small.disks.remove(1);
    small.interfaces.pop();
    let host = world.after(&host, &world.registered());
    let (host, _) = reports(&world, &host, small.clone());
    assert_eq!(
        finding(&host),
        Some(
            "The machine is smaller than it was approved: memory 24 GiB instead of 32 GiB, disks 1 instead of 2, network cards 1 instead of 2. If that is as it should be, withdraw the approval and approve it again"
        )
    );
    // It is approved as it is, or gets its parts back.
    let host_as_is = world.after(&host, &HostEvent::Approved(false));
    assert_eq!(
        (finding(&host_as_is), host_as_is.data.approved_size),
        (None, None)
    );
    let host_as_is = world.after(&host_as_is, &HostEvent::Approved(true));
    assert_eq!(finding(&reports(&world, &host_as_is, small).0), None);
    assert_eq!(finding(&reports(&world, &host, named()).0), None);
}

#[test]
fn a_host_approved_before_its_inventory_is_compared_with_its_first() {
    let mut world = world();
    world.poll();
    let host = world.register();
    let host = world.after(&host, &HostEvent::Approved(true));
    assert_eq!(host.data.approved_size, None);
    let (host, _) = reports(&world, &host, named());
    assert_eq!(host.data.approved_size.unwrap().cpu_threads, 8);
    let mut small = named();
    small.cpu.as_mut().unwrap().count = 4;
    let (host, _) = reports(&world, &host, small);
    assert!(
        finding(&host)
            .unwrap()
            .contains("processor threads 4 instead of 8")
    );
}
