//! Agents beyond the walk: their cost, machines that move, records that are lost, labels by queries that fail. The
//! hosts are simulated over REST.

use std::time::Duration;

use muster_tests::condition::{assert_throughout, await_condition};
use muster_tests::service::Settings;
use serde_json::{Value, json};

use muster_tests::database::{host_id, inventory, known_host, register, reply};
use muster_tests::kube::world::{
    INFRA_ENV, NAMESPACE, SOON, World, imported_cluster, infra_env, is, message,
};
use muster_tests::kube::{Api, on_each_api};

on_each_api!(
    an_agent_costs_few_writes_and_none_when_nothing_changes,
    a_machine_moves_to_another_infra_env_when_its_host_is_deleted_and_begins_anew,
    a_host_and_its_agent_go_together,
    queries_that_fail_or_never_end_are_reported_and_leave_no_label_behind,
    one_bad_setting_holds_up_no_other,
);

fn settings() -> Settings {
    Settings::on_address("127.0.0.1").without_live_image()
}

/// The InfraEnv at this path below REST; it needs no image here.
fn infra_env_path(world: &World, name: &str) -> String {
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = world.client().get("/infra-envs").expect(200).json();
        let found = all
            .as_array()
            .into_iter()
            .flatten()
            .find(|one| one["name"] == name);
        let id = found.and_then(|one| one["id"].as_str());
        id.map(|id| format!("/infra-envs/{id}"))
            .ok_or_else(|| all.to_string())
    })
}

fn make_infra_env(world: &World) -> String {
    world.secret(muster_tests::rest::PULL_SECRET);
    world.kubectl.apply(&[infra_env(&json!({}))]);
    infra_env_path(world, INFRA_ENV)
}

fn an_agent_costs_few_writes_and_none_when_nothing_changes(api: Api) {
    const HOSTS: u64 = 20;
    const MOST: u64 = HOSTS * 3;
    const FIRST: u64 = 100;
    const OBSERVED: Duration = Duration::from_secs(3);
    let world = World::of(api.serve());
    let path = make_infra_env(&world);
    // Listed before it is watched: no write after the first Agent is missed.
    known_host(&world.client(), &path, FIRST);
    world.await_agreement(&path);
    let one_a_line = "jsonpath={.metadata.name} {.metadata.resourceVersion}{'\\n'}";
    let watch = world
        .kubectl
        .start(&["get", "agents", "--watch", "-o", one_a_line]);
    let written = || watch.transcript().text();
    await_condition("the watch to begin", SOON, || {
        let text = written();
        if text.contains(&host_id(FIRST)) {
            Ok(())
        } else {
            Err(text)
        }
    });
    for n in 0..HOSTS {
        known_host(&world.client(), &path, n);
    }
    world.await_agreement(&path);
    let writes = || {
        let ids: Vec<String> = (0..HOSTS).map(host_id).collect();
        let text = written();
        let of_hosts = |line: &&str| ids.iter().any(|id| line.starts_with(id));
        text.lines().filter(of_hosts).count() as u64
    };
    // Late writes would be too many as well.
    assert_throughout("at most three writes an Agent", OBSERVED, || match writes() {
        ..=MOST => Ok(()),
        _ => Err(written()),
    });
    let all = writes();
    println!("{all} writes for {HOSTS} Agents with inventory");
    assert!(all >= HOSTS * 2, "the watch missed some: {}", written());
    // A report without news costs nothing.
    for n in 0..HOSTS {
        let host = format!("{path}/hosts/{}", host_id(n));
        let again = reply("inventory", &inventory(n));
        world
            .client()
            .post(&format!("{host}/instructions"), &again)
            .expect(204);
    }
    assert_throughout("no write for a known inventory", OBSERVED, || {
        if writes() == all { Ok(()) } else { Err(written()) }
    });
}

