//! Quotas: limits, reservations, and the order of machines that wait for the same hosts.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_core::rules::placement::{
    Behind, Candidate, Hardware, Line, Need, NotTaken, Open, Operator, Quota, Requirement, Rest, Selector,
    Usage, Waiting, in_force, place_in_line, usage,
};
use proptest::prelude::*;

const POOL: &str = "hardware";

fn now() -> Timestamp {
    crate::world::start()
}

fn at(minutes: i64) -> Timestamp {
    now() + Duration::minutes(minutes)
}

fn host(name: &str, sort: &str) -> Candidate {
    Candidate {
        host: KubeRef::new(POOL, name),
        labels: BTreeMap::from([("sort".to_owned(), sort.to_owned())]),
        infra_env: Some(KubeRef::new(POOL, "hw")),
        is_approved: true,
        is_leaving: false,
        bound: Some(false),
        connected: Some(true),
        validated: Some(true),
        state: "known-unbound".into(),
        cluster: None,
        taken_by: None,
        hardware: Hardware::default(),
        architecture: None,
        failures: None,
        erasure: None,
        rest: Rest::Awake,
    }
}

fn hosts(number: usize) -> Vec<Candidate> {
    (0..number).map(|n| host(&format!("h{n}"), "plain")).collect()
}

/// `one`, taken for a machine of the consumer.
fn taken(one: Candidate, consumer: &str, machine: &str) -> Candidate {
    Candidate {
        taken_by: Some(KubeRef::new(consumer, machine)),
        cluster: Some(KubeRef::new(consumer, "cluster")),
        ..one
    }
}

fn of_sort(sort: Option<&str>) -> Selector {
    let requirement = |sort: &str| Requirement {
        key: "sort".into(),
        operator: Operator::In(vec![sort.to_owned()]),
    };
    Selector(sort.map(requirement).into_iter().collect())
}

/// A machine that was made so many minutes after the start.
fn machine(consumer: &str, name: &str, minutes: i64) -> Waiting {
    Waiting {
        need: Need {
            machine: KubeRef::new(consumer, name),
            cluster: KubeRef::new(consumer, "cluster"),
            namespace: POOL.into(),
            open: Open::Of(BTreeSet::from([KubeRef::new(POOL, "hw")])),
            selector: Selector::default(),
            failure_domain: None,
            minimum: Hardware::default(),
            imaged: None,
            architecture: None,
        },
        since: at(minutes),
        refused: BTreeSet::new(),
    }
}

fn quota(consumer: &str) -> Quota {
    Quota {
        name: format!("of-{consumer}"),
        consumer: consumer.to_owned(),
        selector: Selector::default(),
        open: Open::Of(BTreeSet::from([KubeRef::new(POOL, "hw")])),
        limit: None,
        reserved: 0,
        priority: 0,
        since: at(0),
    }
}

/// The hosts that the machine can take, and the reason against each of the others.
fn judged(
    own: &Waiting,
    hosts: &[Candidate],
    quotas: &[Quota],
    waiting: &[Waiting],
) -> (Vec<String>, Vec<(String, NotTaken)>) {
    let waiting: Vec<&Waiting> = waiting.iter().collect();
    let line = Line {
        quotas,
        waiting: &waiting,
    };
    let placement = place_in_line(own, hosts, line, now());
    let ranked = placement.ranked.iter().map(|one| one.host.name.clone());
    let unfit = placement.unfit.iter();
    let unfit = unfit.map(|(one, why)| (one.host.name.clone(), why.clone()));
    (ranked.collect(), unfit.collect())
}

fn can_take(own: &Waiting, hosts: &[Candidate], quotas: &[Quota], waiting: &[Waiting]) -> Vec<String> {
    judged(own, hosts, quotas, waiting).0
}

/// The name of the reason against the only host.
fn reason(own: &Waiting, hosts: &[Candidate], quotas: &[Quota], waiting: &[Waiting]) -> &'static str {
    match judged(own, hosts, quotas, waiting) {
        (ranked, unfit) if ranked.is_empty() => unfit[0].1.name(),
        (ranked, _) => panic!("{ranked:?} can be taken"),
    }
}

