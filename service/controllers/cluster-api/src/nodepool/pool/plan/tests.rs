//! Tests pools that grow, shrink and roll, until nothing is left to do.

use k8s_openapi::jiff::Timestamp;
use muster_resources::hypershift::{InPlace, Replace, RollingUpdate};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Option<Time> {
    Some(Time(Timestamp::from_second(second).unwrap()))
}

fn ready(name: &str, second: i64) -> View {
    View {
        name: name.into(),
        up_to_date: true,
        available: true,
        healthy: true,
        installed: true,
        created: at(second),
        ..View::default()
    }
}

const IN_PLACE: Rolling = Rolling::InPlace { unavailable: 1 };

const LIMITS: Rolling = Rolling::Limits {
    surge: 1,
    unavailable: 0,
};

fn management(surge: IntOrString, unavailable: IntOrString) -> Management {
    Management {
        upgrade_type: UpgradeType::Replace,
        replace: Some(Replace {
            rolling_update: Some(RollingUpdate {
                max_unavailable: Some(unavailable),
                max_surge: Some(surge),
            }),
            ..Replace::default()
        }),
        ..Management::default()
    }
}

#[test]
fn a_pool_grows_and_shrinks_to_its_size() {
    for rolling in [LIMITS, Rolling::OnDelete, IN_PLACE] {
        let grown = plan(&[ready("a", 1)], 3, rolling);
        assert_eq!((grown.create, grown.delete.len()), (2, 0));
        let same = plan(&[ready("a", 1)], 1, rolling);
        assert_eq!(same, Plan::default());
        let none = plan(&[ready("a", 1), ready("b", 2)], 0, rolling);
        assert_eq!((none.create, none.delete.len()), (0, 2));
    }
}

#[test]
fn those_that_are_being_deleted_are_replaced_at_once_when_the_pool_grows_again() {
    let going = View {
        deleting: true,
        ..ready("a", 1)
    };
    assert_eq!(plan(std::slice::from_ref(&going), 1, LIMITS).create, 1);
    assert_eq!(plan(&[going], 0, LIMITS), Plan::default());
}

#[test]
fn the_chosen_go_first_then_the_ill_then_the_newest() {
    let chosen = View {
        chosen: true,
        ..ready("chosen", 1)
    };
    let ill = View {
        healthy: false,
        available: false,
        ..ready("ill", 2)
    };
    let machines = [ready("old", 1), ready("new", 9), ill, chosen];
    let order: Vec<String> = (0..4)
        .rev()
        .map(|left| plan(&machines, left, LIMITS).delete.last().cloned().unwrap())
        .collect();
    assert_eq!(order, ["chosen", "ill", "new", "old"]);
}

/// Simulates a rollout: each round new Machines become ready, and those deleted are gone. Returns the rounds as `old+new-deleting`, the
/// fewest available nodes and the most Machines.
fn rollout(wanted: usize, rolling: Rolling) -> (usize, usize) {
    let stale = |name: &String| View {
        up_to_date: false,
        ..ready(name, 1)
    };
    let mut machines: Vec<View> = (0..wanted)
        .map(|number| stale(&format!("old-{number}")))
        .collect();
    let (mut fewest, mut most) = (wanted, wanted);
    for round in 0..10 * wanted {
        let step = plan(&machines, wanted, rolling);
        if step == Plan::default()
            && machines
                .iter()
                .all(|machine| machine.up_to_date && machine.available)
        {
            assert_eq!(machines.len(), wanted);
            return (fewest, most);
        }
        let gone: Vec<String> = machines
            .iter()
            .filter(|machine| machine.deleting)
            .map(|machine| machine.name.clone())
            .collect();
        for machine in &mut machines {
            machine.available |= !machine.deleting;
            if step.delete.contains(&machine.name) {
                machine.deleting = true;
                machine.available = false;
            }
        }
        machines.extend((0..step.create).map(|number| View {
            available: false,
            healthy: false,
            installed: false,
            ..ready(&format!("new-{round}-{number}"), 2)
        }));
        most = most.max(machines.len());
        fewest = fewest.min(machines.iter().filter(|machine| machine.available).count());
        machines.retain(|machine| !gone.contains(&machine.name));
    }
    panic!("not done: {machines:?}");
}

