//! Failures of a host: what counts, what resets them, what frees a host.

use muster_api::host::HostStage;
use muster_api::inventory::Inventory;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, HostState};
use muster_core::rules::failures::is_quarantined;
use muster_core::rules::findings::FAILED_BEFORE;

use crate::world::{World, good_inventory};

fn stage(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

fn world() -> World {
    World {
        kube: true,
        ..World::new()
    }
}

fn count(host: &Host) -> u32 {
    let failures = host.data.failures.as_ref();
    let count = failures.map_or(0, |failures| failures.count);
    let noted = host
        .data
        .findings
        .iter()
        .any(|finding| finding.kind == FAILED_BEFORE);
    assert_eq!(
        noted,
        count > 0,
        "the finding is there as long as something counts"
    );
    count
}

fn after_all(world: &World, host: &Host, events: &[HostEvent]) -> Host {
    let mut host = host.clone();
    for event in events {
        host = world.after(&host, event);
    }
    host
}

fn with_disk(serial: &str) -> Inventory {
    let mut inventory = good_inventory();
    inventory.disks[0].serial = "D1".into();
    inventory.disks[1].serial = serial.into();
    inventory
}

/// The host boots the discovery image instead of its disk, is reset and known again.
fn fails_and_returns(world: &World, host: &Host) -> Host {
    let events = [
        HostEvent::InstallRequested,
        stage(HostStage::Rebooting),
        world.registered(),
        HostEvent::ResetRequested,
        world.registered(),
        HostEvent::InventoryReported(with_disk("D2")),
    ];
    after_all(world, host, &events)
}

#[test]
fn what_the_machine_did_counts_and_what_it_could_not_help_does_not() {
    let failed = |reason: &str| HostEvent::InstallationFailed {
        reason: reason.into(),
    };
    let told = |info: &str| HostEvent::Progressed {
        stage: Some(HostStage::Failed),
        info: info.into(),
    };
    let cancelled = HostEvent::Cancelled {
        reason: "by user".into(),
    };
    let lost = HostEvent::NodeFailed {
        reason: "the Machine m was unhealthy".into(),
    };
    let writing = stage(HostStage::WritingImageToDisk);
    for (name, events, counts) in [
        ("refused", vec![failed("no image is named")], 0),
        (
            "refused later",
            vec![stage(HostStage::Installing), told("the ignition cannot be had")],
            0,
        ),
        (
            "a disk",
            vec![writing.clone(), failed("the disk cannot be written")],
            1,
        ),
        (
            "a disk, told",
            vec![writing.clone(), told("the disk cannot be written")],
            1,
        ),
        (
            "no image",
            vec![writing.clone(), told("/x cannot be downloaded: 404")],
            0,
        ),
        ("a restart", vec![World::new().registered()], 1),
        (
            "the boot order",
            vec![stage(HostStage::Rebooting), World::new().registered()],
            1,
        ),
        ("a medium", vec![writing.clone(), HostEvent::MediaLost], 0),
        ("a person", vec![writing.clone(), cancelled], 0),
        (
            "a cluster that does not come up",
            vec![stage(HostStage::WaitingForControlPlane), failed("an hour")],
            0,
        ),
        (
            "success",
            vec![stage(HostStage::Rebooting), stage(HostStage::Done)],
            0,
        ),
        (
            "a node that is lost",
            vec![stage(HostStage::Rebooting), stage(HostStage::Done), lost.clone()],
            1,
        ),
        (
            "a node that never came",
            vec![stage(HostStage::Rebooting), lost.clone()],
            1,
        ),
        ("a refusal, and then no node", vec![failed("no image"), lost], 0),
    ] {
        let mut world = world();
        let host = world.known_host_of_cluster();
        let host = world.after(&host, &HostEvent::InstallRequested);
        let host = after_all(&world, &host, &events);
        assert_eq!(count(&host), counts, "{name}: {:?}", host.state);
    }
}

#[test]
fn silence_in_the_middle_counts() {
    let mut world = world();
    let host = world.known_host_of_cluster();
    let mut host = world.after(&host, &HostEvent::InstallRequested);
    while host.state == HostState::Installing {
        world.now = host.due_at.expect("a deadline runs");
        host = world.after(&host, &HostEvent::DeadlinePassed);
    }
    assert_eq!((host.state.clone(), count(&host)), (HostState::Error, 1));
    let failures = host.data.failures.unwrap();
    assert_eq!(
        (failures.last_at, failures.stage.as_str()),
        (world.now, "installing")
    );
    assert!(
        failures.message.contains("has not polled"),
        "{}",
        failures.message
    );
}

#[test]
fn failures_add_up_to_quarantine_and_success_ends_them() {
    let mut world = world();
    let mut host = world.known_host_of_cluster();
    host = world.after(&host, &HostEvent::InventoryReported(with_disk("D2")));
    for times in 1..=3 {
        host = fails_and_returns(&world, &host);
        assert_eq!((count(&host), host.state.clone()), (times, HostState::Known));
    }
    // Its cluster's bootstrap data may be at fault.
    assert!(!is_quarantined(host.data.failures.as_ref().unwrap()));
    let events = [
        HostEvent::InstallRequested,
        stage(HostStage::WritingImageToDisk),
        world.registered(),
        HostEvent::ResetRequested,
        world.registered(),
        HostEvent::InventoryReported(with_disk("D2")),
    ];
    let host = after_all(&world, &host, &events);
    assert!(is_quarantined(host.data.failures.as_ref().unwrap()));
    let events = [
        HostEvent::InstallRequested,
        stage(HostStage::Rebooting),
        stage(HostStage::Done),
    ];
    let host = after_all(&world, &host, &events);
    assert_eq!((count(&host), host.state), (0, HostState::AddedToExistingCluster));
}

#[test]
fn a_person_and_a_replaced_part_free_a_host_and_a_missing_part_does_not() {
    let mut world = world();
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InventoryReported(with_disk("D2")));
    let host = fails_and_returns(&world, &host);
    let mut missing = with_disk("D2");
    missing.disks.truncate(1);
    for (event, left) in [
        (HostEvent::FailuresForgotten, 0),
        (HostEvent::InventoryReported(with_disk("D3")), 0),
        (HostEvent::InventoryReported(with_disk("D2")), 1),
        (HostEvent::InventoryReported(missing), 1),
        (HostEvent::DeadlinePassed, 1),
    ] {
        assert_eq!(count(&world.after(&host, &event)), left, "{}", event.name());
    }
    let healthy = world.known_host();
    let step = world.step(&healthy, &HostEvent::FailuresForgotten).unwrap();
    assert!(!step.changed);
}
