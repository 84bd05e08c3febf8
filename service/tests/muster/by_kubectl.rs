//! The first `kubectl` commands of a user with the built-in Kubernetes API.

use std::path::Path;

use muster_api::BASE_PATH;
use muster_tests::condition::await_condition;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

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

    // An unusable kubeconfig counts as a missing one, and its content is not shown.
    let content = "--from-literal=kubeconfig=nonsense-of-a-user";
    kubectl.run(&["create", "secret", "generic", "prod-admin-kubeconfig", content]);
    kubectl.await_that("the kubeconfig to be refused", &["aci", "prod"], LIMIT, |seen| {
        let told = seen["status"]["conditions"].to_string();
        assert!(!told.contains("nonsense"), "{told}");
        told.contains("cannot be used: it is no kubeconfig").then_some(())
    });

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

/// Whatever REST made becomes a custom resource when a user applies one, and then both show the same.
#[test]
fn a_resource_takes_over_what_rest_made_with_its_hosts() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl());
    let body = json!({"name": "lab", "pull_secret": PULL_SECRET});
    let made = rest.post("/infra-envs", &body).expect(201).json();
    let (id, host) = (
        made["id"].as_str().unwrap(),
        "00000000-0000-4000-8000-000000000001",
    );
    let path = format!("/infra-envs/{id}/hosts");
    let registration = json!({"host_id": host, "discovery_agent_version": "muster-agent/0.1.0"});
    rest.post(&path, &registration).expect(201);

    let infra_env = |name: &str, id: &str| {
        json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": name, "annotations": {"infraenv.agent-install.openshift.io/adopt": id}},
            "spec": {"pullSecretRef": {"name": "pull"}, "additionalNTPSources": ["198.51.100.1"]},
        })
    };
    kubectl.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"},
        "stringData": {".dockerconfigjson": PULL_SECRET},
    })]);
    let refused = |name: &str, id: &str, why: &str| {
        kubectl.apply(&[infra_env(name, id)]);
        kubectl.await_that(why, &["infraenv", name], LIMIT, |seen| {
            let mut conditions = seen["status"]["conditions"].as_array()?.iter();
            conditions
                .any(|one| one["message"].as_str().is_some_and(|text| text.contains(why)))
                .then_some(())
        });
    };
    // A user who may make InfraEnvs knows the id, or learns it from a machine of the pool.
    refused("stranger", id, "is not offered to default/stranger");
    let offer = json!({"offered_to": "default/lab"});
    let of_infra_env = format!("/infra-envs/{id}");
    let offered = rest.patch(&of_infra_env, &offer).expect(201).json();
    assert_eq!(offered["offered_to"], "default/lab");
    assert_eq!(
        offered["updated_at"], made["updated_at"],
        "its images are as they were"
    );
    refused("beside", id, "is not offered to default/beside");
    kubectl.apply(&[infra_env("lab", id)]);
    kubectl.await_that("the Agent", &["agents"], LIMIT, |agents| {
        let agent = &agents["items"][0];
        let is_of_host =
            agent["metadata"]["name"] == host && agent["metadata"]["ownerReferences"][0]["name"] == "lab";
        (is_of_host && agent["spec"]["approved"] == false).then_some(())
    });
    let seen = rest.get(&of_infra_env).expect(200).json();
    assert_eq!(seen["offered_to"], Value::Null, "it is taken");
    let again = rest.patch(&of_infra_env, &offer).expect(400).error_message();
    assert!(
        again.contains("belongs to the custom resource default/lab"),
        "{again}"
    );
    assert_eq!(
        seen["additional_ntp_sources"], "198.51.100.1",
        "the resource says it"
    );
    assert_eq!(
        seen["download_url"], made["download_url"],
        "machines boot from where they did"
    );
    let all = rest.get("/infra-envs").expect(200).json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");

    let patch = r#"{"spec":{"approved":true,"hostname":"worker-0"}}"#;
    kubectl.run(&["patch", "agent", host, "--type", "merge", "-p", patch]);
    let of_host = format!("{path}/{host}");
    await_condition("the name to be seen by REST", LIMIT, || {
        let seen = rest.get(&of_host).expect(200).json();
        match seen["requested_hostname"].as_str() {
            Some("worker-0") => Ok(()),
            _ => Err(seen.to_string()),
        }
    });
    // Deleting either deletes both.
    rest.request("DELETE", &format!("{BASE_PATH}{of_host}"), None)
        .expect(204);
    kubectl.run(&["wait", "--for=delete", &format!("agent/{host}"), "--timeout=60s"]);

    for (name, id, why) in [
        ("again", id, "belongs to the custom resource default/lab"),
        (
            "none",
            "00000000-0000-4000-8000-00000000000f",
            "there is no InfraEnv",
        ),
        ("word", "lab", "is no id of an InfraEnv"),
    ] {
        refused(name, id, why);
    }
    kubectl.run(&["delete", "infraenv", "lab", "--timeout=60s"]);
    rest.get(&of_infra_env).expect(404);
}
