//! Hosts in a table are found, counted and ordered as their summaries are, and take little memory.

use chrono::Duration;
use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_api::search::HostSwitchPort;
use muster_core::query::{
    BmcSummary, Cursor, DiskSummary, DriveType, FACETS, Facts, HostSummary, HostTable, HostView, Query, Sort,
    SortKey, Window, Words, facets, removals, window,
};
use muster_core::record::SleepCause;
use muster_core::rules::sleep::Power;
use proptest::prelude::*;
use strum::VariantArray;
use uuid::Uuid;

use super::oracle::{filters, hosts};
use super::sample::{bare, host, now};

fn table(hosts: &[HostSummary]) -> HostTable {
    let mut table = HostTable::default();
    hosts.iter().for_each(|host| table.insert(host));
    table
}

/// The summaries of a table, by id.
fn summaries(table: &HostTable) -> Vec<HostSummary> {
    let mut all: Vec<HostSummary> = table.hosts().map(|host| host.summary()).collect();
    all.sort_by_key(|host| host.id);
    all
}

fn by_id(mut hosts: Vec<HostSummary>) -> Vec<HostSummary> {
    hosts.sort_by_key(|host| host.id);
    hosts
}

#[test]
fn a_row_has_all_of_a_summary() {
    let mut empty = host();
    let hardware = empty.hardware.as_mut().unwrap();
    hardware.serial.clear();
    hardware.ports[0].switch.clear();
    hardware.disks[0].bytes = u64::MAX;
    hardware.disks[1].drive_type = DriveType::EckdEse;
    empty.id = HostId(Uuid::from_u128(3));
    empty.labels.push(("zone".into(), "é".into()));
    empty.bmc.as_mut().unwrap().power.clear();
    empty.bmc.as_mut().unwrap().wakes = false;
    let mut asleep = bare();
    asleep.id = HostId(Uuid::from_u128(4));
    asleep.sleep = Power::Asleep(SleepCause::Person);
    asleep.kept_awake = true;
    asleep.sleep_failed_at = Some(now());
    let all = by_id(vec![host(), bare(), empty, asleep]);
    assert_eq!(summaries(&table(&all)), all);
}

#[test]
fn a_row_is_the_same_member_of_its_pool_as_its_summary() {
    let idle = HostSummary {
        status: HostStatus::KnownUnbound,
        bmc: host().bmc,
        findings: vec!["waiting".into()],
        ..bare()
    };
    let ready = idle.member_of_pool(now()).unwrap();
    assert!(ready.is_ready && ready.may_sleep && ready.power == Power::Awake);
    let change = |change: fn(&mut HostSummary)| {
        let mut one = idle.clone();
        change(&mut one);
        one
    };
    for (one, is_ready, may_sleep) in [
        (change(|_| {}), true, true),
        // Its disks are erased first: it is not known yet.
        (
            change(|one| one.status = HostStatus::DiscoveringUnbound),
            false,
            true,
        ),
        (change(|one| one.approved = Some(false)), false, true),
        (
            change(|one| one.findings.push("failed-before".into())),
            false,
            true,
        ),
        (change(|one| one.kept_awake = true), true, false),
        (change(|one| one.bmc.as_mut().unwrap().wakes = false), true, false),
        (change(|one| one.bmc = None), true, false),
        (
            change(|one| one.sleep_failed_at = Some(now() - Duration::hours(5))),
            true,
            false,
        ),
        (
            change(|one| one.sleep_failed_at = Some(now() - Duration::hours(6))),
            true,
            true,
        ),
    ] {
        let member = one.member_of_pool(now()).unwrap();
        assert_eq!(
            (member.is_ready, member.may_sleep),
            (is_ready, may_sleep),
            "{one:?}"
        );
        let table = table(std::slice::from_ref(&one));
        let row = table.get(one.infra_env_id, one.id).unwrap();
        assert_eq!(row.member_of_pool(now()), Some(member));
    }
    assert_eq!(host().member_of_pool(now()), None, "it is in a cluster");
}

#[test]
fn a_host_is_replaced_and_taken_out() {
    let mut table = table(&[host(), bare()]);
    let mut other = host();
    other.name = "renamed".into();
    table.insert(&other);
    assert_eq!(table.len(), 2);
    let found = table.get(other.infra_env_id, other.id).unwrap().summary();
    assert_eq!(found, other);
    table.remove(other.infra_env_id, other.id);
    assert_eq!(summaries(&table), [bare()]);
    table.remove(bare().infra_env_id, bare().id);
    assert!(table.is_empty() && table.get(other.infra_env_id, other.id).is_none());
}

#[test]
fn polls_and_bmcs_change_rows_that_copies_do_not_show() {
    let one = host();
    let mut table = table(&[one.clone(), bare()]);
    let copy = table.clone();
    let later = one.seen_at + Duration::seconds(5);
    table.note_poll(one.infra_env_id, one.id, later);
    table.note_poll(one.infra_env_id, one.id, one.seen_at);
    let bmc = BmcSummary {
        name: "other".into(),
        address: "192.0.2.8".into(),
        power: "Off".into(),
        wakes: true,
    };
    table.set_bmcs(|_, id| (id == bare().id).then_some(&bmc));
    let expected = by_id(vec![
        HostSummary {
            seen_at: later,
            bmc: None,
            ..one.clone()
        },
        HostSummary {
            bmc: Some(bmc.clone()),
            ..bare()
        },
    ]);
    assert_eq!(summaries(&table), expected);
    assert_eq!(summaries(&copy), by_id(vec![one, bare()]));
}

