//! Objects of v1beta1 clients compared with those that v1beta2 clients read, and round trips of any object.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::parts::{duration_of, seconds_of};
use super::{Kind, V1BETA1, V1BETA2, convert};

fn machine_v1beta1() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "clusters-vcluster2"},
        "spec": {
            "clusterName": "vcluster2-x7k2p", "nodeDrainTimeout": "1m30s", "nodeDeletionTimeout": "10s",
            "bootstrap": {"dataSecretName": "user-data-vcluster2-1a2b"},
            "infrastructureRef": {"apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentMachine",
                "name": "m", "namespace": "clusters-vcluster2"},
            "providerID": "agent://1",
        },
        "status": {
            "phase": "Running", "bootstrapReady": true, "infrastructureReady": true,
            "nodeRef": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T08:00:00Z"}],
            "v1beta2": {"conditions": [{"type": "Deleting", "status": "False", "reason": "NotDeleting"}]},
        },
    })
}

fn machine_v1beta2() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "clusters-vcluster2"},
        "spec": {
            "clusterName": "vcluster2-x7k2p",
            "deletion": {"nodeDrainTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 10},
            "bootstrap": {"dataSecretName": "user-data-vcluster2-1a2b"},
            "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": "m"},
            "providerID": "agent://1",
        },
        "status": {
            "phase": "Running",
            "initialization": {"bootstrapDataSecretCreated": true, "infrastructureProvisioned": true},
            "nodeRef": {"name": "node-1"},
            "conditions": [{"type": "Deleting", "status": "False", "reason": "NotDeleting"}],
            "deprecated": {"v1beta1": {
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T08:00:00Z"}],
            }},
        },
    })
}

#[test]
fn a_machine_has_the_members_of_each_version_and_no_annotation_when_both_hold_all() {
    assert_eq!(
        convert(Kind::Machine, machine_v1beta1(), V1BETA2),
        machine_v1beta2()
    );
    assert_eq!(
        convert(Kind::Machine, machine_v1beta2(), V1BETA1),
        machine_v1beta1()
    );
    assert_eq!(
        convert(Kind::Machine, machine_v1beta2(), V1BETA2),
        machine_v1beta2()
    );
}

#[test]
fn a_cluster_has_the_members_of_each_version() {
    let older = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c", "namespace": "n"},
        "spec": {
            "paused": true,
            "clusterNetwork": {"apiServerPort": 6443, "pods": {"cidrBlocks": ["10.132.0.0/14"]}},
            "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
            "controlPlaneRef": {"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedControlPlane", "name": "hc",
                "namespace": "n"},
            "infrastructureRef": {"apiVersion": "capi-provider.agent-install.openshift.io/v1beta1", "kind": "AgentCluster",
                "name": "hc", "namespace": "n"},
        },
        "status": {
            "phase": "Provisioned", "controlPlaneReady": true, "infrastructureReady": false,
            "failureDomains": {"b": {"controlPlane": true}, "a": {"attributes": {"rack": "1"}}},
            "failureMessage": "x",
            "v1beta2": {"workers": {"replicas": 2}},
        },
    });
    let newer = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c", "namespace": "n"},
        "spec": {
            "paused": true,
            "clusterNetwork": {"apiServerPort": 6443, "pods": {"cidrBlocks": ["10.132.0.0/14"]}},
            "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
            "controlPlaneRef": {"apiGroup": "hypershift.openshift.io", "kind": "HostedControlPlane", "name": "hc"},
            "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentCluster", "name": "hc"},
        },
        "status": {
            "phase": "Provisioned",
            "initialization": {"controlPlaneInitialized": true, "infrastructureProvisioned": false},
            "failureDomains": [{"name": "a", "attributes": {"rack": "1"}}, {"name": "b", "controlPlane": true}],
            "deprecated": {"v1beta1": {"failureMessage": "x"}},
            "workers": {"replicas": 2},
        },
    });
    assert_eq!(convert(Kind::Cluster, older.clone(), V1BETA2), newer);
    assert_eq!(convert(Kind::Cluster, newer, V1BETA1), older);
}

