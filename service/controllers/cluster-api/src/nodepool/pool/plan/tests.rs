//! Tests pools that grow, shrink and roll, until nothing is left to do.

use k8s_openapi::jiff::Timestamp;
use muster_resources::hypershift::{Replace, RollingUpdate};

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
        created: at(second),
        ..View::default()
    }
}

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
    for rolling in [LIMITS, Rolling::OnDelete, Rolling::InPlace] {
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
            delete: vec![]
        }
    );
}

#[test]
fn in_place_and_on_delete_leave_old_machines() {
    let old = View {
        up_to_date: false,
        ..ready("old", 1)
    };
    for rolling in [Rolling::InPlace, Rolling::OnDelete] {
        assert_eq!(plan(std::slice::from_ref(&old), 1, rolling), Plan::default());
        assert_eq!(plan(std::slice::from_ref(&old), 2, rolling).create, 1);
    }
    let machines = [old, ready("new", 9)];
    assert_eq!(plan(&machines, 1, Rolling::OnDelete).delete, ["old"]);
    // In place, all Machines are equal: the newest is deleted.
    assert_eq!(plan(&machines, 1, Rolling::InPlace).delete, ["new"]);
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
    assert_eq!(rolling(&Management::default(), 5), Rolling::InPlace);
}
