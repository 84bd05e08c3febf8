//! The provider's work on an Agent: the claim, its mirrored parts, and the release.

use std::time::Duration;

use muster_tests::condition::await_condition;
use serde_json::{Value, json};

use super::{CAPI, HCP, PROVIDER, Provider, agent_path, condition, is_true, path};
use crate::kube::joining::{ADDRESS, Lab};
use muster_tests::database::{register, reply};
use muster_tests::kube::world::{NAMESPACE, SOON};

pub const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";

/// States in which an Agent counts as released.
const UNBOUND: [&str; 7] = [
    "discovering-unbound",
    "known-unbound",
    "disconnected-unbound",
    "insufficient-unbound",
    "disabled-unbound",
    "unbinding-pending-user-action",
    "error",
];

impl Provider {
    /// One PUT of the whole Agent, its status with null times in the body; then three patches of the AgentMachine.
    #[track_caller]
    pub fn claims(&self, name: &str) {
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
        // The second request refers to an older version.
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

    /// The provider writes an Agent at each reconcile; the server must not notify it of writes without a change.
    #[track_caller]
    pub fn hears_nothing_of_writes_without_a_change(&self, name: &str) {
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

    /// An installed Agent has the four conditions that make the AgentMachine ready, each with a reason that its schema
    /// accepts.
    #[track_caller]
    pub fn reports_ready(&self, name: &str) {
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

    /// Cluster API waits for the hook; the Agent is unbound, and counts as released in certain states.
    #[track_caller]
    pub fn gives_back(&self, lab: &Lab, name: &str) {
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
                    // The agent on the node responds, and the machine boots into discovery.
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

        await_condition("the hook to be taken off", SOON, || {
            let mut machine = self.get(&machine_path);
            let annotations = machine["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.remove(HOOK);
            let answer = self.send("PUT", &machine_path, &machine);
            (answer.status == 200).then_some(()).ok_or_else(|| answer.text())
        });
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

/// Writes the claim of an AgentMachine into an Agent, or removes it: label, annotation, and the five fields of its
/// spec.
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
