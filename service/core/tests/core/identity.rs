//! Two machines that claim one host id.

use muster_api::fingerprint::Fingerprint;
use muster_core::host::identity::{self, DUPLICATE_HOST_ID, Judgement, judge};
use muster_core::host::{Host, HostEvent};

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
        assert_eq!(judge(&host, &same), Judgement::Same, "{same:?}");
    }
    let (_, foreign) = host_with(None);
    assert_eq!(judge(&foreign, &machine(&["z"], &[])), Judgement::Same);
}

#[test]
fn the_second_machine_is_given_the_same_id_each_time_and_both_are_told() {
    let (world, first) = host_with(Some(machine(&["a"], &["1"])));
    let second = machine(&["c", "d"], &["2"]);
    let Judgement::Different(twin) = judge(&first, &second) else {
        panic!("they share nothing");
    };
    assert_ne!(twin.id, first.id);
    assert_eq!(twin.id.0.get_version_num(), 5);
    // A card more and a disk less make no third one of it.
    assert_eq!(
        identity::own_id(first.id, &machine(&["c", "d", "e"], &[])),
        twin.id
    );
    assert_ne!(identity::own_id(first.id, &machine(&["x"], &["2"])), twin.id);
    assert_eq!(twin.on_first.others, [twin.id]);
    assert_eq!(twin.on_second.others, [first.id]);
    for finding in [&twin.on_first, &twin.on_second] {
        assert_eq!(finding.kind, DUPLICATE_HOST_ID);
        assert!(
            finding.message.contains(&twin.id.to_string()) || finding.message.contains(&first.id.to_string())
        );
        assert!(finding.message.contains("MAC a") && finding.message.contains("MAC c"));
    }
    let claimed = HostEvent::IdClaimed(twin.on_first.clone());
    let step = world.step(&first, &claimed).unwrap();
    assert_eq!(step.events[0].name, "muster_finding_appeared");
    assert_eq!(identity::twins(&step.host), [twin.id]);
    assert!(!world.step(&step.host, &claimed).unwrap().changed);
    // Nothing that it tells of itself takes the finding away; an operator can.
    let told = world.after(&step.host, &HostEvent::InventoryReported(good_inventory()));
    assert_eq!(told.data.findings, std::slice::from_ref(&twin.on_first));
    let settled = world.after(&told, &HostEvent::IdentitySettled { other: Some(twin.id) });
    assert!(settled.data.findings.is_empty());
    assert!(!world.step(&settled, &claimed).unwrap().changed, "it is settled");
    assert_eq!(identity::twins(&settled), [twin.id]);
}

#[test]
fn a_fingerprint_is_kept_from_registration_to_registration() {
    let (mut world, host) = host_with(Some(machine(&["a"], &[])));
    assert_eq!(host.data.fingerprint, Some(machine(&["a"], &[])));
    world.fingerprint = None;
    let again = world.after(&host, &world.registered());
    assert_eq!(again.data.fingerprint, Some(machine(&["a"], &[])));
}
