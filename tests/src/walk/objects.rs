//! Objects that users apply.

use serde_json::{Value, json};

use crate::qemu::Architecture;
use crate::rest::PULL_SECRET;

/// A namespace.
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A Secret with text.
pub fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": data,
    })
}

/// A pull secret.
pub fn pull_secret(namespace: &str, name: &str) -> Value {
    secret(namespace, name, &json!({".dockerconfigjson": PULL_SECRET}))
}

/// An InfraEnv that refers to the Secret `pull-secret`.
pub fn infra_env(namespace: &str, name: &str, architecture: Architecture) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"cpuArchitecture": architecture.name(), "pullSecretRef": {"name": "pull-secret"}},
    })
}

/// A HostedCluster of the platform Agent, as `hcp create cluster agent --render` prints it
/// (docs/protocol/capi-agent-provider.md#8.3).
pub fn hosted_cluster(namespace: &str, name: &str, agents: &str, address: &str) -> Value {
    let services = ["APIServer", "Ignition", "Konnectivity", "OAuthServer", "OIDC"];
    let services: Vec<Value> = services
        .iter()
        .map(|service| {
            json!({
                "service": service,
                "servicePublishingStrategy": {"type": "NodePort", "nodePort": {"address": address}},
            })
        })
        .collect();
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "autoscaling": {}, "configuration": {}, "controllerAvailabilityPolicy": "SingleReplica",
            "dns": {"baseDomain": "lab.example"},
            "etcd": {
                "managementType": "Managed",
                "managed": {"storage": {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}}},
            },
            "fips": false, "infraID": format!("{name}-lab00"),
            "networking": {
                "clusterNetwork": [{"cidr": "10.132.0.0/14"}], "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
                "networkType": "OVNKubernetes",
            },
            "olmCatalogPlacement": "management",
            "platform": {"type": "Agent", "agent": {"agentNamespace": agents}},
            "pullSecret": {"name": format!("{name}-pull-secret")},
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.0-multi"},
            "secretEncryption": {
                "type": "aescbc", "aescbc": {"activeKey": {"name": format!("{name}-etcd-encryption-key")}},
            },
            "services": services, "sshKey": {},
        },
        "status": {"controlPlaneEndpoint": {"host": "", "port": 0}},
    })
}

/// A NodePool without replicas that replaces its machines, one more at a time.
pub fn node_pool(namespace: &str, name: &str, cluster: &str, architecture: Architecture) -> Value {
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "arch": architecture.debian(), "clusterName": cluster, "replicas": 0, "nodeDrainTimeout": "0s",
            "management": {
                "autoRepair": false, "upgradeType": "Replace",
                "replace": {"strategy": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            },
            "platform": {"type": "Agent", "agent": {}},
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.0-multi"},
        },
        "status": {"replicas": 0},
    })
}

/// Checks that Nodes, Machines and AgentMachines have the same providerIDs, each its own; returns these.
///
/// # Panics
/// If one is missing, another's, or duplicated.
#[track_caller]
pub fn assert_provider_ids(nodes: &[Value], machines: &[Value], agent_machines: &[Value]) -> Vec<String> {
    let ids = provider_ids(nodes);
    assert_eq!(ids, provider_ids(machines));
    assert_eq!(ids, provider_ids(agent_machines));
    let mut distinct = ids.clone();
    distinct.dedup();
    assert_eq!(distinct, ids, "an Agent was claimed twice");
    assert!(ids.iter().all(|id| id.starts_with("agent://")), "{ids:?}");
    ids
}

/// The providerIDs of objects' specs, sorted.
fn provider_ids(objects: &[Value]) -> Vec<String> {
    let ids = objects
        .iter()
        .map(|one| one["spec"]["providerID"].as_str().unwrap_or("none").to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort_unstable();
    ids
}
