//! The choice of a host for a machine, and the reasons against the others.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_core::rules::placement::{
    Candidate, Erasure, Hardware, Least, Need, NotTaken, Open, Operator, PastFailures, Requirement, Rest,
    Selector, least, place,
};
use proptest::prelude::*;

const ZONE: &str = "topology.kubernetes.io/zone";

fn candidate(name: &str) -> Candidate {
    Candidate {
        host: KubeRef::new("hardware", name),
        labels: BTreeMap::new(),
        infra_env: Some(KubeRef::new("hardware", "hw")),
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

fn labelled(name: &str, key: &str, value: &str) -> Candidate {
    let mut one = candidate(name);
    one.labels.insert(key.into(), value.into());
    one
}

fn need(machine: &str) -> Need {
    Need {
        machine: KubeRef::new("c", machine),
        cluster: KubeRef::new("c", "one"),
        namespace: "hardware".into(),
        open: Open::Of([KubeRef::new("hardware", "hw")].into()),
        selector: Selector::default(),
        failure_domain: None,
        minimum: Hardware::default(),
        imaged: None,
        architecture: None,
    }
}

fn now() -> Timestamp {
    crate::world::start()
}

fn names(need: &Need, candidates: &[Candidate]) -> Vec<String> {
    let placement = place(need, candidates, now());
    placement.ranked.iter().map(|one| one.host.name.clone()).collect()
}

/// The reason why the only candidate is not taken.
fn reason(need: &Need, one: Candidate) -> String {
    let all = [one];
    let placement = place(need, &all, now());
    let [(_, why)] = placement.unfit.as_slice() else {
        panic!("{placement:?}")
    };
    format!("{}: {why}", why.name())
}

#[test]
fn without_further_wishes_the_order_is_that_of_a_list() {
    let mut large = candidate("b");
    large.hardware.cpus = 128;
    assert_eq!(
        names(&need("m"), &[candidate("c"), large, candidate("a")]),
        ["a", "b", "c"]
    );
}

#[test]
fn each_reason_is_named() {
    let of = |change: fn(&mut Candidate)| {
        let mut one = candidate("a");
        change(&mut one);
        reason(&need("m"), one)
    };
    for (printed, wanted) in [
        (of(|one| one.is_approved = false), "NotApproved: "),
        (of(|one| one.is_leaving = true), "BeingDeleted: "),
        (of(|one| one.bound = None), "Bound: "),
        (of(|one| one.bound = Some(true)), "Bound: "),
        (of(|one| one.connected = Some(false)), "NotConnected: "),
        (of(|one| one.validated = None), "NotValidated: "),
        (
            of(|one| one.taken_by = Some(KubeRef::new("c", "x"))),
            "TakenBy: it was taken for the AgentMachine c/x",
        ),
        (
            of(|one| one.cluster = Some(KubeRef::new("c", "two"))),
            "OfAnotherCluster: it belongs to the cluster c/two",
        ),
    ] {
        assert!(printed.starts_with(wanted), "{printed}");
    }
    let mut choosy = need("m");
    choosy.selector = Selector(vec![Requirement {
        key: "size".into(),
        operator: Operator::In(vec!["large".into()]),
    }]);
    assert_eq!(
        reason(&choosy, labelled("a", "size", "small")),
        "NotSelected: its labels do not match: size is not \"large\""
    );
    let mut imaged = need("m");
    imaged.imaged = Some(vec![CpuArchitecture::Arm64]);
    let of = |architecture: &str| Candidate {
        architecture: Some(architecture.to_owned()),
        ..candidate("a")
    };
    assert!(
        reason(&imaged, of("x86_64")).starts_with("WithoutImage: its processors are x86_64"),
        "{}",
        reason(&imaged, of("x86_64"))
    );
    // As the agent has it, and of a host that is not known so far.
    for fit in [of("aarch64"), candidate("a")] {
        assert_eq!(names(&imaged, &[fit]), ["a"]);
    }
    let mut here = need("m");
    here.failure_domain = Some("east".into());
    assert!(reason(&here, labelled("a", ZONE, "west")).contains("in the failure domain west"));
    assert!(reason(&here, candidate("a")).contains("set the label topology.kubernetes.io/zone"));
    let mut large = need("m");
    large.minimum = Hardware {
        cpus: 8,
        memory_bytes: 16 << 30,
        disk_bytes: 0,
    };
    assert!(reason(&large, candidate("a")).contains("0 processors where 8 are needed"));
}

#[test]
fn a_host_that_was_taken_for_the_machine_before_comes_first_whatever_became_of_it() {
    let mut restored = candidate("z");
    restored.taken_by = Some(KubeRef::new("c", "m"));
    restored.bound = Some(true);
    let mut namesake = candidate("y");
    namesake.taken_by = Some(KubeRef::new("another", "m"));
    let all = [candidate("a"), namesake, restored];
    let placement = place(&need("m"), &all, now());
    assert!(placement.is_restored);
    assert_eq!(placement.ranked[0].host.name, "z");
    assert_eq!(names(&need("m"), &all), ["z", "a"]);
}

#[test]
fn machines_of_a_cluster_are_spread_over_failure_domains() {
    let mut taken = labelled("a1", ZONE, "a");
    taken.taken_by = Some(KubeRef::new("c", "x"));
    taken.cluster = Some(KubeRef::new("c", "one"));
    let mut of_another = labelled("b1", ZONE, "b");
    of_another.taken_by = Some(KubeRef::new("d", "x"));
    of_another.cluster = Some(KubeRef::new("d", "two"));
    let all = [
        taken,
        of_another,
        labelled("a2", ZONE, "a"),
        labelled("b2", ZONE, "b"),
    ];
    assert_eq!(names(&need("m"), &all), ["b2", "a2"]);
    let mut here = need("m");
    here.failure_domain = Some("a".into());
    assert_eq!(names(&here, &all), ["a2"]);
}

#[test]
fn of_hosts_that_are_large_enough_the_one_is_first_that_wastes_least() {
    let sized = |name: &str, cpus: u64, gibibytes: u64| Candidate {
        hardware: Hardware {
            cpus,
            memory_bytes: gibibytes << 30,
            disk_bytes: 0,
        },
        ..candidate(name)
    };
    let all = [
        sized("a", 64, 512),
        sized("b", 16, 64),
        sized("c", 4, 64),
        sized("d", 16, 32),
    ];
    let mut large = need("m");
    large.minimum = Hardware {
        cpus: 8,
        memory_bytes: 32 << 30,
        disk_bytes: 0,
    };
    assert_eq!(names(&large, &all), ["d", "b", "a"]);
}

#[test]
fn hosts_of_other_namespaces_are_had_only_where_their_infra_env_gives_them() {
    let mut closed = need("m");
    closed.open = Open::Of(BTreeSet::new());
    let why = reason(&closed, candidate("a"));
    assert!(
        why.starts_with("OfAnotherNamespace: ") && why.contains("the namespace c"),
        "{why}"
    );
    let mut of_other_pool = candidate("a");
    of_other_pool.infra_env = Some(KubeRef::new("hardware", "other"));
    assert!(reason(&need("m"), of_other_pool).starts_with("OfAnotherNamespace: "));
    let mut of_no_pool = candidate("a");
    of_no_pool.infra_env = None;
    assert!(reason(&need("m"), of_no_pool).starts_with("OfAnotherNamespace: "));
    let mut own = candidate("a");
    (own.host.namespace, own.infra_env) = ("c".into(), None);
    closed.namespace = "c".into();
    assert_eq!(names(&closed, &[own]), ["a"], "its own namespace");
    // Who runs the controllers for one namespace of hosts has given them all of it.
    let mut given = need("m");
    given.open = Open::All;
    let mut of_no_pool = candidate("a");
    of_no_pool.infra_env = None;
    let mut of_other_namespace = candidate("b");
    of_other_namespace.host.namespace = "other".into();
    assert_eq!(names(&given, &[of_no_pool, of_other_namespace]), ["a"]);
}

#[test]
fn hosts_in_other_namespaces_are_not_even_named() {
    let mut own = need("m");
    own.namespace = "elsewhere".into();
    let all = [candidate("a")];
    assert_eq!(place(&own, &all, now()).not_taken(None), []);
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    let truth = || prop::option::weighted(0.9, prop::bool::weighted(0.8));
    (
        (0_u8..30, prop::bool::weighted(0.9), prop::bool::weighted(0.1)),
        (truth(), truth(), truth()),
        prop::option::of(0_u8..3),
        prop::option::weighted(0.3, 0_u8..3),
        0_u64..32,
    )
        .prop_map(
            |((name, is_approved, is_leaving), (unbound, connected, validated), zone, taken, cpus)| {
                let mut one = candidate(&format!("h{name}"));
                (one.is_approved, one.is_leaving) = (is_approved, is_leaving);
                (one.bound, one.connected, one.validated) = (unbound.map(|it| !it), connected, validated);
                if let Some(zone) = zone {
                    one.labels.insert(ZONE.into(), format!("z{zone}"));
                }
                if let Some(by) = taken {
                    one.taken_by = Some(KubeRef::new("c", format!("m{by}")));
                    one.cluster = Some(KubeRef::new("c", "one"));
                }
                one.hardware.cpus = cpus;
                one
            },
        )
}

/// Distinct hosts, at most one of them taken for each machine.
fn any_candidates() -> impl Strategy<Value = Vec<Candidate>> {
    prop::collection::vec(any_candidate(), 0..20).prop_map(|all| {
        let (mut hosts, mut machines) = (BTreeSet::new(), BTreeSet::new());
        all.into_iter()
            .filter(|one| hosts.insert(one.host.clone()))
            .filter(|one| one.taken_by.clone().is_none_or(|by| machines.insert(by)))
            .collect()
    })
}

fn is_fit(one: &Candidate, need: &Need) -> bool {
    one.is_approved
        && !one.is_leaving
        && one.bound == Some(false)
        && one.connected == Some(true)
        && one.validated == Some(true)
        && one.taken_by.is_none()
        && one.hardware.cpus >= need.minimum.cpus
        && need
            .failure_domain
            .as_deref()
            .is_none_or(|it| one.zone() == Some(it))
}

proptest! {
    #[test]
    fn none_is_taken_that_is_unfit_none_twice_and_everyone_else_has_a_reason(
        mut hosts in any_candidates(),
        zones in prop::collection::vec(prop::option::of(0_u8..3), 1..8),
        cpus in 0_u64..20,
    ) {
        let mut taken = BTreeMap::new();
        for (n, zone) in zones.into_iter().enumerate() {
            let mut need = need(&format!("m{n}"));
            need.failure_domain = zone.map(|zone| format!("z{zone}"));
            need.minimum.cpus = cpus;
            let placement = place(&need, &hosts, now());
            prop_assert_eq!(placement.ranked.len() + placement.unfit.len(), hosts.len());
            let fit = hosts.iter().filter(|one| is_fit(one, &need)).count();
            prop_assert_eq!(placement.ranked.len(), fit + usize::from(placement.is_restored));
            let chosen = placement.ranked.first().map(|one| one.host.clone());
            let reasons = placement.not_taken(chosen.as_ref());
            prop_assert_eq!(reasons.len() + usize::from(chosen.is_some()), hosts.len());
            prop_assert!(reasons.iter().all(|(_, why)| !why.to_string().is_empty()));
            // The order of the list does not matter.
            let reversed: Vec<Candidate> = hosts.iter().rev().cloned().collect();
            prop_assert_eq!(&place(&need, &reversed, now()).ranked, &placement.ranked);
            let Some(chosen) = chosen else { continue };
            let one = hosts.iter_mut().find(|one| one.host == chosen).unwrap();
            prop_assert!(is_fit(one, &need) || one.taken_by.as_ref() == Some(&need.machine));
            one.taken_by = Some(need.machine.clone());
            one.cluster = Some(need.cluster.clone());
            prop_assert_eq!(taken.insert(chosen, need.machine.clone()), None);
        }
    }

    #[test]
    fn a_host_that_changed_hands_is_reported_as_taken(hosts in any_candidates()) {
        let placement = place(&need("other"), &hosts, now());
        for (one, why) in &placement.unfit {
            if let NotTaken::TakenBy(by) = why {
                prop_assert_eq!(by.as_ref(), one.taken_by.as_ref());
            }
        }
    }
}

#[test]
fn what_becomes_of_a_taken_host_is_nothing_to_other_machines() {
    let taken = Candidate {
        taken_by: Some(KubeRef::new("c", "m1")),
        ..candidate("a")
    };
    let later = Candidate {
        state: "installing".into(),
        connected: None,
        is_leaving: true,
        ..taken.clone()
    };
    assert!(taken.is_the_same_to_others(&later));
    let judged = |one: &Candidate| {
        let judged = place(&need("m2"), [one], now());
        judged.unfit.into_iter().map(|(_, why)| why).collect::<Vec<_>>()
    };
    assert_eq!(judged(&taken), judged(&later));
    let labelled = Candidate {
        labels: labelled("a", ZONE, "east").labels,
        ..taken.clone()
    };
    let free = candidate("a");
    for other in [&labelled, &free] {
        assert!(!taken.is_the_same_to_others(other));
    }
    let silent = Candidate {
        connected: None,
        ..candidate("a")
    };
    assert!(!free.is_the_same_to_others(&silent));
}

fn failed(name: &str, count: u32, minutes: i64) -> Candidate {
    Candidate {
        failures: Some(PastFailures {
            count,
            message: "Rebooting: it did not come up".into(),
            until: Some(now() + Duration::minutes(minutes)),
            is_quarantined: count >= 3,
        }),
        ..candidate(name)
    }
}

#[test]
fn hosts_on_which_something_failed_come_last_and_not_before_their_time() {
    let all = [
        failed("a", 2, -1),
        failed("b", 1, 0),
        failed("c", 1, 1),
        failed("d", 3, -1),
        candidate("z"),
    ];
    assert_eq!(names(&need("m"), &all), ["z", "b", "a"]);
    let placement = place(&need("m"), &all, now());
    let reasons: Vec<(&str, &NotTaken)> = placement
        .unfit
        .iter()
        .map(|(one, why)| (one.host.name.as_str(), why))
        .collect();
    // The machine is of another namespace than the hosts.
    let until = now() + Duration::minutes(1);
    let wanted = [
        (
            "c",
            NotTaken::FailedBefore {
                count: 1,
                until,
                why: None,
            },
        ),
        ("d", NotTaken::Quarantined { count: 3, why: None }),
    ];
    let wanted: Vec<(&str, &NotTaken)> = wanted.iter().map(|(name, why)| (*name, why)).collect();
    assert_eq!(reasons, wanted);
    let ends: Vec<Option<Timestamp>> = reasons.iter().map(|(_, why)| why.until()).collect();
    assert_eq!(ends, [Some(until), None]);
    let later = place(&need("m"), &all, until);
    let later: Vec<&str> = later.ranked.iter().map(|one| one.host.name.as_str()).collect();
    assert_eq!(later, ["z", "b", "c", "a"]);
}

#[test]
fn names_of_machines_and_clusters_are_shown_to_those_alone_who_may_know_them() {
    let of_others = |change: fn(&mut Candidate)| {
        let mut one = candidate("a");
        change(&mut one);
        one
    };
    let taken = of_others(|one| one.taken_by = Some(KubeRef::new("secret", "machine")));
    let bound = of_others(|one| one.cluster = Some(KubeRef::new("secret", "cluster")));
    let sick = |count| failed("a", count, 1);
    // Of the namespace of the hosts: all of that can be read there.
    let mut at_home = need("m");
    at_home.machine.namespace = "hardware".into();
    for (one, guest, home) in [
        (
            &taken,
            "TakenBy: it was taken for an AgentMachine of another namespace",
            "secret/machine",
        ),
        (
            &bound,
            "OfAnotherCluster: it belongs to a cluster of another namespace",
            "secret/cluster",
        ),
        (
            &sick(1),
            "; its Agent has the reason",
            ": Rebooting: it did not come up",
        ),
        (
            &sick(3),
            "; its Agent has the reason",
            ": Rebooting: it did not come up",
        ),
    ] {
        let shown = reason(&need("m"), one.clone());
        assert!(shown.ends_with(guest) && !shown.contains("secret"), "{shown}");
        let shown = reason(&at_home, one.clone());
        assert!(shown.ends_with(home), "{shown}");
    }
}

#[test]
fn hosts_that_sleep_come_after_those_that_are_awake_and_before_those_that_failed() {
    let resting = |name: &str, rest| Candidate {
        rest,
        ..candidate(name)
    };
    let all = [
        resting("a", Rest::Asleep),
        resting("b", Rest::Waking),
        failed("c", 1, -1),
        candidate("z"),
    ];
    assert_eq!(names(&need("m"), &all), ["z", "b", "a", "c"]);
    let placement = place(&need("m"), &all, now());
    let texts: Vec<String> = placement
        .not_taken(Some(&all[3].host))
        .iter()
        .map(|(_, why)| format!("{}: {why}", why.name()))
        .collect();
    assert!(texts[0].starts_with("LaterInOrder: it sleeps"), "{texts:?}");
    assert_eq!(
        texts[2],
        "LaterInOrder: it could be taken, but another came first"
    );
    assert_eq!(names(&need("m"), &all[..1]), ["a"]);
}

#[test]
fn a_host_that_did_not_wake_is_not_restored() {
    let mut own = failed("a", 3, 60);
    own.taken_by = Some(KubeRef::new("c", "m"));
    own.rest = Rest::DidNotWake;
    let all = [own, candidate("b")];
    assert_eq!(names(&need("m"), &all), ["b"]);
}

#[test]
fn a_host_that_failed_is_restored_for_its_own_machine() {
    let mut own = failed("a", 5, 60);
    own.taken_by = Some(KubeRef::new("c", "m"));
    let all = [own, candidate("b")];
    assert_eq!(names(&need("m"), &all), ["a", "b"]);
}

#[test]
fn an_architecture_is_obeyed_by_each_of_its_names() {
    let of = |found: Option<&str>| Candidate {
        architecture: found.map(str::to_owned),
        ..candidate("a")
    };
    let wanting = |wanted: Option<&str>| Need {
        architecture: wanted.map(str::to_owned),
        ..need("m")
    };
    for (wanted, found, is_fit) in [
        (None, None, true),
        (None, Some("x86_64"), true),
        (Some("amd64"), Some("x86_64"), true),
        (Some("x86_64"), Some("x86_64"), true),
        (Some("arm64"), Some("aarch64"), true),
        (Some("aarch64"), Some("arm64"), true),
        (Some("arm64"), Some("x86_64"), false),
        (Some("amd64"), None, false),
        (Some("s390x"), Some("s390x"), true),
        (Some("ppc64le"), Some("riscv64"), false),
    ] {
        let fit = names(&wanting(wanted), &[of(found)]);
        assert_eq!(fit.len() == 1, is_fit, "{wanted:?} {found:?}");
    }
    assert_eq!(
        reason(&wanting(Some("aarch64")), of(Some("x86_64"))),
        "OfAnotherArchitecture: its processors are amd64, and arm64 is required"
    );
    assert!(reason(&wanting(Some("amd64")), of(None)).contains("are not known"));
}

#[test]
fn a_pool_promises_the_least_of_its_hosts_with_the_architecture_that_most_have() {
    let of = |name: &str, architecture: Option<&str>, cpus, memory_bytes, disk_bytes| Candidate {
        architecture: architecture.map(str::to_owned),
        hardware: Hardware {
            cpus,
            memory_bytes,
            disk_bytes,
        },
        ..candidate(name)
    };
    let x86 = Some("x86_64");
    let mut all = vec![
        of("a", x86, 8, 64, 500),
        of("b", x86, 16, 32, 900),
        of("c", Some("aarch64"), 2, 2, 2),
        of("d", None, 1, 1, 1),
    ];
    let wanted = |cpus, memory_bytes, disk_bytes| {
        Some(Least {
            architecture: x86.map(str::to_owned),
            hardware: Hardware {
                cpus,
                memory_bytes,
                disk_bytes,
            },
        })
    };
    assert_eq!(least(&need("pool"), &all), wanted(8, 32, 500));
    // A host that a machine of the cluster has comes back; one of another cluster, or without an inventory, is none of the pool.
    all.push(Candidate {
        taken_by: Some(KubeRef::new("c", "m")),
        cluster: Some(KubeRef::new("c", "one")),
        bound: Some(true),
        connected: None,
        ..of("e", x86, 4, 48, 400)
    });
    assert_eq!(least(&need("pool"), &all), wanted(4, 32, 400));
    all.push(Candidate {
        cluster: Some(KubeRef::new("c", "another")),
        ..of("f", x86, 1, 1, 1)
    });
    all.push(of("g", x86, 0, 0, 0));
    assert_eq!(least(&need("pool"), &all), wanted(4, 32, 400));
    let sized = Need {
        minimum: Hardware {
            cpus: 8,
            ..Hardware::default()
        },
        ..need("pool")
    };
    assert_eq!(least(&sized, &all), wanted(8, 32, 500));
    let arm = |found: Option<Least>| found.and_then(|least| least.architecture);
    let of_arm = Need {
        architecture: Some("arm64".into()),
        ..need("pool")
    };
    assert_eq!(arm(least(&of_arm, &all)).as_deref(), Some("aarch64"));
    let imaged = Need {
        imaged: Some(vec![CpuArchitecture::Arm64]),
        ..need("pool")
    };
    assert_eq!(arm(least(&imaged, &all)).as_deref(), Some("aarch64"));
}

#[test]
fn a_pool_without_a_host_that_may_be_taken_promises_nothing() {
    let sized = |name: &str| Candidate {
        hardware: Hardware {
            cpus: 8,
            memory_bytes: 1,
            disk_bytes: 1,
        },
        ..candidate(name)
    };
    let all = [
        Candidate {
            is_approved: false,
            ..sized("a")
        },
        Candidate {
            is_leaving: true,
            ..sized("b")
        },
        Candidate {
            host: KubeRef::new("elsewhere", "c"),
            ..sized("c")
        },
        Candidate {
            infra_env: None,
            ..sized("d")
        },
    ];
    assert_eq!(least(&need("pool"), &all), None);
    let mut selecting = need("pool");
    selecting.selector = Selector(vec![Requirement {
        key: "size".into(),
        operator: Operator::Exists,
    }]);
    assert_eq!(least(&selecting, &[sized("e")]), None);
    assert!(least(&need("pool"), &[sized("e")]).is_some());
}

#[test]
fn a_host_whose_disks_are_erased_or_cannot_be_is_not_taken() {
    let of = |name: &str, erasure| Candidate {
        erasure: Some(erasure),
        ..candidate(name)
    };
    let all = [
        of("a", Erasure::Pending),
        of("b", Erasure::Failed("sda: it is frozen".into())),
        candidate("c"),
    ];
    let now = Timestamp::UNIX_EPOCH;
    let placement = place(&need("m"), &all, now);
    assert_eq!(placement.ranked.len(), 1);
    let reasons: Vec<&str> = placement.unfit.iter().map(|(_, why)| why.name()).collect();
    assert_eq!(reasons, ["BeingErased", "CannotBeErased"]);
}
