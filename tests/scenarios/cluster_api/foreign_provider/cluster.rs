//! The provider's work on the cluster and the machine: hook, labels, token, ClusterDeployment, AgentClusterInstall, Node.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use serde_json::json;

use super::claim::HOOK;
use super::secrets::Secret;
use super::{CAPI, HCP, PROVIDER, Provider, owner, path};
use muster_tests::kube::played_nodes::Workload;
use muster_tests::kube::world::SOON;

impl Provider {
    /// The hook on the Machine, the label on the bootstrap data, and the token, which is written repeatedly.
    #[track_caller]
    pub fn prepares_the_machine(&self) {
        // The controllers that make Machines write them and their data, too. A write that conflicts is retried.
        let machine_path = path(CAPI, HCP, "machines", "east-1");
        await_condition("the hook to be written", SOON, || {
            let mut machine = self.get(&machine_path);
            machine["metadata"]["annotations"][HOOK] = json!("");
            let answer = self.send("PUT", &machine_path, &machine);
            (answer.status == 200).then_some(()).ok_or_else(|| answer.text())
        });

        let data_path = path("v1", HCP, "secrets", "user-data-east-1");
        await_condition("the label to be written", SOON, || {
            let data = self.get(&data_path);
            let value = STANDARD.decode(data["data"]["value"].as_str().unwrap()).unwrap();
            let labelled = Secret {
                name: "user-data-east-1",
                resource_version: data["metadata"]["resourceVersion"].as_str(),
                labels: &["cluster.open-cluster-management.io/backup"],
                key: "value",
                value: &value,
            };
            let status = self.send_secret("PUT", &data_path, &labelled);
            (status == 200).then_some(()).ok_or_else(|| status.to_string())
        });

        let token = Secret {
            name: "agent-user-data-east-1",
            resource_version: None,
            labels: &[
                "agent-install.openshift.io/watch",
                "cluster.open-cluster-management.io/backup",
            ],
            key: "ignition-token",
            value: b"dG9rZW4=",
        };
        let all = path("v1", HCP, "secrets", "");
        assert_eq!(self.send_secret("POST", &all, &token), 201);
        let token_path = path("v1", HCP, "secrets", "agent-user-data-east-1");
        let version = || self.get(&token_path)["metadata"]["resourceVersion"].clone();
        let before = version();
        for _ in 0..3 {
            assert_eq!(self.send_secret("POST", &all, &token), 409);
            assert_eq!(
                self.send_secret("PUT", &token_path, &token),
                200,
                "without a resourceVersion"
            );
        }
        assert_eq!(version(), before, "a write without a change is none");
    }

    #[track_caller]
    pub fn makes_the_cluster_deployment(&self) {
        let agent_cluster = self.get(&path(PROVIDER, HCP, "agentclusters", "east"));
        let id = agent_cluster["metadata"]["ownerReferences"][0]["uid"].clone();
        self.post(&path("hive.openshift.io/v1", HCP, "clusterdeployments", ""), &json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
            "metadata": {"name": "east", "labels": {"agentClusterRef": "east"}, "ownerReferences": [owner(&agent_cluster)]},
            "spec": {
                "baseDomain": "example.test", "clusterName": "east", "installed": true,
                "platform": {"agentBareMetal": {"agentSelector": {}}},
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "version": "v1beta1", "kind": "AgentClusterInstall", "name": "east",
                },
                "pullSecretRef": {"name": "pull-secret"},
                "clusterMetadata": {"clusterID": id, "infraID": id, "adminKubeconfigSecretRef": {"name": "admin-kubeconfig"}},
            },
        }));
        let version = &agent_cluster["metadata"]["resourceVersion"];
        let status = json!({"clusterDeploymentReference": {"name": "east", "namespace": HCP}});
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        let patched = self.merge(&path(PROVIDER, HCP, "agentclusters", "east/status"), &patch);
        assert_eq!(patched["status"]["clusterDeploymentReference"]["name"], "east");
    }

    #[track_caller]
    pub fn makes_the_install(&self) {
        self.post(&path("extensions.hive.openshift.io/v1beta1", HCP, "agentclusterinstalls", ""), &json!({
            "apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall", "metadata": {"name": "east"},
            "spec": {
                "clusterDeploymentRef": {"name": "east"},
                "networking": {"userManagedNetworking": true},
                "provisionRequirements": {"controlPlaneAgents": 3},
                "ignitionEndpoint": {"url": "https://ignition.example.test"},
            },
        }));
        let patch = json!({"status": {"ready": true}});
        self.merge(&path(PROVIDER, HCP, "agentclusters", "east/status"), &patch);
    }

    /// The reconciler of Nodes: found by name, written as a whole.
    #[track_caller]
    pub fn sets_the_node_provider_id(&self, workload: &Workload) {
        let machine = self.get(&path(PROVIDER, HCP, "agentmachines", "east-1"));
        let authority = std::fs::read(workload.plane.authority()).unwrap();
        let http = HttpClient::trusting(&workload.plane.url(), &authority).with_token(workload.plane.token());
        await_condition("the Node's provider id to be written", SOON, || {
            let mut node = http.try_request("GET", "/api/v1/nodes/host-1", None)?.json();
            node["spec"]["providerID"] = machine["spec"]["providerID"].clone();
            let answer =
                http.try_request("PUT", "/api/v1/nodes/host-1", Some(node.to_string().as_bytes()))?;
            if answer.status == 200 {
                Ok(())
            } else {
                Err(answer.text())
            }
        });
    }
}
