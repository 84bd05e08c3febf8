//! Common code of most scenarios of custom resources: an administrator who creates an InfraEnv, and compares hosts with
//! Agents.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

use std::collections::BTreeMap;
use std::time::Duration;

use crate::artifacts::live_image;
use crate::condition::await_condition;
use crate::kube::Kubectl;
use crate::rest::PULL_SECRET;
use muster_api::BASE_PATH;
use serde_json::{Value, json};

use crate::http::HttpClient;
use crate::kube::{Api, KubeServed};

/// The Kubernetes API of a scenario.
pub const NAMESPACE: &str = "hardware";
/// The InfraEnv of a scenario.
pub const INFRA_ENV: &str = "hw";
/// The Secret that it refers to.
pub const SECRET: &str = "pull-secret";

/// Time limit of a controller on a computer that is busy with machines and compilers.
pub const SOON: Duration = Duration::from_secs(90);

/// A service, and an administrator of its Kubernetes API.
pub struct World {
    pub service: KubeServed,
    /// In [`NAMESPACE`].
    pub kubectl: Kubectl,
}

impl World {
    /// A service with the live image and nothing else.
    #[track_caller]
    pub fn on(api: Api) -> Self {
        Self::of(api.serve_with(|settings| settings.live_image(&live_image())))
    }

    /// Creates [`NAMESPACE`] on the API of `service`.
    #[track_caller]
    pub fn of(service: KubeServed) -> Self {
        let kubectl = service.kubectl();
        kubectl.run(&["create", "namespace", NAMESPACE]);
        Self {
            service,
            kubectl: kubectl.namespace(NAMESPACE),
        }
    }

    /// A client of the service's REST API.
    pub fn client(&self) -> HttpClient {
        self.service.http()
    }

    /// Creates the Secret and the InfraEnv, with `more` in its spec; returns the InfraEnv's path below the REST API.
    #[track_caller]
    pub fn infra_env(&self, more: &Value) -> String {
        self.secret(PULL_SECRET);
        self.kubectl.apply(&[infra_env(more)]);
        self.await_image();
        self.rest_path()
    }

    /// Creates, or replaces, the Secret.
    #[track_caller]
    pub fn secret(&self, pull_secret: &str) {
        self.kubectl.apply(&[json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET},
            "stringData": {".dockerconfigjson": pull_secret},
        })]);
    }

    /// Waits until the InfraEnv has an image.
    #[track_caller]
    pub fn await_image(&self) {
        let infra_env = format!("infraenv/{INFRA_ENV}");
        self.kubectl.run(&[
            "wait",
            "--for=condition=ImageCreated",
            &infra_env,
            "--timeout=120s",
        ]);
    }

    /// Path of the InfraEnv in the REST API.
    #[track_caller]
    pub fn rest_path(&self) -> String {
        let all = self.client().get("/infra-envs").expect(200).json();
        let all = all.as_array().unwrap();
        let found = all.iter().find(|infra_env| infra_env["name"] == INFRA_ENV);
        let found = found.unwrap_or_else(|| panic!("REST has no InfraEnv {INFRA_ENV}: {all:?}"));
        format!("/infra-envs/{}", found["id"].as_str().unwrap())
    }

    /// Changes an Agent's spec by a merge patch.
    #[track_caller]
    pub fn patch_agent(&self, name: &str, spec: &Value) {
        let patch = json!({"spec": spec}).to_string();
        self.kubectl
            .run(&["patch", "agent", name, "--type", "merge", "-p", &patch]);
    }

    /// Waits until an Agent's condition has that status and reason.
    #[track_caller]
    pub fn await_agent(&self, name: &str, condition: &str, status: &str, reason: &str) {
        let what = format!("{condition} of the Agent {name} to be {status} ({reason})");
        self.kubectl.await_that(&what, &["agent", name], SOON, |agent| {
            is(agent, condition, status, reason).then_some(())
        });
    }

    #[track_caller]
    pub fn await_state(&self, agent: &str, state: &str) {
        self.kubectl.await_that(
            &format!("{agent} to be {state}"),
            &["agent", agent],
            SOON,
            |agent| (agent["status"]["debugInfo"]["state"] == state).then_some(()),
        );
    }

    /// Waits until every host of the InfraEnv at `path` has an Agent with the same content, and there are no other
    /// Agents; returns these.
    #[track_caller]
    pub fn await_agreement(&self, path: &str) -> BTreeMap<String, Value> {
        await_agreement(&self.client(), &self.kubectl, path)
    }
}

/// Waits until every host of the InfraEnv at `path` has an Agent with the same content, and there are no other Agents;
/// returns these.
#[track_caller]
pub fn await_agreement(client: &HttpClient, kubectl: &Kubectl, path: &str) -> BTreeMap<String, Value> {
    await_condition("hosts and Agents to agree", SOON, || {
        let hosts = client
            .try_request("GET", &format!("{BASE_PATH}{path}/hosts"), None)
            .map_err(|error| error.to_string())?;
        if hosts.status != 200 {
            return Err(hosts.text());
        }
        let printed = kubectl.try_run(&["get", "agents", "-o", "json"]);
        let agents: Value = serde_json::from_str(&printed.out).map_err(|_| printed.err.clone())?;
        let (hosts, agents) = (by_name(&hosts.json()), by_name(&agents["items"]));
        let differences = differences(&hosts, &agents);
        if differences.is_empty() {
            Ok(agents)
        } else {
            Err(differences.join("\n"))
        }
    })
}

