//! The requests of the unmodified cluster-api-provider-agent, one by one, on our custom resources: with `--capi-provider` off
//! it does the provider's work. Source: docs/protocol/capi-agent-provider.md#1.1 to §6. This file plays it, and Cluster API's
//! own controllers; hosts and kubelets' identities are played as in `joining`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_tests::condition::await_condition;
use muster_tests::http::{Answer, HttpClient};
use serde_json::{Value, json};

use crate::database::{host_id, known_host, register, reply};
use crate::joining::{ADDRESS, Lab};
use crate::kube::{Api, on_each_api};
use crate::kube_world::{INFRA_ENV, NAMESPACE, SOON};
use crate::workload::Workload;

on_each_api!(a_foreign_provider_takes_an_agent_through_its_life);

/// Namespace of the control plane.
const HCP: &str = "clusters-east";
const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const PROVIDER: &str = "capi-provider.agent-install.openshift.io/v1beta1";
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";

/// States in which an Agent counts as given back.
const UNBOUND: [&str; 7] = [
    "discovering-unbound",
    "known-unbound",
    "disconnected-unbound",
    "insufficient-unbound",
    "disabled-unbound",
    "unbinding-pending-user-action",
    "error",
];

fn a_foreign_provider_takes_an_agent_through_its_life(api: Api) {
    let workload = Workload::start();
    let mut lab = Lab::on(api);
    let provider = Provider::of(&mut lab);
    let agent = approved_agent(&lab);
    provider.seed(&lab, &workload);
    provider.discovers();
    provider.starts_informers();
    provider.prepares_the_machine();
    provider.makes_the_cluster_deployment();
    provider.claims(&agent);
    provider.makes_the_install();
    provider.hears_nothing_of_writes_without_a_change(&agent);
    becomes_a_node(&lab, &workload, &provider);
    provider.reports_ready(&agent);
    provider.gives_back(&lab, &agent);
}

/// A host of the pool, approved: what the provider looks for.
fn approved_agent(lab: &Lab) -> String {
    known_host(&lab.world.client(), &lab.infra_env, 1);
    let agent = host_id(1);
    lab.await_state(1, "known-unbound");
    lab.world.patch_agent(&agent, &json!({"approved": true}));
    lab.await_agent(1, "to be valid", |agent| {
        is_true(agent, "Connected") && is_true(agent, "Validated") && status_of(agent, "Bound") == "False"
    });
    agent
}

/// The host goes into the cluster, is installed, and becomes a node.
fn becomes_a_node(lab: &Lab, workload: &Workload, provider: &Provider) {
    lab.reboots(1);
    let shown = lab.world.client().get(&lab.path(1)).expect(200).json();
    assert_eq!(shown["ignition_endpoint_token_set"], true, "{shown}");
    assert_eq!(shown["machine_config_pool_name"], "ignition", "{shown}");
    let node = workload.join("client-1", "host-1");
    node.make_node(ADDRESS);
    lab.await_stage(1, "Joined");
    let made = workload.kubectl.get(&["node", "host-1"]);
    assert!(
        made["spec"]["providerID"].is_null(),
        "left to the provider: {made}"
    );
    provider.sets_the_node_provider_id(workload);
    node.ask_serving("serving-1", &[ADDRESS]);
    node.report(ADDRESS, true);
    lab.await_stage(1, "Done");
}

struct Provider {
    http: HttpClient,
}

fn path(group: &str, namespace: &str, plural: &str, name: &str) -> String {
    let prefix = if group == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{group}")
    };
    format!("{prefix}/namespaces/{namespace}/{plural}/{name}")
        .trim_end_matches('/')
        .to_owned()
}

fn agent_path(name: &str) -> String {
    path("agent-install.openshift.io/v1beta1", NAMESPACE, "agents", name)
}

fn condition<'a>(object: &'a Value, type_: &str) -> &'a Value {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|one| one["type"] == type_).unwrap_or(&Value::Null)
}

fn status_of<'a>(object: &'a Value, type_: &str) -> &'a str {
    condition(object, type_)["status"].as_str().unwrap_or_default()
}

fn is_true(object: &Value, type_: &str) -> bool {
    status_of(object, type_) == "True"
}