#[test]
fn a_consumer_takes_as_many_as_its_limit_allows_and_only_of_what_the_quota_is_about() {
    let limited = Quota {
        limit: Some(1),
        ..quota("a")
    };
    let all = [taken(host("h0", "plain"), "a", "m0"), host("h1", "plain")];
    let own = machine("a", "m1", 1);
    let (ranked, unfit) = judged(&own, &all, std::slice::from_ref(&limited), &[]);
    assert!(ranked.is_empty());
    let exceeded = NotTaken::QuotaExceeded {
        quota: "of-a".into(),
        limit: 1,
    };
    assert!(unfit.contains(&("h1".to_owned(), exceeded)), "{unfit:?}");
    // Another consumer is not concerned.
    let other = machine("b", "m", 2);
    assert_eq!(
        can_take(&other, &all, std::slice::from_ref(&limited), &[]),
        ["h1"]
    );
    let of_gpus = Quota {
        selector: of_sort(Some("gpu")),
        ..limited.clone()
    };
    assert_eq!(can_take(&own, &all, &[of_gpus], &[]), ["h1"]);
    // Nothing is taken away: the machine that has a host keeps it, whatever the limit.
    let none = Quota {
        limit: Some(0),
        ..limited
    };
    let first = machine("a", "m0", 0);
    assert_eq!(can_take(&first, &all, std::slice::from_ref(&none), &[]), ["h0"]);
    assert_eq!(usage(&[none], &all, now())[0].used, 1);
}

#[test]
fn free_hosts_are_kept_for_those_who_have_them_reserved() {
    let reserving = Quota {
        reserved: 2,
        ..quota("a")
    };
    let quotas = [reserving];
    let (own, other) = (machine("a", "m", 1), machine("b", "m", 1));
    let all = hosts(2);
    let (_, unfit) = judged(&other, &all, &quotas, &[]);
    let kept = NotTaken::Reserved(vec![("of-a".into(), 2)]);
    assert_eq!(
        unfit,
        [("h0".to_owned(), kept.clone()), ("h1".to_owned(), kept.clone())]
    );
    let text = kept.to_string();
    assert!(text.ends_with("in use: of-a (2)"), "{text}");
    assert_eq!(can_take(&own, &all, &quotas, &[]), ["h0", "h1"]);
    // One more than what is reserved is free for all.
    assert_eq!(can_take(&other, &hosts(3), &quotas, &[]).len(), 3);
    // What is in use fulfils the reservation.
    let mut used = hosts(3);
    used[0] = taken(used[0].clone(), "a", "m0");
    assert_eq!(can_take(&other, &used, &quotas, &[]), ["h1", "h2"]);
    assert_eq!(reason(&other, &used[2..], &quotas, &[]), "Reserved");
}

#[test]
fn a_reservation_that_no_present_host_can_fulfil_holds_none() {
    let other = machine("b", "m", 1);
    let of_gpus = Quota {
        selector: of_sort(Some("gpu")),
        reserved: 3,
        ..quota("a")
    };
    assert_eq!(can_take(&other, &hosts(1), &[of_gpus], &[]), ["h0"]);
    let closed = Quota {
        open: Open::Of(BTreeSet::new()),
        reserved: 3,
        ..quota("a")
    };
    assert_eq!(can_take(&other, &hosts(1), &[closed], &[]), ["h0"]);
}

#[test]
fn reservations_above_the_pool_count_for_the_older_quota_and_block_nobody_for_ever() {
    let of = |consumer: &str, minutes| Quota {
        reserved: 2,
        since: at(minutes),
        ..quota(consumer)
    };
    let (quotas, _) = in_force(vec![of("young", 5), of("old", 1)]);
    let names: Vec<&str> = quotas.iter().map(|one| one.consumer.as_str()).collect();
    assert_eq!(names, ["old", "young"]);
    let all = hosts(3);
    let state = usage(&quotas, &all, now());
    let wanted = |held, covered| Usage {
        used: 0,
        held,
        covered,
        pool: 3,
    };
    assert_eq!(state, [wanted(2, 2), wanted(1, 1)]);
    let (old, young) = (machine("old", "m", 1), machine("young", "m", 1));
    assert_eq!(can_take(&old, &all, &quotas, &[]).len(), 3);
    assert_eq!(can_take(&young, &all, &quotas, &[]).len(), 3);
    // Two free hosts are the older one's.
    assert_eq!(reason(&young, &all[..2], &quotas, &[]), "Reserved");
    assert_eq!(can_take(&old, &all[..2], &quotas, &[]).len(), 2);
}

