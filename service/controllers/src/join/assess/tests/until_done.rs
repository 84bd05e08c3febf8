//! From reboot to done: the stages, and what ends them.

use muster_core::record::NotBooted;

use super::*;

#[test]
fn a_host_that_reboots_waits_for_its_kubelet() {
    let next = assess(&host(HostStage::Rebooting), &known(&[]), &view(&[], &[]), now());
    assert!(waits(&next).contains("has not requested"), "{next:?}");
    assert_eq!(Assessment { waits: None, ..next }, Assessment::default());
}

#[test]
fn it_is_done_when_its_node_is_ready_and_its_serving_certificate_approved() {
    let nodes = [node("worker-1", 340, "True", 350)];
    let all = known(&[Sort::Client, Sort::Serving]);
    let next = assess(&host(HostStage::Joined), &all, &view(&nodes, &[]), at(301));
    assert_eq!((stage(&next), next.waits), (Some(HostStage::Done), None));
    let requests = [csr("s", Sort::Serving, "worker-1", 345)];
    let next = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&nodes, &requests),
        now(),
    );
    assert_eq!(next.approve, [("s".to_owned(), Sort::Serving)]);
    assert_eq!(stage(&next), None, "after the approval");
}

#[test]
fn a_kubelet_that_asks_for_no_serving_certificate_is_waited_for_half_a_minute() {
    let nodes = [node("worker-1", 340, "True", 350)];
    let next = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&nodes, &[]),
        at(310),
    );
    assert_eq!((stage(&next), next.again), (None, Some(at(330))));
    let next = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&nodes, &[]),
        at(330),
    );
    assert_eq!(stage(&next), Some(HostStage::Done));
}

#[test]
fn a_serving_certificate_that_is_refused_keeps_it_from_done() {
    let mut request = csr("s", Sort::Serving, "worker-1", 345);
    request["spec"]["usages"] = json!(["server auth"]);
    let view = view(&[node("worker-1", 340, "True", 350)], &[request]);
    let next = assess(&host(HostStage::Joined), &known(&[Sort::Client]), &view, now());
    assert_eq!(stage(&next), None);
    assert!(waits(&next).contains("usages"), "{next:?}");
}

#[test]
fn only_hosts_between_reboot_and_done_are_joining() {
    let joins = |stage, state: HostState| {
        let host = Host { state, ..host(stage) };
        is_joining(&host.state, &host.data, host.cluster_id)
    };
    let pending = HostState::InstallingPendingUserAction {
        why: NotBooted::TooSlow,
    };
    assert!(joins(HostStage::Rebooting, HostState::InstallingInProgress));
    assert!(joins(HostStage::Joined, HostState::InstallingInProgress));
    assert!(joins(HostStage::Rebooting, pending));
    assert!(!joins(
        HostStage::WritingImageToDisk,
        HostState::InstallingInProgress
    ));
    assert!(!joins(HostStage::Rebooting, HostState::Error));
    assert!(!joins(HostStage::Done, HostState::AddedToExistingCluster));
    let mut day_one = host(HostStage::Rebooting);
    day_one.data.kind = HostKind::Host;
    assert!(!is_joining(&day_one.state, &day_one.data, day_one.cluster_id));
}
