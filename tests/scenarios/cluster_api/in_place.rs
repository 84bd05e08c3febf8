//! A NodePool of type InPlace upgrades the nodes that it has: no more of them are down than it allows, hosts and names stay the same, and a
//! service that is killed at any step goes on. The hosts are muster-fleet's, with the agent on each node; their kubelets are played. (With
//! machines: `install::in_place`.)

mod pool;

use std::collections::BTreeSet;

use muster_tests::walk::{FleetHosts, summary};
use serde_json::Value;

use pool::{Pool, Seen};

/// The annotation of Agents with the OS image that their host is installed with.
const OS_IMAGE: &str = "agent.agent-install.openshift.io/os-image";

#[test]
#[ignore = "nine minutes: kubelets become silent at their own pace"]
fn six_nodes_are_upgraded_two_at_a_time_by_a_service_that_is_killed_at_each_step() {
    let mut pool = Pool::start(6, 2, FleetHosts::start_slow);
    let before = pool.observe().unwrap();
    pool.guard();
    pool.data_and_image("two", FleetHosts::OTHER_IMAGE);
    killed_in_the_drain(&mut pool);
    killed_while_hosts_leave(&mut pool);
    killed_before_the_former_node_goes(&mut pool);
    killed_in_the_installation_and_at_the_end(&mut pool);
    let after = pool.await_upgraded();
    assert_upgraded(&before, &after);
    pool.fleet.assert_running();
}

#[track_caller]
fn killed_in_the_drain(pool: &mut Pool) {
    let is_kept = |seen: &Seen| seen.all_wait(2, "is kept by a PodDisruptionBudget");
    pool.until("two drains to wait", is_kept);
    let shown = pool.until("the pool to show both", |seen| {
        let shown = seen.updating_config("RollingOut")?;
        let mut updating = seen.updating().into_iter();
        let is_whole =
            updating.all(|(machine, _)| shown.contains(machine)) && shown.contains("PodDisruptionBudget");
        if is_whole { Ok(shown) } else { Err(shown) }
    });
    assert!(shown.contains("6 of 6 Machines"), "{shown}");
    pool.kill();
    pool.until("two drains to wait after the kill", is_kept);
    assert_eq!(pool.pods_left(), 6);
}

#[track_caller]
fn killed_while_hosts_leave(pool: &mut Pool) {
    // The agents on the nodes do nothing yet.
    pool.fleet.stand_still();
    pool.unguard();
    let leaves = |seen: &Seen| seen.all_wait(2, "its host leaves its former system");
    pool.until("two hosts to leave", leaves);
    assert_eq!(pool.pods_left(), 4);
    pool.kill();
    pool.until("two hosts to leave after the kill", leaves);
    pool.fleet.go_on();
}

#[track_caller]
fn killed_before_the_former_node_goes(pool: &mut Pool) {
    pool.until("a former Node to go", |seen| {
        let updating = seen.updating();
        let is_shown = updating
            .iter()
            .any(|(_, shown)| shown.contains("goes when its kubelet counts as silent"));
        is_shown.then_some(()).ok_or_else(|| format!("{updating:?}"))
    });
    pool.kill();
}

#[track_caller]
fn killed_in_the_installation_and_at_the_end(pool: &mut Pool) {
    let known = pool.until("an image to be written", |seen| {
        let writes = |agent: &Value| agent["status"]["progress"]["currentStage"] == "Writing image to disk";
        let is_written = seen.bound().any(writes);
        is_written.then(|| seen.uids()).ok_or_else(String::new)
    });
    pool.kill();
    // The end comes once the new Node is ready.
    pool.until("another Node", |seen| {
        let uids = seen.uids();
        let is_new = uids.iter().any(|(node, uid)| known.get(node) != Some(uid));
        is_new.then_some(()).ok_or_else(|| format!("{uids:?}"))
    });
    pool.kill();
}

/// Each Node is a new one, of the new data and the other image; names and hosts are held to all the time.
#[track_caller]
fn assert_upgraded(before: &Seen, after: &Seen) {
    let former = before.uids();
    assert_eq!(after.uids().len(), former.len());
    for (node, uid) in after.uids() {
        assert_ne!(
            former.get(&node),
            Some(&uid),
            "{node} is the Node of a former system"
        );
    }
    let (old, new) = (data(before), data(after));
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(new.is_disjoint(&old), "{new:?}");
    for agent in after.bound() {
        let image = agent["metadata"]["annotations"][OS_IMAGE].as_str();
        assert_eq!(image, Some(FleetHosts::OTHER_IMAGE), "{}", summary(agent));
    }
}

/// The Secrets with the Machines' bootstrap data.
fn data(seen: &Seen) -> BTreeSet<String> {
    let of = |machine: &Value| machine["spec"]["bootstrap"]["dataSecretName"].to_string();
    seen.machines.iter().map(of).collect()
}

/// Each host fails in its second installation alone.
#[test]
fn an_installation_that_fails_ends_the_roll_out_and_the_next_data_mend_it() {
    let pool = Pool::start(2, 1, FleetHosts::start_failing_again);
    pool.data("two");
    let (first, second) = pool.until("the roll-out to end", |seen| {
        let shown = seen.updating_config("InplaceUpgradeFailed")?;
        assert!(shown.contains("no further one is upgraded in place"), "{shown}");
        assert!(shown.contains("the installation of its host failed"), "{shown}");
        assert!(shown.contains("Input/output error"), "{shown}");
        let (failed, others): (Vec<String>, Vec<String>) = pool
            .members
            .machines
            .iter()
            .cloned()
            .partition(|machine| shown.contains(machine));
        match (failed.as_slice(), others.as_slice()) {
            ([failed], [other]) => Ok((failed.clone(), other.clone())),
            _ => Err(shown),
        }
    });
    let seen = pool.observe().unwrap();
    assert_eq!(seen.up().len(), 1, "{}", seen.describe());
    assert!(seen.updating().is_empty(), "{}", seen.describe());

    // The one that failed is tried again first, and becomes a node; then the other fails.
    pool.data("three");
    pool.until("the other to fail", |seen| {
        let shown = seen.updating_config("InplaceUpgradeFailed")?;
        (shown.contains(&second) && !shown.contains(&first))
            .then_some(())
            .ok_or(shown)
    });
    pool.data("four");
    pool.await_upgraded();
    pool.fleet.assert_running();
}
