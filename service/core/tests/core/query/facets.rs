//! Counts by value, and what the terms of a filter remove.

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_core::query::{FACETS, Facet, FacetValue, HostSummary, Key, facets, removals};
use proptest::prelude::*;
use uuid::Uuid;

use super::oracle::hosts;
use super::sample::{bare, host, now, passes, query};

fn of(hosts: &[HostSummary], key: Key) -> Facet {
    facets(hosts, hosts, &[key], 100).remove(0)
}

fn counts(facet: &Facet) -> Vec<(&str, usize)> {
    let values = facet.values.iter();
    values.map(|value| (value.value.as_str(), value.hosts)).collect()
}

#[test]
fn hosts_are_counted_by_their_values() {
    let named = |model: &str, switches: &[&str]| {
        let mut host = host();
        let hardware = host.hardware.as_mut().unwrap();
        hardware.model = model.into();
        hardware
            .ports
            .retain(|port| switches.contains(&port.switch.as_str()));
        host
    };
    let hosts = [
        named("R750", &["sw1", "sw2"]),
        named("r750", &["sw2"]),
        named("R650", &[]),
        bare(),
    ];
    let model = of(&hosts, Key::Model);
    assert_eq!(counts(&model), [("R750", 2), ("R650", 1)]);
    assert_eq!((model.unknown, model.left_out), (1, 0));
    assert_eq!(counts(&of(&hosts, Key::Switch)), [("sw2", 2), ("sw1", 1)]);
    assert_eq!(counts(&of(&hosts, Key::Approved)), [("yes", 3)]);
    assert_eq!(
        counts(&of(&hosts, Key::Finding)),
        [("clock-offset", 3), ("waiting", 3)]
    );
    assert_eq!(of(&hosts, Key::Cluster).unknown, 1);
    let few = facets(&hosts, &hosts, &[Key::State, Key::Model], 1);
    assert_eq!(few[0].key, Key::State);
    assert_eq!((counts(&few[1]), few[1].left_out), (vec![("R750", 2)], 1));
    let spaced = of(&[named("Power Edge, 7", &[])], Key::Model);
    assert_eq!(spaced.term(&spaced.values[0]), "model:\"Power Edge, 7\"");
    assert_eq!(spaced.values[0].id, None);
    let valued = |value: &str| FacetValue {
        value: value.into(),
        ..spaced.values[0].clone()
    };
    assert_eq!(few[0].term(&valued("known")), "state:known-bound");
    assert_eq!(spaced.term(&valued("")), "model:\"\"");
}

#[test]
fn pools_and_clusters_of_one_name_are_counted_apart() {
    let of_pool = |id: u128, name: &str| HostSummary {
        infra_env_id: InfraEnvId(Uuid::from_u128(id)),
        pool: name.into(),
        ..host()
    };
    let hosts = [
        of_pool(1, "lab"),
        of_pool(2, "Lab"),
        of_pool(2, "Lab"),
        of_pool(3, "rack"),
    ];
    let pools = of(&hosts, Key::Pool);
    assert_eq!(counts(&pools), [("Lab", 2), ("lab", 1), ("rack", 1)]);
    let terms: Vec<String> = pools.values.iter().map(|value| pools.term(value)).collect();
    assert_eq!(
        terms,
        [
            "pool:00000000-0000-0000-0000-000000000002",
            "pool:00000000-0000-0000-0000-000000000001",
            "pool:rack"
        ]
    );
    assert_eq!(
        pools.values[2].id.as_deref(),
        Some("00000000-0000-0000-0000-000000000003")
    );
    // The term of a value stays the same where the filter leaves nothing of the other record.
    let one = facets(&hosts[..1], &hosts, &[Key::Pool], 100).remove(0);
    assert_eq!(counts(&one), [("lab", 1)]);
    assert_eq!(one.term(&one.values[0]), terms[1]);

    let of_cluster = |id: u128| HostSummary {
        cluster_id: Some(ClusterId(Uuid::from_u128(id))),
        ..host()
    };
    let clusters = of(&[of_cluster(1), of_cluster(2), bare()], Key::Cluster);
    assert_eq!(counts(&clusters), [("Prod", 1), ("Prod", 1)]);
    assert_eq!(clusters.unknown, 1);
}

#[test]
fn two_cables_to_one_switch_are_one_host() {
    let mut host = host();
    host.hardware.as_mut().unwrap().ports[1].switch = "SW1".into();
    assert_eq!(counts(&of(&[host], Key::Switch)), [("SW1", 1)]);
}

#[test]
fn an_empty_result_is_explained_by_its_terms() {
    let hosts = [host(), host(), bare()];
    let query = query("cpu:>32 -finding:waiting model:*r750");
    let removals = removals(&query, &hosts, now());
    let found: Vec<(&str, usize, usize)> = removals
        .iter()
        .map(|one| (one.term.as_str(), one.removes, one.removes_alone))
        .collect();
    let expected = [
        ("cpu:>32", 1, 0),
        ("-finding:waiting", 2, 2),
        ("model:*r750", 1, 0),
    ];
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_count_is_the_number_of_hosts_that_its_term_lets_pass(hosts in hosts()) {
        for facet in facets(&hosts, &hosts, &FACETS, usize::MAX) {
            let passing = |term: &str| hosts.iter().filter(|host| passes(term, host)).count();
            for value in &facet.values {
                prop_assert_eq!(passing(&facet.term(value)), value.hosts, "{:?}", facet);
            }
            prop_assert_eq!(passing(&format!("{}:\"\"", facet.key)), facet.unknown, "{:?}", facet);
        }
    }
}