#[test]
fn a_rollout_keeps_within_its_limits() {
    for (wanted, surge, unavailable) in [(1, 1, 0), (2, 1, 0), (2, 0, 1), (3, 1, 1), (5, 2, 0), (4, 0, 4)] {
        let limits = Rolling::Limits { surge, unavailable };
        let (fewest, most) = rollout(wanted, limits);
        assert!(
            fewest >= wanted - unavailable,
            "{wanted} {surge} {unavailable}: {fewest}"
        );
        assert!(most <= wanted + surge, "{wanted} {surge} {unavailable}: {most}");
    }
}

#[test]
fn what_never_became_ready_does_not_hold_a_rollout() {
    let stuck = View {
        up_to_date: false,
        available: false,
        healthy: false,
        ..ready("stuck", 1)
    };
    let machines = [ready("a", 1), stuck];
    let unavailable = Rolling::Limits {
        surge: 0,
        unavailable: 1,
    };
    assert_eq!(plan(&machines, 2, unavailable).delete, ["stuck"]);
    // No node may be missing: the successor is created first.
    assert_eq!(
        plan(&machines, 2, LIMITS),
        Plan {
            create: 1,
            ..Plan::default()
        }
    );
}

#[test]
fn in_place_and_on_delete_leave_old_machines() {
    let old = View {
        up_to_date: false,
        ..ready("old", 1)
    };
    for (rolling, upgraded) in [(IN_PLACE, vec!["old".to_owned()]), (Rolling::OnDelete, vec![])] {
        let same = plan(std::slice::from_ref(&old), 1, rolling);
        assert_eq!((same.create, same.delete.len(), same.upgrade), (0, 0, upgraded));
        assert_eq!(plan(std::slice::from_ref(&old), 2, rolling).create, 1);
    }
    let machines = [old, ready("new", 9)];
    assert_eq!(plan(&machines, 1, Rolling::OnDelete).delete, ["old"]);
    // In place, all Machines are equal: the newest is deleted.
    assert_eq!(plan(&machines, 1, IN_PLACE).delete, ["new"]);
}

#[test]
fn limits_are_numbers_or_percentages() {
    use IntOrString::{Int, String};
    let limits = |surge, unavailable, wanted| rolling(&management(surge, unavailable), wanted);
    assert_eq!(
        limits(String("30%".into()), String("30%".into()), 5),
        Rolling::Limits {
            surge: 2,
            unavailable: 1
        }
    );
    assert_eq!(
        limits(Int(0), Int(0), 5),
        Rolling::Limits {
            surge: 0,
            unavailable: 1
        }
    );
    let default = Management {
        upgrade_type: UpgradeType::Replace,
        ..Management::default()
    };
    assert_eq!(rolling(&default, 5), LIMITS);
    assert_eq!(rolling(&Management::default(), 5), IN_PLACE);
    let in_place = |most| Management {
        in_place: Some(InPlace {
            max_unavailable: Some(most),
        }),
        ..Management::default()
    };
    for (most, unavailable) in [
        (Int(2), 2),
        (Int(0), 1),
        (Int(-3), 1),
        (String("50%".into()), 2),
        (String("10%".into()), 1),
        (String("rubbish".into()), 1),
    ] {
        assert_eq!(rolling(&in_place(most), 5), Rolling::InPlace { unavailable });
    }
}

fn stale(name: &str, second: i64) -> View {
    View {
        up_to_date: false,
        ..ready(name, second)
    }
}

fn upgraded(machines: &[View], unavailable: usize) -> Vec<String> {
    plan(machines, machines.len(), Rolling::InPlace { unavailable }).upgrade
}

