//! The Node of the former system while an upgrade in place goes on: its name is given to the next system when that Node is gone.

use muster_core::record::{AskedReinstall, RebootOutcome, ReinstallStep};

use super::*;

/// A host that is installed again for an upgrade in place.
fn upgraded(stage: HostStage) -> Host {
    let mut host = host(stage);
    host.data.asked_reinstall = Some(AskedReinstall {
        requested_at: at(-100),
        cluster_id: host.cluster_id,
        step: ReinstallStep::Install,
        since: at(0),
        is_refused: false,
        outcome: None,
    });
    host
}

fn upgrade(node_uid: Option<&str>) -> Known {
    Known {
        upgrade: Some(InPlaceUpgrade {
            began: at(-100).to_rfc3339(),
            node_uid: node_uid.map(str::to_owned),
            ..InPlaceUpgrade::default()
        }),
        ..known(&[])
    }
}

const UID: &str = "uid of worker-1";

/// The host's own Node, made long before the upgrade.
fn former(ready: &str, since: i64) -> Value {
    node("worker-1", -5000, ready, since)
}

fn assessed(host: &Host, known: &Known, node: Value, time: Timestamp) -> Assessment {
    let requests = [csr("c", Sort::Client, "worker-1", 330)];
    assess(host, known, &view(&[node], &requests), time)
}

#[test]
fn no_certificate_is_approved_before_the_node_of_the_former_system_is_gone() {
    let host = upgraded(HostStage::Rebooting);
    for known in [upgrade(Some(UID)), upgrade(None)] {
        for ready in ["Unknown", "False", "True"] {
            let next = assessed(&host, &known, former(ready, 390), now());
            assert!(next.approve.is_empty() && next.node.is_none(), "{next:?}");
            assert!(waits(&next).contains("its former system is deleted"), "{next:?}");
            assert_eq!(next.held.len(), 1, "{next:?}");
            assert_eq!(next.held[0], ("c".to_owned(), waits(&next)));
            assert!(next.warnings.is_empty(), "it passes by itself: {next:?}");
        }
        let mut leaving = former("Unknown", 390);
        leaving["metadata"]["deletionTimestamp"] = json!(time(at(395)));
        let next = assessed(&host, &known, leaving, now());
        assert_eq!(next.approve, [("c".to_owned(), Sort::Client)]);
        let requests = [csr("c", Sort::Client, "worker-1", 330)];
        let next = assess(&host, &known, &view(&[], &requests), now());
        assert_eq!(next.approve, [("c".to_owned(), Sort::Client)]);
    }
}

#[test]
fn a_former_node_that_stays_is_waited_for_no_longer_than_a_silent_one() {
    let host = upgraded(HostStage::Rebooting);
    let known = upgrade(Some(UID));
    // Of the request, 330, and the silence, the later one counts.
    for (since, until) in [(100, 630), (390, 690)] {
        let held = assessed(&host, &known, former("Unknown", since), at(until - 1));
        assert_eq!((held.approve.len(), held.again), (0, Some(at(until))));
        let next = assessed(&host, &known, former("Unknown", since), at(until));
        assert_eq!((next.approve.len(), next.held.len()), (1, 0), "{next:?}");
    }
}

#[test]
fn only_the_former_node_is_waited_for_and_only_while_the_upgrade_is_carried_out() {
    let approved = |host: &Host, known: &Known| {
        let next = assessed(host, known, former("Unknown", 390), now());
        next.approve.len()
    };
    let host = upgraded(HostStage::Rebooting);
    assert_eq!(approved(&host, &upgrade(Some(UID))), 0);
    assert_eq!(
        approved(&host, &upgrade(Some("another"))),
        1,
        "somebody made that Node since"
    );
    assert_eq!(approved(&host, &known(&[])), 1, "nothing deletes the Node");
    let mut ended = upgraded(HostStage::Rebooting);
    if let Some(asked) = &mut ended.data.asked_reinstall {
        asked.outcome = Some(RebootOutcome::Done);
    }
    assert_eq!(approved(&ended, &upgrade(Some(UID))), 1);
}

/// A kubelet that ends reports that its node is not ready, which is a change since a reboot that follows within the minute.
#[test]
fn the_last_report_of_a_former_kubelet_makes_no_node_joined() {
    for at_stage in [HostStage::Rebooting, HostStage::Configuring, HostStage::Joined] {
        let host = upgraded(at_stage);
        let next = assessed(&host, &upgrade(Some(UID)), former("False", 290), now());
        assert_ne!(stage(&next), Some(HostStage::Joined), "{at_stage:?}");
        assert_ne!(stage(&next), Some(HostStage::Done), "{at_stage:?}");
        assert_eq!((next.approve.len(), next.node), (0, None), "{at_stage:?}");
    }
    // It is the new kubelet's where that has its certificate all the same.
    let certified = Known {
        approved: known(&[Sort::Client]).approved,
        ..upgrade(Some(UID))
    };
    let host = upgraded(HostStage::Configuring);
    let next = assess(&host, &certified, &view(&[former("False", 350)], &[]), now());
    assert_eq!(stage(&next), Some(HostStage::Joined), "{next:?}");
}
