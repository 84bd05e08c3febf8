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

#[test]
fn a_machine_is_known_again_by_any_card_or_disk() {
    let (_, host) = host_with(Some(machine(&["a", "b"], &["1"])));
    for same in [
        machine(&["b", "c"], &["2"]),
        machine(&["c"], &["1"]),
        machine(&[], &[]),
        Fingerprint::default(),
    ] {
        assert_eq!(compare(&host, &same), Comparison::Same, "{same:?}");
    }
    let (_, foreign) = host_with(None);
    assert_eq!(compare(&foreign, &machine(&["z"], &[])), Comparison::Same);
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
    // A card more and a disk less make no third one of it.
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
    // Nothing that it tells of itself takes the finding away; an operator can.
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