#[test]
fn what_the_other_version_cannot_hold_comes_back_unless_it_was_changed_there() {
    let mut older = machine_v1beta1();
    older["spec"]["nodeDrainTimeout"] = "90.5s".into();
    older["spec"]["infrastructureRef"]["uid"] = "u".into();
    let mut newer = convert(Kind::Machine, older.clone(), V1BETA2);
    assert_eq!(newer["spec"]["deletion"]["nodeDrainTimeoutSeconds"], 90);
    assert_eq!(convert(Kind::Machine, newer.clone(), V1BETA1), older);

    newer["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = 60.into();
    newer["spec"]["minReadySeconds"] = 5.into();
    let back = convert(Kind::Machine, newer.clone(), V1BETA1);
    assert_eq!(back["spec"]["nodeDrainTimeout"], "1m0s");
    assert_eq!(back["spec"]["infrastructureRef"]["uid"], "u");
    assert_eq!(back["spec"].get("minReadySeconds"), None);
    assert_eq!(convert(Kind::Machine, back, V1BETA2)["spec"], newer["spec"]);

    // A topology needs ClusterClasses, which are not served here: it is kept, and not converted.
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
        "spec": {"topology": {"class": "q", "version": "v1.34.4"}}});
    let newer = convert(Kind::Cluster, cluster.clone(), V1BETA2);
    assert_eq!(newer["spec"], json!({}));
    assert_eq!(convert(Kind::Cluster, newer, V1BETA1), cluster);
}

#[test]
fn durations_are_those_of_go() {
    for (text, seconds) in [
        ("0s", Some(0)),
        ("0", Some(0)),
        ("1h0m5s", Some(3605)),
        ("1.5h", Some(5400)),
        ("2m500ms", Some(120)),
        ("300000000h", Some(i64::from(i32::MAX))),
        ("-5s", None),
        ("5", None),
        ("", None),
        ("5 s", None),
    ] {
        assert_eq!(seconds_of(text), seconds, "{text}");
    }
    for (seconds, text) in [(0, "0s"), (59, "59s"), (60, "1m0s"), (3605, "1h0m5s")] {
        assert_eq!(duration_of(seconds), text);
    }
}

/// Any JSON but null, which the API server drops.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z0-9./]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Names of members of both versions, and others.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "clusterName",
            "bootstrap",
            "infrastructureRef",
            "controlPlaneRef",
            "nodeDrainTimeout",
            "deletion",
            "topology",
            "paused",
            "controlPlaneEndpoint",
            "failureDomains",
            "conditions",
            "v1beta2",
            "v1beta1",
            "deprecated",
            "initialization",
            "phase",
            "nodeRef",
            "name",
            "kind",
            "apiVersion",
            "apiGroup",
            "namespace",
            "host",
            "port",
            "nodeDrainTimeoutSeconds",
            "infrastructureReady",
            "infrastructureProvisioned",
            "dataSecretName",
            "configRef",
            "failureMessage",
            "minReadySeconds",
        ])
        .prop_map(str::to_owned),
        "[a-z.]{1,4}",
    ]
}

fn members() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        anything(),
        prop::sample::select(vec![
            json!("1m30s"),
            json!("90s"),
            json!("Updating"),
            json!(""),
            json!(0)
        ]),
        Just(json!({"apiVersion": "g/v1alpha1", "kind": "K", "name": "n", "uid": "u"})),
        Just(json!({"apiGroup": "g", "kind": "K", "name": "n"})),
        Just(json!([{"name": "b", "controlPlane": true}, {"name": "a"}])),
        Just(json!({"b": {"controlPlane": true}, "a": {}})),
        Just(json!({"nodeDrainTimeoutSeconds": 90, "other": 1})),
    ];
    prop::collection::btree_map(name(), value, 0..12).prop_map(|members| members.into_iter().collect())
}

fn object() -> impl Strategy<Value = Value> {
    let metadata = prop_oneof![
        Just(json!({"name": "o", "namespace": "n"})),
        Just(json!({"name": "o", "annotations": {"a": "b"}})),
    ];
    (metadata, prop::option::of(members()), prop::option::of(members())).prop_map(
        |(metadata, spec, status)| {
            let mut object = json!({"kind": "K", "metadata": metadata});
            for (name, section) in [("spec", spec), ("status", status)] {
                if let Some(section) = section {
                    object[name] = Value::Object(section);
                }
            }
            object
        },
    )
}

proptest! {
    #[test]
    fn nothing_is_lost_there_and_back(
        object in object(),
        kind in prop::sample::select(vec![Kind::Cluster, Kind::Machine]),
        versions in prop::sample::select(vec![(V1BETA1, V1BETA2), (V1BETA2, V1BETA1)]),
    ) {
        let (from, to) = versions;
        let mut object = object;
        object["apiVersion"] = format!("cluster.x-k8s.io/{from}").into();
        let there = convert(kind, object.clone(), to);
        prop_assert_eq!(&there["apiVersion"], &Value::from(format!("cluster.x-k8s.io/{to}")));
        let back = convert(kind, there.clone(), from);
        prop_assert_eq!(&back, &object);
        prop_assert_eq!(convert(kind, back, to), there);
    }
}
