//! Objects of a running implementation, read and written again.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::*;

fn recorded() -> Vec<(String, Value)> {
    let recorded: Vec<Value> = serde_json::from_str(include_str!("../facts/recorded-objects.json")).unwrap();
    let pair = |entry: &Value| {
        (
            entry["name"].as_str().unwrap().to_owned(),
            entry["object"].clone(),
        )
    };
    recorded.iter().map(pair).collect()
}

fn again<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let read: K = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(read).unwrap()
}

fn again_by_kind(object: &Value) -> Value {
    match object["kind"].as_str().unwrap() {
        "Agent" => again::<Agent>(object),
        "AgentClassification" => again::<AgentClassification>(object),
        "AgentClusterInstall" => again::<AgentClusterInstall>(object),
        "ClusterDeployment" => again::<ClusterDeployment>(object),
        "InfraEnv" => again::<InfraEnv>(object),
        kind => panic!("no type for {kind}"),
    }
}

/// Differences of `written` from `expected`, except for members that Rust's types always write:
/// `lastHeartbeatTime: null`, and the uid of owners, which the recording left out.
fn compare(expected: &Value, written: &Value, path: &str, differences: &mut Vec<String>) {
    match (expected, written) {
        (Value::Object(expected), Value::Object(written)) => {
            for (key, value) in expected {
                let path = format!("{path}.{key}");
                match written.get(key) {
                    Some(written) => compare(value, written, &path, differences),
                    None => differences.push(format!("{path} is lost: {value}")),
                }
            }
            for (key, value) in written.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                let always = (key == "lastHeartbeatTime" && value.is_null()) || (key == "uid" && value == "");
                if !always {
                    differences.push(format!("{path}.{key} is made up: {value}"));
                }
            }
        }
        (Value::Array(expected), Value::Array(written)) if expected.len() == written.len() => {
            for (index, (expected, written)) in expected.iter().zip(written).enumerate() {
                compare(expected, written, &format!("{path}[{index}]"), differences);
            }
        }
        _ if expected == written => {}
        _ => differences.push(format!("{path}: {written} instead of {expected}")),
    }
}

#[test]
fn recorded_objects_are_written_as_they_were_read() {
    let recorded = recorded();
    assert!(recorded.len() >= 15);
    let mut differences = Vec::new();
    for (name, object) in recorded {
        compare(&object, &again_by_kind(&object), &name, &mut differences);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn conditions_are_written_with_a_null_heartbeat_as_clients_of_the_field_expect() {
    let condition = Condition {
        type_: "Bound".into(),
        status: "True".into(),
        ..Condition::default()
    };
    let expected =
        json!({ "type": "Bound", "status": "True", "lastTransitionTime": null, "lastHeartbeatTime": null });
    assert_eq!(serde_json::to_value(condition).unwrap(), expected);
}

#[test]
fn approved_and_role_are_written_even_when_nothing_is_set() {
    let spec = serde_json::to_value(AgentSpec::default()).unwrap();
    assert_eq!(spec, json!({ "approved": false, "role": "" }));
}

#[test]
fn an_object_without_spec_is_read_as_one_with_an_empty_spec() {
    let object = |kind: &str| json!({ "kind": kind, "metadata": { "name": "n" } });
    let infra_env: InfraEnv = serde_json::from_value(object("InfraEnv")).unwrap();
    assert_eq!(infra_env.spec, InfraEnvSpec::default());
    assert_eq!(infra_env.spec.cpu_architecture, "x86_64");
    let cluster: ClusterDeployment = serde_json::from_value(object("ClusterDeployment")).unwrap();
    assert_eq!(cluster.spec, ClusterDeploymentSpec::default());
    let config: NMStateConfig =
        serde_json::from_value(json!({ "metadata": { "name": "n" }, "spec": null })).unwrap();
    assert_eq!(config.spec, NMStateConfigSpec::default());
    let broken =
        serde_json::from_value::<InfraEnv>(json!({ "metadata": {}, "spec": { "pullSecretRef": 7 } }));
    assert!(broken.is_err());
}

#[test]
fn fields_of_others_survive_in_a_cluster_deployment() {
    let object = json!({
        "apiVersion": "hive.openshift.io/v1",
        "kind": "ClusterDeployment",
        "metadata": { "name": "c" },
        "spec": {
            "clusterName": "c",
            "baseDomain": "example.test",
            "platform": { "aws": { "region": "r" } },
            "hibernateAfter": "1h",
            "clusterMetadata": {
                "clusterID": "1", "infraID": "2", "adminKubeconfigSecretRef": { "name": "k" },
                "metadataJSONSecretRef": { "name": "m" }
            }
        },
        "status": { "certificateBundles": [{ "name": "b" }] }
    });
    assert_eq!(again::<ClusterDeployment>(&object), object);
}

#[test]
fn the_tree_of_an_nm_state_config_is_kept_as_it_is() {
    let object = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "NMStateConfig",
        "metadata": { "name": "n", "labels": { "net": "lab" } },
        "spec": {
            "interfaces": [{ "name": "eth0", "macAddress": "02:00:00:00:00:01" }],
            "config": {
                "interfaces": [{ "name": "eth0", "ipv4": { "enabled": true, "mtu": 1500, "none": null } }],
                "routes": { "config": [] }
            }
        }
    });
    assert_eq!(again::<NMStateConfig>(&object), object);
}
