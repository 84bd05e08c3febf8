//! Two machines that claim one host id.

use muster_api::fingerprint::Fingerprint;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::Host;
use muster_core::rules::identity;
use muster_core::rules::identity::{Comparison, DUPLICATE_HOST_ID, compare};

use crate::world::{World, good_inventory};

fn machine(macs: &[&str], wwns: &[&str]) -> Fingerprint {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Fingerprint {
        board_serial: "To be filled".into(),
        macs: owned(macs),
        disk_wwns: owned(wwns),
        ..Fingerprint::default()
    }
}

fn host_with(fingerprint: Option<Fingerprint>) -> (World, Host) {
    let mut world = World::new();
    world.fingerprint = fingerprint;
    let host = world.register();
    (world, host)
}

/// Addresses of makers.
const A: &str = "00:25:90:00:00:0a";
const B: &str = "00:25:90:00:00:0b";
const C: &str = "00:25:90:00:00:0c";
const D: &str = "00:25:90:00:00:0d";
/// The address that every board of a maker shows by USB, and locally administered addresses.
const GADGET: &str = "b0:3a:f2:b6:05:9f";
const VIRTUAL: [&str; 3] = ["52:54:00:00:00:01", "52:54:00:00:00:02", "02:11:22:33:44:55"];

#[test]
fn a_machine_is_known_again_by_its_cards_or_its_disks() {
    let (_, host) = host_with(Some(machine(&[A, B], &["1"])));
    for same in [
        machine(&[A, B, C], &["2"]),
        machine(&[B], &["2"]),
        machine(&[B, C], &["1"]),
        machine(&[B, C], &[]),
        machine(&[GADGET], &["1"]),
        machine(&[], &["1"]),
        machine(&[], &[]),
        Fingerprint::default(),
    ] {
        assert_eq!(compare(&host, &same), Comparison::Same, "{same:?}");
    }
    let (_, foreign) = host_with(None);
    assert_eq!(compare(&foreign, &machine(&["z"], &[])), Comparison::Same);
}

/// The second of two boards with one serial number: a part that both have proves nothing.
#[test]
fn parts_that_two_machines_have_make_no_one_machine_of_them() {
    let uuid = |fingerprint: Fingerprint, uuid: &str| Fingerprint {
        system_uuid: uuid.into(),
        ..fingerprint
    };
    for (why, first, second) in [
        (
            "the gadget of a known controller",
            machine(&[GADGET, A], &[]),
            machine(&[GADGET, B], &[]),
        ),
        (
            "a gadget alone on one side",
            machine(&[GADGET, A], &["1"]),
            machine(&[GADGET], &["2"]),
        ),
        (
            "an address that was made up",
            machine(&[VIRTUAL[2], A], &["1"]),
            machine(&[VIRTUAL[2], B], &["1"]),
        ),
        (
            "the gadget of an unknown controller",
            machine(&[D, A], &["1"]),
            machine(&[D, B], &["2"]),
        ),
        (
            "likewise, without disks",
            uuid(machine(&[D, A], &[]), "1"),
            uuid(machine(&[D, B], &[]), "2"),
        ),
        (
            "a disk that both reach",
            machine(&[A], &["1"]),
            machine(&[B], &["1"]),
        ),
        (
            "likewise, two virtual machines",
            machine(&[VIRTUAL[0]], &["1"]),
            machine(&[VIRTUAL[1]], &["1"]),
        ),
        (
            "clones with one address",
            uuid(machine(&[VIRTUAL[0]], &[]), "1"),
            uuid(machine(&[VIRTUAL[0]], &[]), "2"),
        ),
        ("no cards", machine(&[], &["1"]), machine(&[], &["2"])),
    ] {
        for (known, new) in [(&first, &second), (&second, &first)] {
            let (_, host) = host_with(Some(known.clone()));
            assert!(matches!(compare(&host, new), Comparison::Different(_)), "{why}");
            assert_eq!(compare(&host, known), Comparison::Same, "{why}");
        }
    }
    // The second keeps its id when the gadget is switched off.
    let (_, host) = host_with(Some(machine(&[A], &[])));
    let id = |new| match compare(&host, &new) {
        Comparison::Different(duplicate) => duplicate.id,
        Comparison::Same => panic!("they share nothing"),
    };
    assert_eq!(id(machine(&[VIRTUAL[2], GADGET, B], &[])), id(machine(&[B], &[])));
}

#[test]
fn a_flood_of_claims_leaves_a_bounded_record() {
    let (world, mut first) = host_with(Some(machine(&["a"], &["1"])));
    for number in 0..100 {
        let other = machine(&[&format!("x{number}")], &[]);
        let Comparison::Different(duplicate) = compare(&first, &other) else {
            panic!("they share nothing");
        };
        first = world.after(&first, &HostEvent::IdClaimed(duplicate.on_first));
    }
    assert_eq!(identity::lasting(&first).len(), identity::MOST_DUPLICATES + 1);
    assert_eq!(identity::duplicates(&first).len(), identity::MOST_DUPLICATES);
}

#[test]
fn the_second_machine_is_given_the_same_id_each_time_and_both_are_told() {
    let (world, first) = host_with(Some(machine(&["a"], &["1"])));
    let second = machine(&["c", "d"], &["2"]);
    let Comparison::Different(duplicate) = compare(&first, &second) else {
        panic!("they share nothing");
    };
    assert_ne!(duplicate.id, first.id);
    assert_eq!(duplicate.id.0.get_version_num(), 5);
    // An added card and a removed disk do not lead to a third host.
    assert_eq!(
        identity::own_id(first.id, &machine(&["c", "d", "e"], &[])),
        duplicate.id
    );
    assert_ne!(identity::own_id(first.id, &machine(&["x"], &["2"])), duplicate.id);
    assert_eq!(duplicate.on_first.others, [duplicate.id]);
    assert_eq!(duplicate.on_second.others, [first.id]);
    for finding in [&duplicate.on_first, &duplicate.on_second] {
        assert_eq!(finding.kind, DUPLICATE_HOST_ID);
        assert!(
            finding.message.contains(&duplicate.id.to_string())
                || finding.message.contains(&first.id.to_string())
        );
        assert!(finding.message.contains("MAC a") && finding.message.contains("MAC c"));
    }
    let claimed = HostEvent::IdClaimed(duplicate.on_first.clone());
    let step = world.step(&first, &claimed).unwrap();
    assert_eq!(step.events[0].name, "muster_finding_appeared");
    assert_eq!(identity::duplicates(&step.host), [duplicate.id]);
    assert!(!world.step(&step.host, &claimed).unwrap().changed);
    // Later reports do not remove the finding; an operator can.
    let told = world.after(&step.host, &HostEvent::InventoryReported(good_inventory()));
    assert_eq!(told.data.findings, std::slice::from_ref(&duplicate.on_first));
    let settled = world.after(
        &told,
        &HostEvent::IdentitySettled {
            other: Some(duplicate.id),
        },
    );
    assert!(settled.data.findings.is_empty());
    assert!(!world.step(&settled, &claimed).unwrap().changed, "it is settled");
    assert_eq!(identity::duplicates(&settled), [duplicate.id]);
}

#[test]
fn a_fingerprint_is_kept_from_registration_to_registration() {
    let (mut world, host) = host_with(Some(machine(&["a"], &[])));
    assert_eq!(host.data.fingerprint, Some(machine(&["a"], &[])));
    world.fingerprint = None;
    let again = world.after(&host, &world.registered());
    assert_eq!(again.data.fingerprint, Some(machine(&["a"], &[])));
}
