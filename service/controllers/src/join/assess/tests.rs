use std::sync::Arc;

use chrono::TimeDelta;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::{Interface, Inventory};
use muster_controller::conditions::time;
use muster_core::record::{HostData, InstalledAs, NotBooted, Progress};
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use serde_json::{Value, json};

use super::*;

/// The machine registered at 0, rebooted at 300, and it is 400 now.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000, 0).unwrap() + TimeDelta::seconds(seconds)
}

fn now() -> Timestamp {
    at(400)
}

fn host(stage: HostStage) -> Host {
    Host {
        id: HostId("00000000-0000-0000-0000-000000000005".parse().unwrap()),
        infra_env_id: InfraEnvId::random(),
        cluster_id: Some(ClusterId::random()),
        state: HostState::InstallingInProgress,
        version: 1,
        due_at: None,
        checked_in_at: at(0),
        inventory: Some(Arc::new(Inventory {
            hostname: "worker-1".into(),
            interfaces: vec![Interface {
                ipv4_addresses: vec!["192.0.2.7/24".into()],
                ..Interface::default()
            }],
            ..Inventory::default()
        })),
        reports: Default::default(),
        bootstrap_ignition: Default::default(),
        data: HostData {
            kind: HostKind::AddToExistingClusterHost,
            progress: Some(Progress {
                stage,
                percentage: 0,
                info: String::new(),
                stage_started_at: at(300),
                stage_updated_at: at(300),
            }),
            node_labels: vec![("rack".into(), "r1".into())],
            ..HostData::new(at(0))
        },
    }
}

const PROVIDER_ID: &str = "agent://00000000-0000-0000-0000-000000000005";

fn node(name: &str, created: i64, ready: &str, since: i64) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid of {name}"), "creationTimestamp": time(at(created)), "labels": {"rack": "r1"}},
        "spec": {"providerID": PROVIDER_ID},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}, {"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": time(at(since)), "reason": "KubeletNotReady", "message": "network is not ready"}],
        },
    })
}

fn csr(name: &str, sort: Sort, node: &str, created: i64) -> Value {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{node}"));
    if sort == Sort::Serving {
        params.subject_alt_names = vec![SanType::IpAddress("192.0.2.7".parse().unwrap())];
    }
    let pem = params
        .serialize_request(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
        .unwrap();
    let (signer, user, groups, usage) = match sort {
        Sort::Client => (
            "kube-apiserver-client-kubelet",
            "system:bootstrap:abc123".to_owned(),
            "system:bootstrappers",
            "client auth",
        ),
        Sort::Serving => (
            "kubelet-serving",
            format!("system:node:{node}"),
            "system:nodes",
            "server auth",
        ),
    };
    json!({
        "metadata": {"name": name, "uid": name, "creationTimestamp": time(at(created))},
        "spec": {
            "request": k8s_openapi::ByteString(pem.into_bytes()), "signerName": format!("kubernetes.io/{signer}"),
            "username": user, "groups": [groups, "system:authenticated"], "usages": ["digital signature", usage],
        },
    })
}

fn approved(mut csr: Value) -> Value {
    csr["status"] =
        json!({"conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": time(at(330))}]});
    csr
}

fn view(nodes: &[Value], csrs: &[Value]) -> View {
    let mut view = View::default();
    view.note_node(Event::Init);
    for node in nodes {
        let node: Node = serde_json::from_value(node.clone()).unwrap();
        view.note_node(Event::InitApply(node));
    }
    view.note_node(Event::InitDone);
    view.note_csr(Event::Init);
    for csr in csrs {
        let csr: CertificateSigningRequest = serde_json::from_value(csr.clone()).unwrap();
        view.note_csr(Event::InitApply(csr));
    }
    view.note_csr(Event::InitDone);
    view
}

fn known(sorts: &[Sort]) -> Known {
    let approved = sorts.iter().map(|sort| ApprovedCsr {
        name: format!("csr of {}", sort.name()),
        type_: sort.name().into(),
        approved_at: time(at(320)),
    });
    Known {
        approved: approved.collect(),
        sets_provider_id: true,
        settings: None,
    }
}