fn a_machine_moves_to_another_infra_env_when_its_host_is_deleted_and_begins_anew(api: Api) {
    let world = World::of(api.serve());
    let path = make_infra_env(&world);
    known_host(&world.client(), &path, 1);
    let agent = host_id(1);
    world.await_state(&agent, "known-unbound");
    let wanted =
        json!({"approved": true, "hostname": "keeper", "role": "worker", "installation_disk_id": "/dev/sda"});
    world.patch_agent(&agent, &wanted);
    world.await_agent(&agent, "RequirementsMet", "True", "AgentIsReady");

    let mut other = infra_env(&json!({"agentLabels": {"rack": "r2"}}));
    other["metadata"]["name"] = json!("other");
    world.kubectl.apply(&[other]);
    let there = infra_env_path(&world, "other");
    // It has polled just now: another machine with its id moves nothing.
    let refused = world
        .client()
        .post(&format!("{there}/hosts"), &json!({"host_id": agent}))
        .expect(503);
    assert!(refused.text().contains("delete that host"), "{}", refused.text());
    world.await_agent(&agent, "RequirementsMet", "True", "AgentIsReady");
    world.client().get(&format!("{path}/hosts/{agent}")).expect(200);

    world
        .client()
        .delete(&format!("{path}/hosts/{agent}"))
        .expect(204);
    known_host(&world.client(), &there, 1);
    let moved = world
        .kubectl
        .await_that("the Agent to follow", &["agent", &agent], SOON, |agent| {
            let follows = agent["metadata"]["labels"]["infraenvs.agent-install.openshift.io"] == "other"
                && agent["status"]["debugInfo"]["state"] == "known-unbound";
            follows.then(|| agent.clone())
        });
    let owners = moved["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "{owners:?}");
    assert_eq!(owners[0]["name"], "other");
    assert_eq!(moved["spec"]["approved"], false);
    assert_eq!(moved["spec"]["hostname"], json!(null));
    let host = world
        .client()
        .get(&format!("{there}/hosts/{agent}"))
        .expect(200)
        .json();
    assert!(host["requested_hostname"] != "keeper", "{host}");
}

fn a_host_and_its_agent_go_together(api: Api) {
    let world = World::of(api.serve());
    let path = make_infra_env(&world);
    for n in 1..=2 {
        known_host(&world.client(), &path, n);
    }
    world.await_agreement(&path);
    world
        .kubectl
        .run(&["delete", "agent", &host_id(1), "--timeout=120s"]);
    world
        .client()
        .get(&format!("{path}/hosts/{}", host_id(1)))
        .expect(404);
    world
        .client()
        .delete(&format!("{path}/hosts/{}", host_id(2)))
        .expect(204);
    world.kubectl.run(&[
        "wait",
        "--for=delete",
        &format!("agent/{}", host_id(2)),
        "--timeout=120s",
    ]);
    // The machine still runs, and registers again as an unknown one.
    known_host(&world.client(), &path, 2);
    world.await_state(&host_id(2), "known-unbound");

    // A manually created one has a condition about that, and can be deleted.
    let made = json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"name": "by-hand"},
        "spec": {"approved": true, "role": ""},
    });
    world.kubectl.apply(&[made]);
    world.await_agent("by-hand", "SpecSynced", "False", "InputError");
    world.await_agent("by-hand", "Connected", "Unknown", "NotAvailable");
    world
        .kubectl
        .run(&["delete", "agent", "by-hand", "--timeout=120s"]);
}

fn classification(name: &str, query: &str) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentClassification", "metadata": {"name": name},
        "spec": {"labelKey": name, "labelValue": "yes", "query": query},
    })
}

fn label_of(agent: &Value, name: &str) -> Option<String> {
    let key = format!("agentclassification.agent-install.openshift.io/{name}");
    agent["metadata"]["labels"][key].as_str().map(str::to_owned)
}

fn queries_that_fail_or_never_end_are_reported_and_leave_no_label_behind(api: Api) {
    let world = World::of(api.serve());
    let path = make_infra_env(&world);
    let all = [
        classification("many", ".cpu.count >= 8"),
        classification("few", ".cpu.count < 8"),
        classification("wrong", ".cpu.count >"),
        classification("endless", "def f: f; f"),
        classification("greedy", "[range(1e12)] | length > 0"),
    ];
    world.kubectl.apply(&all);
    known_host(&world.client(), &path, 1);
    let agent = host_id(1);
    let labels =
        |agent: &Value| ["many", "few", "wrong", "endless", "greedy"].map(|name| label_of(agent, name));
    let wanted = [
        Some("yes"),
        None,
        Some("QUERYERROR-yes"),
        Some("QUERYERROR-yes"),
        Some("QUERYERROR-yes"),
    ];
    let wanted = wanted.map(|value| value.map(str::to_owned));
    world
        .kubectl
        .await_that("the labels", &["agent", &agent], SOON, |agent| {
            (labels(agent) == wanted).then_some(())
        });
    for (name, part) in [
        ("wrong", "is not jq"),
        ("endless", "stopped"),
        ("greedy", "stopped"),
    ] {
        let shown = world
            .kubectl
            .await_that("the error", &["agentclassification", name], SOON, |one| {
                is(one, "QueryErrors", "True", "HasQueryErrors")
                    .then(|| message(one, "QueryErrors").to_owned())
            });
        assert!(shown.starts_with("1 ") && shown.contains(part), "{name}: {shown}");
    }
    world
        .kubectl
        .await_that("the count", &["agentclassification", "many"], SOON, |one| {
            (one["status"]["matchedCount"] == 1 && one["status"]["errorCount"].is_null()).then_some(())
        });
    // Approving does not wait for queries.
    world.patch_agent(&agent, &json!({"approved": true}));
    world.await_agent(&agent, "RequirementsMet", "True", "AgentIsReady");

    world.kubectl.run(&[
        "delete",
        "agentclassification",
        "many",
        "wrong",
        "endless",
        "greedy",
        "few",
        "--timeout=120s",
    ]);
    let left = world.kubectl.get(&["agent", &agent]);
    assert_eq!(labels(&left), [None, None, None, None, None], "{left}");
}

