//! Kubernetes Events, as `kubectl` shows them.

use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::world::{LIMIT, World};

const HOST: &str = "00000000-0000-4000-8000-000000000001";

/// Count and message of each Event with this reason.
fn of_reason(events: &Value, reason: &str) -> Vec<(i64, String)> {
    let all = events["items"].as_array().into_iter().flatten();
    let found = all.filter(|event| event["reason"] == reason);
    let shown = |event: &Value| {
        let message = event["message"].as_str().unwrap_or_default();
        (event["count"].as_i64().unwrap_or_default(), message.to_owned())
    };
    found.map(shown).collect()
}

#[test]
fn each_mistake_is_an_event_with_its_own_words_and_kubectl_can_sort_them() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl().namespace("muster-rest"));
    let body = json!({"name": "hw", "pull_secret": PULL_SECRET});
    let made = rest.post("/infra-envs", &body).expect(201).json();
    let infra_env = made["id"].as_str().expect("an InfraEnv has an id");
    let hosts = format!("/infra-envs/{infra_env}/hosts");
    rest.post(&hosts, &json!({"host_id": HOST})).expect(201);
    kubectl.await_that("the Agent", &["agent", HOST], LIMIT, |_| Some(()));
    let agent = format!("agent/{HOST}");
    for (name, times) in [
        ("worker_0", 1),
        ("localhost", 1),
        ("worker-0", 0),
        ("worker_0", 2),
    ] {
        let patch = json!({"spec": {"hostname": name}}).to_string();
        kubectl.run(&["patch", &agent, "--type", "merge", "-p", &patch]);
        if times == 0 {
            kubectl.run(&["wait", "--for=condition=SpecSynced", &agent, "--timeout=60s"]);
            continue;
        }
        kubectl.await_that(&format!("an Event about {name}"), &["events"], LIMIT, |seen| {
            let told = of_reason(seen, "InputError");
            let found = told
                .iter()
                .find(|(count, words)| *count == times && words.contains(name));
            found.map(|_| ())
        });
    }
    let described = kubectl.run(&["describe", &agent]);
    assert!(
        described.contains("localhost") && described.contains("(x2 over "),
        "{described}"
    );
    let sorted = kubectl.run(&["get", "events", "--sort-by=.lastTimestamp"]);
    let lines: Vec<&str> = sorted.lines().collect();
    assert!(lines[0].starts_with("LAST SEEN"), "{sorted}");
    // Times are whole seconds, and these mistakes were made within one or two.
    let told = |word| {
        let mut inputs = lines.iter().filter(|line| line.contains("InputError"));
        inputs.any(|line| line.contains(word))
    };
    assert!(told("worker_0") && told("localhost"), "{sorted}");

    // A cluster that does not exist: the protocol's condition is that of a wait, and the mistake is reported all the same.
    for name in ["prdo", "porduction"] {
        let reference = json!({"name": name, "namespace": "muster-rest"});
        let patch = json!({"spec": {"clusterDeploymentName": reference}}).to_string();
        kubectl.run(&["patch", &agent, "--type", "merge", "-p", &patch]);
        kubectl.await_that(&format!("an Event about {name}"), &["events"], LIMIT, |seen| {
            let told = of_reason(seen, "UnknownCluster");
            let words = format!("there is no ClusterDeployment muster-rest/{name}");
            told.iter().find(|(_, told)| told.contains(&words)).map(|_| ())
        });
    }
}
