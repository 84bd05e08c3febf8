//! The order of hosts, and windows of it.

use muster_core::query::{Cursor, CursorError, HostSummary, Sort, SortKey, window};
use proptest::prelude::*;
use strum::VariantArray;

use super::oracle::hosts;
use super::sample::{bare, host};

fn sort(text: &str) -> Sort {
    text.parse().unwrap()
}

fn names(hosts: &[HostSummary], order: &str) -> Vec<String> {
    let window = window(hosts, sort(order), None, 100);
    window.hosts.iter().map(|host| host.name.clone()).collect()
}

/// A host of this name, changed.
fn named(name: &str, change: impl FnOnce(&mut HostSummary)) -> HostSummary {
    let mut host = host();
    host.name = name.into();
    change(&mut host);
    host
}

#[test]
fn names_with_numbers_are_in_their_natural_order() {
    let hosts = ["node-10", "node-2", "Node-1", "a"].map(|name| named(name, |_| {}));
    assert_eq!(names(&hosts, "name"), ["a", "Node-1", "node-2", "node-10"]);
    assert_eq!(names(&hosts, "-name"), ["node-10", "node-2", "Node-1", "a"]);
}

#[test]
fn what_is_not_known_is_last_in_both_directions() {
    let cpus =
        |threads: u32| move |host: &mut HostSummary| host.hardware.as_mut().unwrap().cpu_threads = threads;
    let hosts = [
        named("b", cpus(64)),
        named("none", cpus(0)),
        named("c", cpus(8)),
        named("a", cpus(64)),
    ];
    assert_eq!(names(&hosts, "cpu"), ["c", "a", "b", "none"]);
    assert_eq!(names(&hosts, "-cpu"), ["a", "b", "c", "none"]);
    let hosts = [bare(), named("a", |_| {})];
    let unknown = [
        "cluster", "cpu", "memory", "disk", "serial", "model", "switch", "agent",
    ];
    for key in unknown
        .iter()
        .flat_map(|key| [(*key).to_owned(), format!("-{key}")])
    {
        assert_eq!(names(&hosts, &key)[1], bare().name, "{key}");
    }
}

#[test]
fn each_key_orders_by_its_value() {
    for key in SortKey::VARIANTS {
        let mut last = named("b", |_| {});
        let hardware = last.hardware.as_mut().unwrap();
        match key {
            SortKey::Name => last.name = "z".into(),
            SortKey::State => last.status = muster_api::host::HostStatus::Known,
            SortKey::Pool => last.pool = "rack-10".into(),
            SortKey::Cluster => last.cluster = "prod-10".into(),
            SortKey::Cpu => hardware.cpu_threads += 1,
            SortKey::Memory => hardware.memory_bytes += 1,
            SortKey::Disk => hardware.disks[0].bytes += 1,
            SortKey::Seen => last.seen_at += chrono::TimeDelta::microseconds(1),
            SortKey::Since => last.since += chrono::TimeDelta::microseconds(1),
            SortKey::Serial => hardware.serial = "SN-10000".into(),
            SortKey::Model => hardware.model = "poweredge r1000".into(),
            SortKey::Switch => hardware.ports[0].port = "Gi1/0/10".into(),
            SortKey::Agent => last.agent_version = "muster-agent/0.10.0".into(),
        }
        let first = named("c", |_| {});
        let hosts = [last.clone(), first.clone()];
        assert_eq!(
            names(&hosts, &key.to_string()),
            [first.name.clone(), last.name.clone()],
            "{key}"
        );
        assert_eq!(
            names(&hosts, &format!("-{key}")),
            [last.name, first.name],
            "{key}"
        );
    }
}

#[test]
fn orders_are_read_and_written() {
    for text in ["name", "-cpu", "switch"] {
        assert_eq!(sort(text).to_string(), text);
    }
    assert_eq!(Sort::default(), sort("NAME"));
    for (text, message) in [
        ("memroy", "\"memroy\" is no order of hosts; is it memory?"),
        ("-colour", "\"colour\" is no order of hosts; write"),
        ("", "is no order"),
        ("--cpu", "is no order"),
    ] {
        let told = text.parse::<Sort>().unwrap_err().to_string();
        assert!(told.contains(message), "{told}");
    }
    assert!("x".repeat(1 << 20).parse::<Sort>().unwrap_err().to_string().len() < 300);
}

