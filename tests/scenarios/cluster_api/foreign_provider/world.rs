//! Things around the provider: the objects of HyperShift and Cluster API, and the API server as its client starts with it.

use std::io::{BufRead as _, BufReader};

use muster_tests::condition::LEAST_LIMIT;
use muster_tests::kube::played_nodes::Workload;
use muster_tests::kube::world::{INFRA_ENV, NAMESPACE};
use serde_json::json;

use super::{CAPI, HCP, PROVIDER, Provider, owner, path};
use crate::kube::joining::Lab;

/// The annotation on the bookmark with which a watch ends its initial events.
const LISTED: &str = "k8s.io/initial-events-end";

impl Provider {
    /// The objects that HyperShift and Cluster API would make.
    #[track_caller]
    pub fn seed(&self, lab: &Lab, workload: &Workload) {
        let kubectl = lab.kubectl().namespace(HCP);
        kubectl.run(&["create", "namespace", HCP]);
        let merge = json!({"ignition": {"version": "3.2.0", "config": {"merge": [{
            "source": "https://ignition.example.test/ignition",
            "httpHeaders": [
                {"name": "Authorization", "value": "Bearer dG9rZW4="},
                {"name": "NodePool", "value": "clusters/east"},
                {"name": "TargetConfigVersionHash", "value": "abc"},
            ],
        }]}}});
        let pull_secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
            "stringData": {".dockerconfigjson": muster_tests::rest::PULL_SECRET},
        });
        let user_data = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "user-data-east-1"},
            "stringData": {"value": merge.to_string()},
        });
        kubectl.apply(&[pull_secret, user_data, workload.secret("admin-kubeconfig")]);
        let cluster = self.post(&path(CAPI, HCP, "clusters", ""), &json!({
            "apiVersion": CAPI, "kind": "Cluster", "metadata": {"name": "east-abcde"},
            "spec": {
                "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentCluster", "name": "east"},
                "controlPlaneRef": {"apiGroup": "hypershift.openshift.io", "kind": "HostedControlPlane", "name": "east"},
            },
        }));
        self.post(
            &path(PROVIDER, HCP, "agentclusters", ""),
            &json!({
                "apiVersion": PROVIDER, "kind": "AgentCluster",
                "metadata": {"name": "east", "ownerReferences": [owner(&cluster)]},
                "spec": {
                    "ignitionEndpoint": {"url": "https://ignition.example.test/ignition"},
                    "controlPlaneEndpoint": {"host": "api.example.test", "port": 6443},
                },
            }),
        );
        let machine = self.post(&path(CAPI, HCP, "machines", ""), &json!({
            "apiVersion": CAPI, "kind": "Machine",
            "metadata": {"name": "east-1", "labels": {"cluster.x-k8s.io/cluster-name": "east-abcde"}},
            "spec": {
                "clusterName": "east-abcde", "bootstrap": {"dataSecretName": "user-data-east-1"},
                "infrastructureRef": {"apiGroup": "capi-provider.agent-install.openshift.io", "kind": "AgentMachine", "name": "east-1"},
            },
        }));
        self.post(&path(PROVIDER, HCP, "agentmachines", ""), &json!({
            "apiVersion": PROVIDER, "kind": "AgentMachine",
            "metadata": {
                "name": "east-1", "ownerReferences": [owner(&machine)],
                "finalizers": ["agentmachine.agent-install.openshift.io/deprovision"],
            },
            "spec": {"agentLabelSelector": {"matchLabels": {"infraenvs.agent-install.openshift.io": INFRA_ENV}}},
        }));
    }

    #[track_caller]
    pub fn discovers(&self) {
        let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        for root in ["/api", "/apis"] {
            self.http
                .with("accept", aggregated)
                .request("GET", root, None)
                .expect(200);
        }
        for (group, kinds) in [
            (CAPI, &["machines", "clusters"][..]),
            (
                PROVIDER,
                &[
                    "agentmachines",
                    "agentmachines/status",
                    "agentclusters",
                    "agentclusters/status",
                ],
            ),
            ("agent-install.openshift.io/v1beta1", &["agents", "agents/status"]),
            ("hive.openshift.io/v1", &["clusterdeployments"]),
            ("extensions.hive.openshift.io/v1beta1", &["agentclusterinstalls"]),
        ] {
            let list = self.get(&format!("/apis/{group}"));
            let names: Vec<&str> = list["resources"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|one| one["name"].as_str())
                .collect();
            assert!(
                kinds.iter().all(|kind| names.contains(kind)),
                "{group}: {names:?}"
            );
        }
    }

    /// Streaming lists, or the clients' fallback.
    #[track_caller]
    pub fn starts_informers(&self) {
        for (group, namespace, plural) in [
            (CAPI, HCP, "machines"),
            ("agent-install.openshift.io/v1beta1", NAMESPACE, "agents"),
            (PROVIDER, HCP, "agentclusters"),
            (PROVIDER, HCP, "agentmachines"),
        ] {
            let all = path(group, namespace, plural, "");
            let selector = format!("fieldSelector=metadata.namespace%3D{namespace}");
            let limit = LEAST_LIMIT.as_secs();
            let watch = format!(
                "{all}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={limit}&{selector}"
            );
            let answer = self.http.open(&watch).unwrap();
            if answer.status().as_u16() == 200 {
                let mut seen = Vec::new();
                for line in BufReader::new(answer).lines().map_while(Result::ok) {
                    seen.push(line);
                    if seen.last().is_some_and(|line| line.contains(LISTED)) {
                        break;
                    }
                }
                let seen = seen.join("\n");
                assert!(seen.contains("\"ADDED\""), "{plural}: {seen}");
                assert!(seen.contains(LISTED), "{plural}: {seen}");
            } else {
                assert_eq!(answer.status().as_u16(), 422, "{plural}");
                let list = self.get(&format!("{all}?limit=500&resourceVersion=0&{selector}"));
                assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
            }
        }
    }
}