impl Provider {
    fn of(lab: &mut Lab) -> Self {
        let builtin = lab.kubectl().clone();
        let http = match lab.world.service.plane() {
            None => builtin.http(),
            Some(plane) => {
                let authority = std::fs::read(plane.authority()).unwrap();
                let kubectl = plane.kubectl();
                for kind in ["clusters", "machines"] {
                    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../api-spec/crds/builtin");
                    let file = format!("{folder}/cluster.x-k8s.io_{kind}.yaml");
                    kubectl.run(&["apply", "--server-side", "-f", &file]);
                }
                kubectl.run(&[
                    "wait",
                    "--for=condition=Established",
                    "crd",
                    "--all",
                    "--timeout=60s",
                ]);
                HttpClient::trusting(&plane.url(), &authority).with_token(plane.token())
            }
        };
        Self { http }
    }

    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.http.request(method, path, Some(body.to_string().as_bytes()))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.http.request("GET", path, None).expect(200).json()
    }

    #[track_caller]
    fn put(&self, path: &str, object: &Value) -> Value {
        self.send("PUT", path, object).expect(200).json()
    }

    #[track_caller]
    fn post(&self, path: &str, object: &Value) -> Value {
        self.send("POST", path, object).expect(201).json()
    }

    #[track_caller]
    fn merge(&self, path: &str, patch: &Value) -> Value {
        let http = self.http.with("content-type", "application/merge-patch+json");
        http.request("PATCH", path, Some(patch.to_string().as_bytes()))
            .expect(200)
            .json()
    }

    /// A Secret as controller-runtime writes it: protobuf.
    #[track_caller]
    fn send_secret(&self, method: &str, path: &str, secret: &Secret<'_>) -> u16 {
        let media = "application/vnd.kubernetes.protobuf";
        let http = self
            .http
            .with("content-type", media)
            .with("accept", &format!("{media}, */*"));
        http.request(method, path, Some(&secret.protobuf())).status
    }

    /// What HyperShift and Cluster API would make.
    #[track_caller]
    fn seed(&self, lab: &Lab, workload: &Workload) {
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
    fn discovers(&self) {
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

    /// Streaming lists, or what clients fall back to.
    #[track_caller]
    fn starts_informers(&self) {
        for (group, namespace, plural) in [
            (CAPI, HCP, "machines"),
            ("agent-install.openshift.io/v1beta1", NAMESPACE, "agents"),
            (PROVIDER, HCP, "agentclusters"),
            (PROVIDER, HCP, "agentmachines"),
        ] {
            let all = path(group, namespace, plural, "");
            let selector = format!("fieldSelector=metadata.namespace%3D{namespace}");
            let watch = format!(
                "{all}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2&{selector}"
            );
            let answer = self.http.request("GET", &watch, None);
            if answer.status == 200 {
                let text = answer.text();
                assert!(text.contains("\"ADDED\""), "{plural}: {text}");
                assert!(text.contains("k8s.io/initial-events-end"), "{plural}: {text}");
            } else {
                assert_eq!(answer.status, 422, "{}", answer.text());
                let list = self.get(&format!("{all}?limit=500&resourceVersion=0&{selector}"));
                assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
            }
        }
    }

    /// The hook on the Machine, the label on the bootstrap data, and the token, which is written again and again.
    #[track_caller]
    fn prepares_the_machine(&self) {
        let machine_path = path(CAPI, HCP, "machines", "east-1");
        let mut machine = self.get(&machine_path);
        machine["metadata"]["annotations"][HOOK] = json!("");
        self.put(&machine_path, &machine);

        let data_path = path("v1", HCP, "secrets", "user-data-east-1");
        let data = self.get(&data_path);
        let value = STANDARD.decode(data["data"]["value"].as_str().unwrap()).unwrap();
        let labelled = Secret {
            name: "user-data-east-1",
            resource_version: data["metadata"]["resourceVersion"].as_str(),
            labels: &["cluster.open-cluster-management.io/backup"],
            key: "value",
            value: &value,
        };
        assert_eq!(self.send_secret("PUT", &data_path, &labelled), 200);

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
    fn makes_the_cluster_deployment(&self) {
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

    /// One PUT of the whole Agent, its status with null times in the body; then three patches of the AgentMachine.
    #[track_caller]
    fn claims(&self, name: &str) {
        await_condition("the claim not to meet another write", SOON, || {
            let mut agent = self.get(&agent_path(name));
            claim(&mut agent, json!("east-1"));
            let answer = self.send("PUT", &agent_path(name), &agent);
            if answer.status == 200 {
                Ok(())
            } else {
                Err(answer.text())
            }
        });
        let machine_path = path(PROVIDER, HCP, "agentmachines", "east-1");
        let status_path = format!("{machine_path}/status");
        let seen = self.get(&machine_path);
        let now = "2026-11-22T08:00:00Z";
        let reserved = json!([{
            "type": "AgentReserved", "status": "True", "reason": "AgentReserved", "message": "", "lastTransitionTime": now,
        }]);
        let with_version = json!({
            "metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}, "status": {"conditions": reserved},
        });
        self.merge(&status_path, &with_version);
        // The same again is about an older version.
        let http = self.http.with("content-type", "application/merge-patch+json");
        let mut outdated = with_version;
        outdated["status"]["conditions"][0]["message"] = json!("other");
        let answer = http.request("PATCH", &status_path, Some(outdated.to_string().as_bytes()));
        assert_eq!(answer.status, 409, "{}", answer.text());
        self.merge(
            &machine_path,
            &json!({"spec": {"providerID": format!("agent://{name}")}}),
        );
        let rest = json!({
            "metadata": {"labels": {"not": "here"}},
            "status": {
                "agentRef": {"name": name, "namespace": NAMESPACE},
                "addresses": [{"type": "ExternalIP", "address": ADDRESS}, {"type": "InternalDNS", "address": "host-1"}],
            },
        });
        self.merge(&status_path, &rest);
        let seen = self.get(&machine_path);
        assert_eq!(seen["spec"]["providerID"], format!("agent://{name}"));
        assert_eq!(seen["status"]["agentRef"]["name"], name);
        assert!(
            seen["metadata"]["labels"]["not"].is_null(),
            "a status patch changes no metadata: {seen}"
        );
    }

    #[track_caller]
    fn makes_the_install(&self) {
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

    /// The provider writes an Agent at each of its reconciles; the server must not tell it of that.
    #[track_caller]
    fn hears_nothing_of_writes_without_a_change(&self, name: &str) {
        await_condition("a PUT without a change to change nothing", SOON, || {
            let agent = self.get(&agent_path(name));
            let answer = self.send("PUT", &agent_path(name), &agent);
            if answer.status != 200 {
                return Err(answer.text());
            }
            let version = &answer.json()["metadata"]["resourceVersion"];
            if *version == agent["metadata"]["resourceVersion"] {
                Ok(())
            } else {
                Err(format!("{version} after {agent}"))
            }
        });
    }

    /// The reconciler of Nodes: found by name, written as a whole.
    #[track_caller]
    fn sets_the_node_provider_id(&self, workload: &Workload) {
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

    /// An installed Agent has the four conditions that make the AgentMachine ready, each with a reason that its schema takes.
    #[track_caller]
    fn reports_ready(&self, name: &str) {
        let agent = await_condition(
            "the Agent's conditions to make its AgentMachine ready",
            SOON,
            || {
                let agent = self.get(&agent_path(name));
                let all = ["SpecSynced", "Validated", "RequirementsMet", "Installed"];
                if all.iter().all(|type_| is_true(&agent, type_)) {
                    Ok(agent)
                } else {
                    Err(agent["status"]["conditions"].to_string())
                }
            },
        );
        let mirrored = |type_: &str, of: &str| {
            let source = condition(&agent, of);
            json!({
                "type": type_, "status": source["status"], "reason": source["reason"],
                "message": source["message"], "lastTransitionTime": source["lastTransitionTime"], "observedGeneration": 1,
            })
        };
        let conditions = json!([
            {"type": "Ready", "status": "True", "reason": "InfoReported", "message": "", "lastTransitionTime": "2026-11-22T08:00:00Z"},
            mirrored("AgentRequirementsMet", "RequirementsMet"),
            mirrored("AgentSpecSynced", "SpecSynced"),
            mirrored("AgentValidated", "Validated"),
            mirrored("Installed", "Installed"),
        ]);
        let patch = json!({"status": {"ready": true, "conditions": conditions}});
        let patched = self.merge(&path(PROVIDER, HCP, "agentmachines", "east-1/status"), &patch);
        assert_eq!(patched["status"]["ready"], true);
    }

    /// Cluster API waits for the hook; the Agent is unbound, and counts as given back when its state says so.
    #[track_caller]
    fn gives_back(&self, lab: &Lab, name: &str) {
        let machine_path = path(CAPI, HCP, "machines", "east-1");
        let deleting = json!({"status": {"conditions": [{
            "type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook", "message": "",
            "lastTransitionTime": "2026-11-22T08:00:00Z",
        }]}});
        self.merge(&format!("{machine_path}/status"), &deleting);
        await_condition("the Agent to be given back", SOON, || {
            let mut agent = self.get(&agent_path(name));
            claim(&mut agent, Value::Null);
            let answer = self.send("PUT", &agent_path(name), &agent);
            if answer.status == 200 {
                Ok(())
            } else {
                Err(answer.text())
            }
        });
        let client = lab.world.client();
        await_condition(
            "the Agent's state to count as unbound",
            Duration::from_secs(300),
            || {
                let agent = self.get(&agent_path(name));
                let state = agent["status"]["debugInfo"]["state"].as_str().unwrap_or_default();
                match state {
                    // The agent on the node answers, and the machine boots into discovery.
                    "reclaiming" => {
                        let polled = client.get(&format!("{}/instructions", lab.path(1)));
                        if polled.text().contains("download-boot-artifacts") {
                            let done = reply("download-boot-artifacts", &json!({}));
                            client.post(&format!("{}/instructions", lab.path(1)), &done);
                        }
                        Err(state.to_owned())
                    }
                    "reclaiming-rebooting" => {
                        register(&client, &lab.infra_env, 1);
                        Err(state.to_owned())
                    }
                    state if UNBOUND.contains(&state) => Ok(()),
                    state => Err(state.to_owned()),
                }
            },
        );
        let agent = self.get(&agent_path(name));
        assert!(agent["spec"]["clusterDeploymentName"].is_null(), "{agent}");
        assert_eq!(agent["spec"]["approved"], true, "it can be taken again");

        let mut machine = self.get(&machine_path);
        machine["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .remove(HOOK);
        self.put(&machine_path, &machine);
        let agent_machine = path(PROVIDER, HCP, "agentmachines", "east-1");
        self.http.request("DELETE", &agent_machine, None).expect(200);
        self.merge(&agent_machine, &json!({"metadata": {"finalizers": null}}));
        await_condition("the AgentMachine to be gone", SOON, || {
            let answer = self.http.try_request("GET", &agent_machine, None)?;
            if answer.status == 404 {
                Ok(())
            } else {
                Err(answer.text())
            }
        });
    }
}

/// Writes the claim of an AgentMachine into an Agent, or takes it out: label, annotation, and the five fields of its spec.
fn claim(agent: &mut Value, machine: Value) {
    let is_taken = !machine.is_null();
    let or_null = |value: Value| if is_taken { value } else { Value::Null };
    agent["metadata"]["labels"]["agentMachineRef"] = machine;
    agent["metadata"]["annotations"]["agentMachineRefNamespace"] = or_null(json!(HCP));
    for map in ["labels", "annotations"] {
        let map = agent["metadata"][map].as_object_mut().unwrap();
        map.retain(|_, value| !value.is_null());
    }
    let fields = [
        ("clusterDeploymentName", json!({"name": "east", "namespace": HCP})),
        ("machineConfigPool", json!("ignition")),
        (
            "ignitionEndpointTokenReference",
            json!({"name": "agent-user-data-east-1", "namespace": HCP}),
        ),
        (
            "ignitionEndpointHTTPHeaders",
            json!({"NodePool": "clusters/east", "TargetConfigVersionHash": "abc"}),
        ),
    ];
    let spec = agent["spec"].as_object_mut().unwrap();
    for (field, value) in fields {
        if is_taken {
            spec.insert(field.to_owned(), value);
        } else {
            spec.remove(field);
        }
    }
    for one in agent["status"]["conditions"].as_array_mut().into_iter().flatten() {
        one["lastHeartbeatTime"] = Value::Null;
    }
}

fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

/// A Secret with one value, as a typed Go client sends it.
struct Secret<'a> {
    name: &'a str,
    resource_version: Option<&'a str>,
    /// Each is `true`.
    labels: &'a [&'a str],
    key: &'a str,
    value: &'a [u8],
}

impl Secret<'_> {
    /// Source: docs/protocol/capi-agent-provider.md#1.1 and the generated.proto files of Kubernetes (field numbers).
    fn protobuf(&self) -> Vec<u8> {
        let mut metadata = [field(1, self.name.as_bytes()), field(3, HCP.as_bytes())].concat();
        metadata.extend(
            self.resource_version
                .map(|version| field(6, version.as_bytes()))
                .unwrap_or_default(),
        );
        for label in self.labels {
            metadata.extend(field(
                11,
                &[field(1, label.as_bytes()), field(2, b"true")].concat(),
            ));
        }
        let data = [field(1, self.key.as_bytes()), field(2, self.value)].concat();
        let secret = [field(1, &metadata), field(2, &data), field(3, b"Opaque")].concat();
        let type_meta = [field(1, b"v1"), field(2, b"Secret")].concat();
        let unknown = [
            field(1, &type_meta),
            field(2, &secret),
            field(3, b""),
            field(4, b""),
        ]
        .concat();
        [b"k8s\0".to_vec(), unknown].concat()
    }
}

/// A field with a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [bytes, content.to_vec()].concat()
}