#[test]
fn of_two_quotas_for_one_consumer_the_older_counts() {
    let young = Quota {
        name: "young".into(),
        since: at(9),
        ..quota("a")
    };
    let (counting, others) = in_force(vec![young, quota("b"), quota("a")]);
    let names: Vec<&str> = counting.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["of-a", "of-b"]);
    assert_eq!(others, BTreeMap::from([("young".to_owned(), "of-a".to_owned())]));
}

#[test]
fn the_machine_of_a_higher_priority_or_greater_age_comes_first_and_names_of_others_stay_theirs() {
    let important = Quota {
        priority: 5,
        ..quota("a")
    };
    let quotas = [important, quota("b")];
    let waiting = [
        machine("b", "first", 1),
        machine("a", "late", 9),
        machine("b", "second", 2),
        machine("nobody", "third", 3),
    ];
    let order = ["late", "first", "second", "third"];
    for (place, name) in order.iter().enumerate() {
        let own = waiting.iter().find(|one| one.need.machine.name == *name).unwrap();
        // A host for each of those before, and one more.
        let served = can_take(own, &hosts(place + 1), &quotas, &waiting);
        assert_eq!(served, [format!("h{place}")], "{name}");
        if place == 0 {
            continue;
        }
        let (none, unfit) = judged(own, &hosts(place), &quotas, &waiting);
        assert!(none.is_empty(), "{name}");
        let NotTaken::BehindOthers(behind) = &unfit[0].1 else {
            panic!("{unfit:?}")
        };
        let text = unfit[0].1.to_string();
        assert!(!text.contains("late"), "{text}");
        assert_eq!(behind.since, own.since);
    }
    let (_, unfit) = judged(&waiting[2], &hosts(2), &quotas, &waiting);
    let wanted = Behind {
        own: vec![KubeRef::new("b", "first")],
        others: BTreeMap::from([(Some("of-a".to_owned()), 1)]),
        since: at(2),
    };
    assert_eq!(unfit[0].1, NotTaken::BehindOthers(wanted));
    assert_eq!(
        unfit[0].1.to_string(),
        format!(
            "it goes to an AgentMachine that comes first: b/first, 1 of the AgentQuota of-a; this one waits since {}",
            at(2).format("%Y-%m-%d %H:%M:%S UTC")
        )
    );
}

#[test]
fn a_machine_that_cannot_be_served_holds_up_no_other() {
    let important = Quota {
        priority: 5,
        limit: Some(1),
        ..quota("a")
    };
    let quotas = [important];
    let own = machine("b", "m", 9);
    let before = || machine("a", "before", 1);
    assert_eq!(reason(&own, &hosts(1), &quotas, &[before()]), "BehindOthers");
    let mut choosy = before();
    choosy.need.selector = of_sort(Some("gpu"));
    assert_eq!(can_take(&own, &hosts(1), &quotas, &[choosy]), ["h0"]);
    let mut refused = before();
    refused.refused = BTreeSet::from([KubeRef::new(POOL, "h0")]);
    assert_eq!(can_take(&own, &hosts(1), &quotas, &[refused]), ["h0"]);
    // Its quota is used up.
    let mut used = hosts(2);
    used[0] = taken(used[0].clone(), "a", "other");
    assert_eq!(can_take(&own, &used, &quotas, &[before()]), ["h1"]);
    // It has a host.
    used[0] = taken(used[0].clone(), "a", "before");
    assert_eq!(can_take(&own, &used, &quotas, &[before()]), ["h1"]);
    // What is free is reserved for others than it.
    let reserving = Quota {
        reserved: 1,
        ..quota("b")
    };
    let quotas = [quotas[0].clone(), reserving];
    assert_eq!(can_take(&own, &hosts(1), &quotas, &[before()]), ["h0"]);
}

/// One that sleeps, is woken, or did not wake.
fn resting(name: &str, rest: Rest) -> Candidate {
    Candidate {
        rest,
        ..host(name, "plain")
    }
}

