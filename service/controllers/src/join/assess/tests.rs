//! A host that joins its cluster at each step, with Nodes and requests of the cluster.

mod certificates;
mod former;
mod nodes;
mod until_done;

use std::sync::Arc;

use chrono::TimeDelta;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::{Interface, Inventory};
use muster_controller::conditions::time;
use muster_core::record::{HostData, Progress};
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
        upgrade: None,
    }
}

fn waits(assessment: &Assessment) -> String {
    assessment.waits.as_ref().map(Awaited::text).unwrap_or_default()
}

fn stage(assessment: &Assessment) -> Option<HostStage> {
    assessment.stage.as_ref().map(|(stage, _)| *stage)
}

/// The Node of a machine that is not known, ten days old.
fn old_node(ready: &str, since: i64) -> Value {
    let mut node = node("worker-1", -864_000, ready, since);
    node["spec"] = json!({});
    node
}