#[test]
fn nodes_are_upgraded_in_place_those_that_are_down_first_and_then_the_oldest() {
    let down = |name: &str, second| View {
        available: false,
        ..stale(name, second)
    };
    let machines = [stale("b", 2), stale("a", 1), ready("new", 0), stale("c", 2)];
    assert_eq!(upgraded(&machines, 1), ["a"]);
    assert_eq!(upgraded(&machines, 3), ["a", "b", "c"]);
    let one_down = [stale("a", 1), down("d", 9), stale("b", 2)];
    assert_eq!(upgraded(&one_down, 1), ["d"], "no other may go down");
    assert_eq!(upgraded(&one_down, 2), ["d", "a"]);
    // One with the present settings that is down takes the place of another.
    let elsewhere = View {
        available: false,
        ..ready("e", 1)
    };
    assert_eq!(upgraded(&[stale("a", 1), elsewhere], 1), Vec::<String>::new());
    // One that was never installed waits for a host, and holds nothing up.
    let never = View {
        available: false,
        installed: false,
        ..stale("n", 1)
    };
    assert_eq!(upgraded(&[stale("a", 1), never], 1), ["a"]);
    let going = View {
        deleting: true,
        ..ready("g", 1)
    };
    let pool = [stale("a", 1), going];
    assert_eq!(
        plan(&pool, 2, IN_PLACE).upgrade.len(),
        0,
        "its successor is not there yet"
    );
    assert_eq!(plan(&pool, 1, IN_PLACE).upgrade, ["a"]);
}

#[test]
fn an_upgrade_that_failed_stops_the_others_until_the_pool_wants_something_else() {
    let with = |name: &str, upgrade| View {
        available: false,
        upgrade: Some(upgrade),
        ..stale(name, 1)
    };
    let stopped = with("f", Upgrade::Failed { is_present: true });
    assert_eq!(upgraded(&[stopped, stale("a", 2)], 2).len(), 0);
    let again = with("f", Upgrade::Failed { is_present: false });
    assert_eq!(upgraded(&[again.clone(), stale("a", 2)], 1), ["f"]);
    // Its host is down, whatever its Node still shows, so it goes before older ones.
    let younger = View {
        created: stale("younger", 3).created,
        ..again
    };
    assert_eq!(upgraded(&[younger.clone(), stale("a", 2)], 1), ["f"]);
    assert_eq!(upgraded(&[younger, stale("a", 2)], 2), ["f", "a"]);
    let running = with("r", Upgrade::Running);
    assert_eq!(upgraded(&[running.clone(), stale("a", 2)], 1).len(), 0);
    assert_eq!(upgraded(&[running, stale("a", 2)], 2), ["a"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each round, upgrades take a step, and nodes may fail by themselves and come back.
    #[test]
    fn never_more_nodes_go_down_than_may_and_all_are_upgraded(
        nodes in 1_usize..12, unavailable in 1_usize..5, shakes in vec((0_usize..12, any::<bool>()), 0..40),
    ) {
        let mut machines: Vec<View> = (0..nodes).map(|number| stale(&format!("n-{number:02}"), 1)).collect();
        // Rounds that the upgrade of each still takes, and nodes that are down by themselves.
        let mut left = vec![0_usize; nodes];
        let mut ill = vec![false; nodes];
        let mut begun: Vec<String> = Vec::new();
        for round in 0..shakes.len() + 20 * nodes {
            match shakes.get(round) {
                Some((which, is_ill)) => ill[which % nodes] = *is_ill,
                None => ill.fill(false),
            }
            for (index, machine) in machines.iter_mut().enumerate() {
                if machine.upgrade.is_some() {
                    left[index] -= 1;
                    if left[index] == 0 {
                        machine.upgrade = None;
                        machine.up_to_date = true;
                    }
                }
                machine.available = machine.upgrade.is_none() && !ill[index];
            }
            let step = plan(&machines, nodes, Rolling::InPlace { unavailable });
            prop_assert_eq!((step.create, step.delete.len()), (0, 0));
            prop_assert_eq!(&step, &plan(&machines, nodes, Rolling::InPlace { unavailable }));
            let down_before = machines.iter().filter(|machine| !machine.available).count();
            for name in &step.upgrade {
                let index = machines.iter().position(|machine| machine.name == *name).unwrap();
                prop_assert!(!begun.contains(name), "{} again", name);
                begun.push(name.clone());
                machines[index].upgrade = Some(Upgrade::Running);
                machines[index].available = false;
                left[index] = 3;
            }
            let down = machines.iter().filter(|machine| !machine.available).count();
            prop_assert!(down <= unavailable.max(down_before), "{} of {} down", down, nodes);
            let running = machines.iter().filter(|machine| machine.upgrade.is_some()).count();
            prop_assert!(running <= unavailable);
        }
        prop_assert!(machines.iter().all(|machine| machine.up_to_date && machine.available));
        if shakes.is_empty() {
            let mut sorted = begun.clone();
            sorted.sort();
            prop_assert_eq!(begun, sorted);
        }
    }
}