/// Waits until `/ready` has that state of the Kubernetes API; its status has to be 200 all the time.
#[track_caller]
pub fn await_leader_status(client: &HttpClient, wanted: &str) -> String {
    await_leader_status_within(SOON, client, wanted)
}

#[track_caller]
pub fn await_leader_status_within(limit: Duration, client: &HttpClient, wanted: &str) -> String {
    let what = format!("/ready to say {wanted:?} of the Kubernetes API");
    await_condition(&what, limit, || {
        let answer = client.request("GET", "/ready", None).expect(200).json();
        let printed = answer["kubernetes"].as_str().unwrap_or_default().to_owned();
        if printed.contains(wanted) {
            Ok(printed)
        } else {
            Err(answer.to_string())
        }
    })
}

/// The InfraEnv, with `more` in its spec.
pub fn infra_env(more: &Value) -> Value {
    let mut spec = json!({"pullSecretRef": {"name": SECRET}});
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": INFRA_ENV}, "spec": spec,
    })
}

/// A cluster that exists already, and the objects that describe it to Muster. Its API server is never used.
pub fn imported_cluster(name: &str) -> [Value; 2] {
    let id = "66666666-0000-4000-8000-000000000006";
    [
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment", "metadata": {"name": name},
            "spec": {
                "baseDomain": "lab.example", "clusterName": name, "installed": true,
                "platform": {"agentBareMetal": {"agentSelector": {}}},
                "pullSecretRef": {"name": SECRET},
                "clusterInstallRef": {
                    "group": "extensions.hive.openshift.io", "version": "v1beta1",
                    "kind": "AgentClusterInstall", "name": name,
                },
                "clusterMetadata": {
                    "clusterID": id, "infraID": id, "adminKubeconfigSecretRef": {"name": format!("{name}-kubeconfig")},
                },
            },
        }),
        json!({
            "apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall",
            "metadata": {"name": name},
            "spec": {
                "clusterDeploymentRef": {"name": name},
                "networking": {"userManagedNetworking": true},
                "provisionRequirements": {"controlPlaneAgents": 3},
            },
        }),
    ]
}

/// True when an object's condition has that status and reason.
pub fn is(object: &Value, condition: &str, status: &str, reason: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|one| one["type"] == condition && one["status"] == status && one["reason"] == reason)
}

/// The message of an object's condition; empty if it is missing.
pub fn message<'a>(object: &'a Value, condition: &str) -> &'a str {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.find(|one| one["type"] == condition);
    found.and_then(|one| one["message"].as_str()).unwrap_or_default()
}

/// Hosts as REST lists them, or items of a list of Agents.
fn by_name(list: &Value) -> BTreeMap<String, Value> {
    let name = |one: &Value| {
        one["id"]
            .as_str()
            .or(one["metadata"]["name"].as_str())
            .map(str::to_owned)
    };
    let all = list.as_array().into_iter().flatten();
    all.map(|one| (name(one).unwrap_or_default(), one.clone()))
        .collect()
}

/// Differences between hosts (REST) and Agents.
fn differences(hosts: &BTreeMap<String, Value>, agents: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for name in agents.keys().filter(|name| !hosts.contains_key(*name)) {
        found.push(format!("the Agent {name} has no host"));
    }
    for (name, host) in hosts {
        let Some(agent) = agents.get(name) else {
            found.push(format!("the host {name} has no Agent"));
            continue;
        };
        if !agent["metadata"]["deletionTimestamp"].is_null() {
            found.push(format!("the Agent {name} is being deleted and has a host"));
        }
        let (spec, status) = (&agent["spec"], &agent["status"]);
        let mut compare = |what: &str, host: &Value, agent: &Value| {
            if host != agent {
                found.push(format!(
                    "{what} of {name}: the host has {host}, the Agent {agent}"
                ));
            }
        };
        compare("state", &host["status"], &status["debugInfo"]["state"]);
        let inventory: Value =
            serde_json::from_str(host["inventory"].as_str().unwrap_or_default()).unwrap_or_default();
        for (member, shown) in [("hostname", "hostname"), ("bmc_address", "bmcAddress")] {
            compare(member, &inventory[member], &status["inventory"][shown]);
        }
        let disks = |inventory: &Value| json!(inventory["disks"].as_array().map_or(0, Vec::len));
        compare("disks", &disks(&inventory), &disks(&status["inventory"]));
        if spec["hostname"].as_str().is_some_and(|name| !name.is_empty()) {
            compare("requested name", &host["requested_hostname"], &spec["hostname"]);
        }
        // REST does not show if a host is approved; the condition is made from the host's record.
        if host["status"] == "known-unbound" {
            let ready = json!(is(agent, "RequirementsMet", "True", "AgentIsReady"));
            compare("approval", &ready, &spec["approved"]);
        }
        let synced = json!(is(agent, "SpecSynced", "True", "SyncOK"));
        compare("SpecSynced", &json!(true), &synced);
    }
    found
}
