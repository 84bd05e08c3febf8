//! Requests for certificates: approved, recorded, refused; those of a Node of another machine.

use muster_api::fingerprint::Fingerprint;
use muster_core::record::InstalledAs;

use super::*;

#[test]
fn its_client_certificate_is_approved_and_the_stage_is_configuring() {
    let requests = [csr("c", Sort::Client, "worker-1", 330)];
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &requests),
        now(),
    );
    assert_eq!(next.approve, [("c".to_owned(), Sort::Client)]);
    assert_eq!(stage(&next), Some(HostStage::Configuring));
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[], &[]),
        now(),
    );
    assert_eq!((stage(&next), next.approve.len()), (None, 0));
    assert!(waits(&next).contains("Node is awaited"), "{next:?}");
}

#[test]
fn an_approval_of_somebody_else_is_recorded() {
    let requests = [approved(csr("c", Sort::Client, "worker-1", 330))];
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &requests),
        now(),
    );
    assert!(next.approve.is_empty());
    let tracked = Tracked {
        name: "c".into(),
        sort: Sort::Client,
        at: at(330),
    };
    assert_eq!(next.track, [tracked]);
    assert_eq!(stage(&next), Some(HostStage::Configuring));
}

#[test]
fn requests_from_before_the_machine_was_booted_do_not_count() {
    let requests = [
        csr("c", Sort::Client, "worker-1", -1000),
        approved(csr("d", Sort::Client, "worker-1", -1000)),
    ];
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &requests),
        now(),
    );
    assert!(
        next.approve.is_empty() && next.track.is_empty() && next.stage.is_none(),
        "{next:?}"
    );
}

#[test]
fn a_request_of_another_name_is_never_approved_and_told() {
    let other = [csr("c", Sort::Client, "worker-2", 330)];
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &other),
        now(),
    );
    assert!(next.approve.is_empty() && next.warnings.is_empty());
    let longer = [csr("c", Sort::Client, "worker-1.example.test", 330)];
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &longer),
        now(),
    );
    assert!(next.approve.is_empty() && next.stage.is_none());
    assert!(
        next.warnings[0].note.contains("worker-1.example.test"),
        "{next:?}"
    );
    assert!(waits(&next).contains("spec.hostname"), "{next:?}");
}

#[test]
fn a_request_that_breaks_a_rule_is_told_once_and_waited_for() {
    let mut request = csr("c", Sort::Client, "worker-1", 330);
    request["spec"]["username"] = json!("somebody");
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[], &[request]),
        now(),
    );
    assert!(next.approve.is_empty());
    assert_eq!(next.warnings.len(), 1);
    assert!(
        waits(&next).contains("somebody") && waits(&next).contains("kubectl certificate approve c"),
        "{next:?}"
    );
}

/// The assessment of a host that requests a client certificate while the cluster has this Node of its name.
fn asks_beside(old: Value) -> Assessment {
    let requests = [csr("c", Sort::Client, "worker-1", 330)];
    assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[old], &requests),
        now(),
    )
}

#[test]
fn nobody_gets_the_certificate_of_a_node_that_lives() {
    for ready in ["True", "False"] {
        let next = asks_beside(old_node(ready, -800_000));
        assert!(next.approve.is_empty() && next.node.is_none(), "{next:?}");
        assert!(waits(&next).contains("whose kubelet still reports"), "{next:?}");
        assert!(waits(&next).contains("kubectl delete node worker-1"), "{next:?}");
        assert_eq!(next.warnings[0].reason, "NodeNameInUse");
    }
    // It is 400 now.
    let next = asks_beside(old_node("Unknown", 101));
    assert_eq!((next.approve.len(), next.again), (0, Some(at(401))));
    assert!(next.warnings.is_empty(), "it passes by itself: {next:?}");
    assert_eq!(asks_beside(old_node("Unknown", 100)).approve.len(), 1);
}

#[test]
fn nobody_gets_the_certificate_of_another_machines_node() {
    let mut of_other_host = old_node("Unknown", -5000);
    of_other_host["spec"] = json!({"providerID": "agent://00000000-0000-0000-0000-000000000006"});
    let mut of_other_board = old_node("Unknown", -5000);
    of_other_board["status"]["nodeInfo"] = node_info("4c4c4544-0033-3510-8052-b4c04f4e3633");
    let mut control_plane = old_node("Unknown", -5000);
    control_plane["metadata"]["labels"] = json!({"node-role.kubernetes.io/control-plane": ""});
    let requests = [csr("c", Sort::Client, "worker-1", 330)];
    let mut host = host(HostStage::Rebooting);
    host.data.fingerprint = Some(Fingerprint {
        system_uuid: "4c4c4544-0033-3510-8052-b4c04f4e3632".into(),
        ..Fingerprint::default()
    });
    for (mut held, why) in [
        (of_other_host, "another machine"),
        (of_other_board.clone(), "another machine"),
        (control_plane, "control plane"),
    ] {
        let next = assess(&host, &known(&[]), &view(&[held.clone()], &requests), now());
        assert!(next.approve.is_empty() && waits(&next).contains(why), "{next:?}");
        // A user deletes the Node.
        held["metadata"]["deletionTimestamp"] = json!(time(at(360)));
        let next = assess(&host, &known(&[]), &view(&[held], &requests), now());
        assert_eq!(next.approve.len(), 1, "{why}: {next:?}");
    }
    of_other_board["status"]["nodeInfo"] = node_info("4C4C4544-0033-3510-8052-B4C04F4E3632");
    let next = assess(&host, &known(&[]), &view(&[of_other_board], &requests), now());
    assert_eq!(next.approve.len(), 1, "it is this board: {next:?}");
}

fn node_info(system_uuid: &str) -> Value {
    let mut info: serde_json::Map<String, Value> = [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
    ]
    .into_iter()
    .map(|member| (member.to_owned(), json!("")))
    .collect();
    info.insert("systemUUID".into(), json!(system_uuid));
    info.into()
}

#[test]
fn a_silent_node_with_the_hosts_provider_id_is_its_own_of_before() {
    let own = |ready: &str| asks_beside(node("worker-1", -5000, ready, 390));
    assert_eq!(own("Unknown").approve.len(), 1);
    assert_eq!(own("False").approve.len(), 0);
}

#[test]
fn a_name_that_is_reported_after_the_request_is_not_the_hosts() {
    let mut host = host(HostStage::Rebooting);
    host.data.installed_as = Some(InstalledAs {
        hostname: "host-1".into(),
        addresses: vec!["192.0.2.8".parse().unwrap()],
        calls_itself: String::new(),
    });
    let requests = [
        csr("c", Sort::Client, "worker-1", 330),
        csr("d", Sort::Client, "host-1", 330),
    ];
    let next = assess(
        &host,
        &known(&[]),
        &view(&[old_node("True", 350)], &requests),
        now(),
    );
    assert_eq!(next.approve, [("d".to_owned(), Sort::Client)]);
    assert_eq!(next.node, None);
    // The same for an address.
    let mut fresh = node("host-1", 340, "True", 350);
    fresh["spec"] = json!({"providerID": PROVIDER_ID});
    let requests = [csr("s", Sort::Serving, "host-1", 345)];
    let next = assess(&host, &known(&[Sort::Client]), &view(&[fresh], &requests), now());
    assert_eq!(next.approve, []);
    let why = &next.warnings[0].note;
    assert!(why.contains("none that the host reported"), "{next:?}");
}