fn waits(assessment: &Assessment) -> String {
    assessment.waits.as_ref().map(Awaited::text).unwrap_or_default()
}

fn stage(assessment: &Assessment) -> Option<HostStage> {
    assessment.stage.as_ref().map(|(stage, _)| *stage)
}

#[test]
fn a_host_that_reboots_waits_for_its_kubelet() {
    let next = assess(&host(HostStage::Rebooting), &known(&[]), &view(&[], &[]), now());
    assert!(waits(&next).contains("has not asked"), "{next:?}");
    assert_eq!(Assessment { waits: None, ..next }, Assessment::default());
}

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

#[test]
fn its_node_makes_it_joined_and_gets_provider_id_and_labels() {
    let mut fresh = node("worker-1", 340, "False", 340);
    fresh["spec"] = json!({});
    fresh["metadata"]["labels"] = json!({"rack": "other"});
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[fresh.clone()], &[]),
        now(),
    );
    assert_eq!(stage(&next), Some(HostStage::Joined));
    let change = next.node.clone().unwrap();
    assert_eq!(change.provider_id.as_deref(), Some(PROVIDER_ID));
    assert_eq!(
        change.labels.into_iter().collect::<Vec<_>>(),
        [("rack".to_owned(), "r1".to_owned())]
    );
    assert!(waits(&next).contains("network is not ready"), "{next:?}");
    let foreign_provider = Known {
        sets_provider_id: false,
        ..known(&[Sort::Client])
    };
    let next = assess(
        &host(HostStage::Configuring),
        &foreign_provider,
        &view(&[fresh], &[]),
        now(),
    );
    assert_eq!(next.node.unwrap().provider_id, None);
}

#[test]
fn its_node_gets_the_labels_and_taints_of_its_pool_as_soon_as_it_is_there() {
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": {},
        "metadata": {
            "name": "m", "labels": {"managed.hypershift.openshift.io.rack": "of the pool"},
            "annotations": {
                "hypershift.openshift.io/nodePool": "clusters/np",
                "hypershift.openshift.io/nodePoolTaints": r#"[{"key": "gpu", "effect": "NoSchedule"}]"#,
            },
        },
    });
    let settings = NodeSettings::of(&serde_json::from_value(machine).unwrap());
    let known = Known {
        settings: settings.clone(),
        ..known(&[Sort::Client])
    };
    let mut fresh = node("worker-1", 340, "False", 340);
    let next = assess(
        &host(HostStage::Configuring),
        &known,
        &view(&[fresh.clone()], &[]),
        now(),
    );
    let change = next.node.unwrap();
    assert_eq!(change.settings, settings);
    assert!(change.labels.is_empty(), "the pool decides: {change:?}");
    fresh["metadata"]["labels"] = json!({"rack": "of the pool", "hypershift.openshift.io/nodePool": "np"});
    fresh["spec"]["taints"] = json!([{"key": "gpu", "effect": "NoSchedule"}]);
    let next = assess(&host(HostStage::Configuring), &known, &view(&[fresh], &[]), now());
    assert_eq!(next.node, None);
}

#[test]
fn a_node_that_is_as_it_should_be_is_not_changed() {
    let next = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&[node("worker-1", 340, "False", 340)], &[]),
        now(),
    );
    assert_eq!((next.node.clone(), stage(&next)), (None, None));
    assert!(
        waits(&next).contains("kubectl describe node worker-1"),
        "{next:?}"
    );
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
fn a_node_of_an_earlier_installation_is_not_the_hosts() {
    let old = node("worker-1", -5000, "True", -4000);
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(std::slice::from_ref(&old), &[]),
        now(),
    );
    assert_eq!((stage(&next), next.node.clone()), (None, None));
    assert!(waits(&next).contains("from before this installation"), "{next:?}");
    // The kubelet has got a certificate since.
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[old], &[]),
        now(),
    );
    assert_eq!(stage(&next), Some(HostStage::Joined));
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