fn one_bad_setting_holds_up_no_other(api: Api) {
    let world = World::of(api.serve());
    let path = make_infra_env(&world);
    register(&world.client(), &path, 1);
    let agent = host_id(1);
    world.await_state(&agent, "discovering-unbound");
    // Before the host has reported anything: the disk and the cluster wait, the name is invalid, the rest is applied.
    world.patch_agent(
        &agent,
        &json!({
            "approved": true, "hostname": "Not_Valid", "role": "worker", "installerArgs": "nonsense",
            "installation_disk_id": "/dev/sda", "machineConfigPool": "mine", "nodeLabels": {"zone": "a"},
            "clusterDeploymentName": {"name": "c1", "namespace": NAMESPACE},
            "ignitionEndpointTokenReference": {"name": "token", "namespace": NAMESPACE},
        }),
    );
    let shown = world
        .kubectl
        .await_that("the errors", &["agent", &agent], SOON, |agent| {
            is(agent, "SpecSynced", "False", "InputError").then(|| message(agent, "SpecSynced").to_owned())
        });
    for word in [
        "Not_Valid",
        "installerArgs",
        "Secret hardware/token does not exist",
        "ClusterDeployment hardware/c1",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let rest = |world: &World| {
        world
            .client()
            .get(&format!("{path}/hosts/{agent}"))
            .expect(200)
            .json()
    };
    let host = rest(&world);
    assert_eq!(
        (&host["role"], &host["machine_config_pool_name"]),
        (&json!("worker"), &json!("mine"))
    );

    let token = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"ignition-token": value}});
    world.kubectl.apply(&[token("one")]);
    world.kubectl.apply(&imported_cluster("c1"));
    world.patch_agent(
        &agent,
        &json!({"hostname": "good", "installerArgs": "[\"--append-karg\", \"quiet\"]"}),
    );
    let report = reply("inventory", &inventory(1));
    world
        .client()
        .post(&format!("{path}/hosts/{agent}/instructions"), &report)
        .expect(204);
    // Bound as soon as both exist.
    world.await_state(&agent, "binding");
    let host = rest(&world);
    assert_eq!(host["requested_hostname"], "good");
    assert!(
        host["installer_args"].as_str().unwrap().contains("quiet"),
        "{host}"
    );
    assert_eq!(host["ignition_endpoint_token_set"], true);
    register(&world.client(), &path, 1);
    world.await_agent(&agent, "Bound", "True", "Bound");

    // A rotated Secret is applied: the host's record changes without a change of the Agent.
    let before = rest(&world)["updated_at"].clone();
    world.kubectl.apply(&[token("two")]);
    await_condition("the new token to be taken", SOON, || {
        let now = rest(&world)["updated_at"].clone();
        if now == before {
            Err(now.to_string())
        } else {
            Ok(())
        }
    });
}

/// The service starts on an empty database, and the API server has the earlier objects.
#[test]
fn hosts_come_back_from_their_agents_when_the_database_is_another() {
    let mut world = World::of(Api::Real.serve());
    let path = make_infra_env(&world);
    for n in 1..=3 {
        known_host(&world.client(), &path, n);
        world.await_agent(&host_id(n), "Validated", "True", "ValidationsPassing");
    }
    world.patch_agent(
        &host_id(1),
        &json!({"approved": true, "hostname": "first", "role": "worker"}),
    );
    world.await_agent(&host_id(1), "RequirementsMet", "True", "AgentIsReady");
    assert!(world.service.terminate().success());

    world.service.start_afresh(settings());
    let path = infra_env_path(&world, INFRA_ENV);
    let agents = world.await_agreement(&path);
    assert_eq!(agents.len(), 3);
    let host = world
        .client()
        .get(&format!("{path}/hosts/{}", host_id(1)))
        .expect(200)
        .json();
    assert_eq!(
        (&host["requested_hostname"], &host["role"]),
        (&json!("first"), &json!("worker"))
    );
    // Their agents continue unchanged.
    let polled = world
        .client()
        .get(&format!("{path}/hosts/{}/instructions", host_id(2)));
    polled.expect(200);
}