#[test]
fn hosts_that_sleep_are_free_and_come_after_those_that_are_awake() {
    let reserving = Quota {
        reserved: 2,
        priority: 1,
        ..quota("a")
    };
    let quotas = [reserving];
    let (own, other) = (machine("a", "m", 2), machine("b", "m", 1));
    let all = [
        resting("h0", Rest::Asleep),
        resting("h1", Rest::Waking),
        host("h2", "plain"),
    ];
    let state = usage(&quotas, &all, now());
    assert_eq!((state[0].held, state[0].covered, state[0].pool), (2, 2, 3));
    assert_eq!(can_take(&own, &all, &quotas, &[]), ["h2", "h1", "h0"]);
    assert_eq!(can_take(&other, &all, &quotas, &[]), ["h2", "h1", "h0"]);
    // What sleeps is kept as well as what is awake.
    assert_eq!(reason(&other, &all[..2], &quotas, &[]), "Reserved");
    // The first machine gets the host that is awake, and the next one is woken for the other.
    let waiting = [own];
    let (ranked, unfit) = judged(&other, &all, &[quota("a")], &waiting);
    assert_eq!(ranked, ["h2", "h1", "h0"], "it is the older one");
    assert!(unfit.is_empty());
    let (ranked, unfit) = judged(&waiting[0], &all, &[quota("a")], std::slice::from_ref(&other));
    assert_eq!(ranked, ["h1", "h0"]);
    assert_eq!((unfit[0].0.as_str(), unfit[0].1.name()), ("h2", "BehindOthers"));
    // The reason of a host that is not taken names its sleep.
    let line = Line {
        quotas: &quotas,
        waiting: &[],
    };
    let placement = place_in_line(&other, &all, line, now());
    let sleeps: Vec<NotTaken> = placement
        .not_taken(None)
        .into_iter()
        .map(|(_, why)| why)
        .collect();
    let later = |is_asleep| NotTaken::LaterInOrder { is_asleep };
    assert_eq!(sleeps, [later(false), later(true), later(true)]);
}

#[test]
fn a_machine_whose_host_did_not_wake_waits_in_line_for_another_one() {
    let quotas = [quota("a"), quota("b")];
    let (lost, own) = (machine("a", "lost", 1), machine("b", "m", 9));
    let all = |rest| [taken(resting("h0", rest), "a", "lost"), host("h1", "plain")];
    let waiting = [lost];
    let awake = all(Rest::Waking);
    assert_eq!(can_take(&own, &awake, &quotas, &waiting), ["h1"]);
    let gone = all(Rest::DidNotWake);
    let (ranked, unfit) = judged(&own, &gone, &quotas, &waiting);
    assert!(ranked.is_empty());
    let behind = |(name, why): &(String, NotTaken)| name == "h1" && why.name() == "BehindOthers";
    assert!(unfit.iter().any(behind), "{unfit:?}");
    assert_eq!(can_take(&waiting[0], &gone, &quotas, &waiting), ["h1"]);
}

#[test]
fn a_host_that_one_machine_could_not_take_goes_to_the_next_one_that_is_alike() {
    let quotas = [quota("b")];
    let mut first = machine("a", "first", 1);
    first.refused = BTreeSet::from([KubeRef::new(POOL, "h0")]);
    let waiting = [first, machine("a", "second", 2), machine("a", "third", 3)];
    let own = machine("b", "m", 9);
    // The first has h1, the second h0, the third h2.
    assert_eq!(reason(&own, &hosts(2), &quotas, &waiting[..2]), "BehindOthers");
    assert_eq!(can_take(&own, &hosts(3), &quotas, &waiting[..2]), ["h2"]);
    assert_eq!(reason(&own, &hosts(3), &quotas, &waiting), "BehindOthers");
    assert_eq!(can_take(&own, &hosts(4), &quotas, &waiting), ["h3"]);
}

#[test]
fn without_quotas_nobody_waits_for_others() {
    let waiting = [machine("a", "before", 1)];
    assert_eq!(can_take(&machine("b", "m", 9), &hosts(1), &[], &waiting), ["h0"]);
}

const CONSUMERS: [&str; 3] = ["a", "b", "c"];
const SORTS: [&str; 2] = ["plain", "gpu"];

fn any_sort() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::weighted(0.4, prop::sample::select(SORTS.to_vec()))
}