/// The Node of a machine that is not known, ten days old.
fn old_node(ready: &str, since: i64) -> Value {
    let mut node = node("worker-1", -864_000, ready, since);
    node["spec"] = json!({});
    node
}

#[test]
fn nobody_gets_the_certificate_of_a_node_that_lives() {
    for ready in ["True", "False"] {
        let next = asks_beside(old_node(ready, -800_000));
        assert!(next.approve.is_empty() && next.node.is_none(), "{next:?}");
        assert!(waits(&next).contains("whose kubelet is heard"), "{next:?}");
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
fn a_stage_that_a_host_reports_makes_no_others_node_its_own() {
    for stage in [HostStage::Configuring, HostStage::Joined] {
        // The readiness changed since: that does not show which machine the Node belongs to.
        let next = assess(
            &host(stage),
            &known(&[]),
            &view(&[old_node("True", 350)], &[]),
            now(),
        );
        assert_eq!((next.node.clone(), next.stage.clone()), (None, None), "{next:?}");
    }
    let own = assess(
        &host(HostStage::Joined),
        &known(&[Sort::Client]),
        &view(&[old_node("Unknown", 350)], &[]),
        now(),
    );
    assert!(waits(&own).contains("its kubelet is silent"), "{own:?}");
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

#[test]
fn a_node_that_is_being_deleted_is_not_the_hosts() {
    let mut leaving = node("worker-1", 340, "True", 350);
    leaving["metadata"]["deletionTimestamp"] = json!(time(at(360)));
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[leaving], &[]),
        now(),
    );
    assert_eq!(stage(&next), None);
}

#[test]
fn another_provider_id_is_told_and_the_host_is_not_done() {
    let mut other = node("worker-1", 340, "True", 350);
    other["spec"]["providerID"] = json!("agent://somebody");
    let view = view(&[other], &[]);
    let all = known(&[Sort::Client, Sort::Serving]);
    let next = assess(&host(HostStage::Joined), &all, &view, now());
    assert_eq!((stage(&next), next.node.clone()), (None, None));
    assert_eq!(next.warnings[0].reason, "ProviderIDMismatch");
    assert!(waits(&next).contains("agent://somebody"), "{next:?}");
    let without_provider = Known {
        sets_provider_id: false,
        ..all
    };
    let next = assess(&host(HostStage::Joined), &without_provider, &view, now());
    assert_eq!(stage(&next), Some(HostStage::Done));
}

/// A kubelet with any certificate of the cluster may make its Node with the provider id of a host that is being installed.
#[test]
fn a_node_of_another_name_with_the_hosts_provider_id_is_not_the_hosts() {
    let claims = node("claims", 340, "True", 350);
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[Sort::Client]),
        &view(
            std::slice::from_ref(&claims),
            &[csr("s", Sort::Serving, "claims", 345)],
        ),
        now(),
    );
    assert!(
        next.node.is_none() && next.approve.is_empty() && stage(&next) != Some(HostStage::Joined),
        "{next:?}"
    );
    assert_eq!(
        (next.warnings.len(), next.warnings[0].reason),
        (1, "ProviderIDClaimed")
    );
    // Beside the host's own, which is older.
    let mut own = node("worker-1", 330, "False", 340);
    own["spec"] = json!({});
    let next = assess(
        &host(HostStage::Configuring),
        &known(&[Sort::Client]),
        &view(&[claims.clone(), own], &[]),
        now(),
    );
    assert_eq!(next.node.unwrap().node, "worker-1");
    // It is named: it may be this machine, under a name that nobody has given it.
    let next = assess(
        &host(HostStage::Rebooting),
        &known(&[]),
        &view(&[claims], &[]),
        now(),
    );
    let told = waits(&next);
    assert!(
        told.contains("claims") && told.contains("spec.hostname"),
        "{told}"
    );
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