#[test]
fn cursors_are_of_one_order() {
    let cursor = Cursor::of(&host(), sort("-cpu"));
    let text = cursor.to_string();
    assert!(
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
        "{text}"
    );
    assert_eq!(Cursor::read(&text, sort("-cpu")), Ok(cursor));
    let (found, wanted) = (sort("-cpu"), sort("cpu"));
    assert_eq!(
        Cursor::read(&text, wanted),
        Err(CursorError::OtherSort { found, wanted })
    );
    for wrong in ["", "!", &text[1..], &"A".repeat(1 << 20)] {
        assert_eq!(
            Cursor::read(wrong, wanted),
            Err(CursorError::Unreadable),
            "{:.40}",
            wrong
        );
    }
}

#[test]
fn a_window_of_nothing_has_no_end() {
    let nobody: [HostSummary; 0] = [];
    let none = window(&nobody, Sort::default(), None, 10);
    assert_eq!((none.hosts.len(), none.last, none.has_more), (0, None, false));
    let hosts = [host()];
    let cut = window(&hosts, Sort::default(), None, 0);
    assert_eq!((cut.hosts.len(), cut.last, cut.has_more), (0, None, true));
}

/// Names and ids of all windows of `size`, one after the other; between two of them `change` happens to the hosts.
fn walk(
    hosts: &mut Vec<HostSummary>,
    sort: Sort,
    size: usize,
    mut change: impl FnMut(&mut Vec<HostSummary>),
) -> Vec<HostSummary> {
    let mut found = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let window = window(&*hosts, sort, after.as_ref(), size);
        found.extend(window.hosts.into_iter().cloned());
        if !window.has_more {
            return found;
        }
        let text = window.last.unwrap().to_string();
        after = Some(Cursor::read(&text, sort).unwrap());
        change(hosts);
    }
}

fn any_sort() -> impl Strategy<Value = Sort> {
    let key = proptest::sample::select(SortKey::VARIANTS);
    (key, any::<bool>()).prop_map(|(key, is_descending)| Sort { key, is_descending })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn windows_make_up_the_list(mut hosts in hosts(), sort in any_sort(), size in 1_usize..5) {
        let all: Vec<HostSummary> = window(&hosts, sort, None, 1000).hosts.into_iter().cloned().collect();
        prop_assert_eq!(all.len(), hosts.len());
        prop_assert_eq!(walk(&mut hosts, sort, size, |_| {}), all.clone());
        hosts.reverse();
        prop_assert_eq!(walk(&mut hosts, sort, size, |_| {}), all);
    }

    #[test]
    fn windows_show_each_host_once_while_others_come_and_go(
        hosts in hosts(), sort in any_sort(), size in 1_usize..4, leave in proptest::collection::vec(any::<bool>(), 12),
    ) {
        // Those that leave were there from the beginning; those that come are the others.
        let (mut leaving, staying): (Vec<_>, Vec<_>) =
            hosts.iter().cloned().zip(leave).partition(|(_, leaves)| *leaves);
        let ids = |hosts: Vec<HostSummary>| hosts.into_iter().map(|host| host.id).collect::<Vec<_>>();
        let staying: Vec<HostSummary> = staying.into_iter().map(|(host, _)| host).collect();
        let mut coming: Vec<HostSummary> = leaving.split_off(leaving.len() / 2).into_iter().map(|(host, _)| host).collect();
        let mut present = staying.clone();
        present.extend(leaving.into_iter().map(|(host, _)| host));
        let stays: Vec<_> = ids(staying);
        let found = ids(walk(&mut present, sort, size, |hosts| {
            hosts.extend(coming.pop());
            if let Some(at) = hosts.iter().position(|host| !stays.contains(&host.id)) {
                hosts.remove(at);
            }
        }));
        for id in &stays {
            prop_assert_eq!(found.iter().filter(|found| *found == id).count(), 1);
        }
    }
}
