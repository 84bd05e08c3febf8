//! What people type first into `kubectl` with the built-in Kubernetes API.

use std::path::Path;

use serde_json::json;

use crate::world::{LIMIT, World};

#[test]
fn all_of_a_namespace_is_shown_and_the_caller_is_known() {
    let world = World::start();
    let kubectl = world.kubectl();
    for empty in [&["get", "all"][..], &["get", "all,services", "-A"]] {
        let output = kubectl.try_run(empty);
        assert!(
            output.succeeded && output.err.contains("No resources found"),
            "{output:?}"
        );
    }
    let kinds = kubectl.run(&["api-resources", "--categories=all", "-o", "name"]);
    for kind in [
        "infraenvs",
        "agents",
        "clusterdeployments",
        "agentclusterinstalls",
        "nodepools",
    ] {
        assert!(
            kinds.lines().any(|line| line.starts_with(&format!("{kind}."))),
            "{kind}: {kinds}"
        );
    }
    assert!(kubectl.run(&["auth", "whoami"]).contains("system:masters"));
    assert_eq!(
        kubectl.run(&["auth", "can-i", "create", "infraenvs"]).trim(),
        "yes"
    );
}

#[test]
fn the_example_of_an_imported_cluster_applies_and_a_half_of_it_is_told() {
    let world = World::start();
    let kubectl = world.kubectl();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/import-cluster.yaml");
    kubectl.run(&["apply", "-f", &example.display().to_string()]);
    kubectl.run(&[
        "wait",
        "--for=condition=SpecSynced",
        "agentclusterinstall/prod",
        "--timeout=60s",
    ]);
    let synced = "jsonpath={.status.conditions[?(@.type=='SpecSynced')].message}";
    let message = kubectl.run(&["get", "aci", "prod", "-o", synced]);
    assert!(message.contains("prod-admin-kubeconfig"), "{message}");

    let mut half = kubectl.get(&["clusterdeployment", "prod"]);
    half["metadata"] = json!({"name": "half", "namespace": "default"});
    half["spec"]["clusterName"] = "half".into();
    half["spec"]["clusterInstallRef"]["name"] = "half".into();
    kubectl.apply(&[half]);
    let what = "an Event about the missing AgentClusterInstall";
    kubectl.await_that(what, &["events"], LIMIT, |events| {
        let mut events = events["items"].as_array()?.iter();
        let found = events.find(|event| event["reason"] == "MissingAgentClusterInstall")?;
        let note = found["message"].as_str().unwrap_or_default();
        (note.contains("AgentClusterInstall half") && found["involvedObject"]["name"] == "half").then_some(())
    });
}

#[test]
fn a_person_who_opens_the_address_is_told_where_things_are() {
    let world = World::start();
    let rest = world.rest();
    let front = rest.request("GET", "/", None).expect(200);
    assert!(front.header("content-type").starts_with("text/plain"));
    for word in ["/openapi.json", "/ready", "muster hosts --url"] {
        assert!(front.text().contains(word), "{word}: {}", front.text());
    }
    let described = rest.request("GET", "/openapi.json", None).expect(200);
    assert_eq!(described.json()["info"]["title"], "Muster");
}