fn any_host() -> impl Strategy<Value = (&'static str, Option<&'static str>, bool)> {
    let taken = prop::option::weighted(0.2, prop::sample::select(CONSUMERS.to_vec()));
    (
        prop::sample::select(SORTS.to_vec()),
        taken,
        prop::bool::weighted(0.9),
    )
}

fn any_hosts() -> impl Strategy<Value = Vec<Candidate>> {
    prop::collection::vec(any_host(), 0..12).prop_map(|all| {
        let made = all
            .into_iter()
            .enumerate()
            .map(|(n, (sort, consumer, connected))| {
                let mut one = host(&format!("h{n:02}"), sort);
                one.connected = Some(connected);
                match consumer {
                    Some(consumer) => taken(one, consumer, &format!("before-{n}")),
                    None => one,
                }
            });
        made.collect()
    })
}

fn any_quotas() -> impl Strategy<Value = Vec<Quota>> {
    let one = (
        prop::sample::select(CONSUMERS.to_vec()),
        any_sort(),
        prop::option::of(0_usize..6),
        0_usize..6,
        -1_i64..2,
        0_i64..5,
    );
    prop::collection::vec(one, 1..4).prop_map(|all| {
        let made = all.into_iter().enumerate();
        let made = made.map(|(n, (consumer, sort, limit, reserved, priority, since))| Quota {
            name: format!("q{n}"),
            selector: of_sort(sort),
            limit,
            reserved,
            priority,
            since: at(since),
            ..quota(consumer)
        });
        in_force(made.collect()).0
    })
}

fn any_machines() -> impl Strategy<Value = Vec<Waiting>> {
    let one = (prop::sample::select(CONSUMERS.to_vec()), any_sort(), 0_i64..9);
    prop::collection::vec(one, 0..10).prop_map(|all| {
        let made = all.into_iter().enumerate().map(|(n, (consumer, sort, since))| {
            let mut one = machine(consumer, &format!("m{n}"), since);
            one.need.selector = of_sort(sort);
            one
        });
        made.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Machines try in any order, until none of them gets a host.
    #[test]
    fn limits_and_reservations_hold_and_somebody_is_served_as_long_as_anybody_can_be(
        mut hosts in any_hosts(),
        quotas in any_quotas(),
        mut waiting in any_machines(),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let before = usage(&quotas, &hosts, now());
        let mut turns = turns.into_iter();
        loop {
            let ready: Vec<usize> = (0..waiting.len())
                .filter(|one| !can_take(&waiting[*one], &hosts, &quotas, &waiting).is_empty())
                .collect();
            // Those that could be served if no other waited.
            let alone: Vec<&Waiting> = waiting
                .iter()
                .filter(|one| !can_take(one, &hosts, &quotas, &[]).is_empty())
                .collect();
            prop_assert_eq!(ready.is_empty(), alone.is_empty());
            let priority = |one: &Waiting| {
                let quota = quotas.iter().find(|quota| quota.consumer == one.need.machine.namespace);
                quota.map_or(0, |quota| quota.priority)
            };
            let first = alone.iter().min_by_key(|one| {
                (-priority(one), one.since, one.need.machine.clone())
            });
            if let Some(first) = first {
                prop_assert!(ready.iter().any(|one| waiting[*one].need.machine == first.need.machine));
            }
            let Some(turn) = turns.next().filter(|_| !ready.is_empty()) else { break };
            let own = waiting.remove(ready[turn.index(ready.len())]);
            let consumer = own.need.machine.namespace.clone();
            let held = usage(&quotas, &hosts, now());
            let chosen = can_take(&own, &hosts, &quotas, &waiting).remove(0);
            let at = hosts.iter().position(|one| one.host.name == chosen).unwrap();
            prop_assert!(hosts[at].taken_by.is_none());
            hosts[at] = taken(hosts[at].clone(), &consumer, &own.need.machine.name);
            for ((quota, held), after) in quotas.iter().zip(held).zip(usage(&quotas, &hosts, now())) {
                if quota.consumer != consumer {
                    prop_assert_eq!(after.held, held.held, "the reservation of {}", &quota.name);
                }
            }
        }
        for ((quota, before), after) in quotas.iter().zip(before).zip(usage(&quotas, &hosts, now())) {
            if let Some(limit) = quota.limit {
                prop_assert!(after.used <= limit.max(before.used));
            }
        }
    }
}