#[test]
fn texts_that_no_host_has_any_more_take_no_memory() {
    let mut table = table(&[host()]);
    for round in 0..100_000 {
        let mut changed = host();
        changed.reason = format!("written, {round} bytes");
        table.insert(&changed);
    }
    assert!(table.bytes() < 400_000, "{}", table.bytes());
    assert_eq!(summaries(&table)[0].reason, "written, 99999 bytes");
}

/// As a machine with two cables, four cards and six disks that waits for its installation.
fn generated(number: u128) -> HostSummary {
    let mut one = host();
    one.id = HostId(Uuid::from_u128((number << 64) | number));
    one.name = format!("rack{}-node-{number}.example.test", number / 40);
    one.reason = format!("Writing image to disk, {} %", number % 100);
    let hardware = one.hardware.as_mut().unwrap();
    hardware.serial = format!("SN-{number:012}");
    hardware.macs = (0..4)
        .map(|card| format!("52:54:{card:02x}:{:02x}:{:02x}:01", number / 256, number % 256))
        .collect();
    hardware.ips = (0..2)
        .map(|card| format!("10.{card}.{}.{}", number / 256, number % 256))
        .collect();
    hardware.disks = (0..6)
        .map(|disk| DiskSummary {
            bytes: 1_920_383_410_176,
            drive_type: DriveType::Ssd,
            serial: format!("S4{number:010}{disk:04}"),
        })
        .collect();
    hardware.ports = (1..3)
        .map(|cable| HostSwitchPort {
            switch: format!("rack{}-leaf{cable}", number / 40),
            port: format!("Ethernet{}/1", number % 40),
        })
        .collect();
    one
}

#[test]
fn ten_thousand_hosts_take_less_than_twelve_megabytes() {
    let mut table = HostTable::default();
    (0..10_000).for_each(|number| table.insert(&generated(number)));
    assert_eq!(table.len(), 10_000);
    let bytes = table.bytes();
    assert!((4_000_000..12_000_000).contains(&bytes), "{bytes}");
}

fn any_sort() -> impl Strategy<Value = Sort> {
    let key = proptest::sample::select(SortKey::VARIANTS);
    (key, any::<bool>()).prop_map(|(key, is_descending)| Sort { key, is_descending })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_answers_as_its_summaries_do(
        hosts in hosts(), filter in filters(), sort in any_sort(), size in 1_usize..6, after in any::<prop::sample::Index>(),
    ) {
        let table = table(&hosts);
        prop_assert_eq!(summaries(&table), hosts.clone());
        let query = Query::parse(&filter).unwrap();
        let fit: Vec<&HostSummary> = hosts.iter().filter(|host| query.matches(*host, now())).collect();
        let found: Vec<_> = table.hosts().filter(|host| query.matches(*host, now())).collect();

        // In order, by comparing each host with each.
        let all = window(fit.iter().copied(), sort, None, usize::MAX);
        let places: Vec<HostId> = all.hosts.iter().map(|host| host.id).collect();
        let ids = |window: Window<HostView<'_>>| -> Vec<HostId> {
            window.hosts.iter().map(|host| host.summary().id).collect()
        };
        prop_assert_eq!(ids(window(found.iter().copied(), sort, None, usize::MAX)), places.clone());
        let first = window(found.iter().copied(), sort, None, size);
        prop_assert_eq!(first.has_more, places.len() > size);
        prop_assert_eq!(ids(first), places[..size.min(places.len())].to_vec());
        if !fit.is_empty() {
            let at = after.index(fit.len());
            let cursor = Cursor::of(all.hosts[at], sort);
            let next = window(found.iter().copied(), sort, Some(&cursor), size);
            let end = (at + 1 + size).min(places.len());
            prop_assert_eq!(ids(next), places[at + 1..end].to_vec());
        }

        let counted = facets(found.iter().copied(), table.hosts(), &FACETS, usize::MAX);
        prop_assert_eq!(counted, facets(fit.iter().copied(), &hosts, &FACETS, usize::MAX));
        prop_assert_eq!(removals(&query, table.hosts(), now()), removals(&query, &hosts, now()));
    }

    #[test]
    fn words_fit_rows_as_they_fit_summaries(hosts in hosts(), text in "[nN]ode-1?|r7|sw2|52:54|10\\.0|[0-9a-f]{1,3}") {
        let table = table(&hosts);
        let words = Words::read(&text).unwrap();
        for host in &hosts {
            let row = table.get(host.infra_env_id, host.id).unwrap();
            prop_assert_eq!(words.query().matches(row, now()), words.query().matches(host, now()));
            prop_assert_eq!(words.fit_of(row), words.fit_of(host));
        }
    }
}
