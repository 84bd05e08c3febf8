//! If the InfraEnv is a custom resource of a user, the Agent decides, and REST responds with that.

use std::path::Path;

use muster_tests::condition::await_condition;
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::mirror::known_host;
use crate::world::{LIMIT, World};

/// Waits for an event of the host with these words.
fn await_told(rest: &HttpClient, infra_env: &str, host: &str, words: &[&str]) {
    await_condition(&format!("an event with {words:?}"), LIMIT, || {
        let all = rest.get(&format!("/events?infra_env_id={infra_env}&host_id={host}"));
        let all = all.expect(200).json();
        let told = |event: &Value| {
            let message = event["message"].as_str().unwrap_or_default();
            event["name"] == "muster_agent_decides" && words.iter().all(|word| message.contains(word))
        };
        match all.as_array().is_some_and(|list| list.iter().any(told)) {
            true => Ok(()),
            false => Err(all.to_string()),
        }
    });
}

#[test]
fn rest_does_not_move_the_host_of_an_agent_and_the_agent_tells_why_it_does() {
    let world = World::start();
    let (rest, kubectl) = (world.rest(), world.kubectl());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/import-cluster.yaml");
    kubectl.run(&["apply", "-f", &example.display().to_string()]);
    kubectl.apply(&[
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"},
            "stringData": {".dockerconfigjson": PULL_SECRET}}),
        json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": "hw"}, "spec": {"pullSecretRef": {"name": "pull"}}}),
    ]);
    let first_id = |path: &str| {
        await_condition(&format!("one at {path}"), LIMIT, || {
            let all = rest.get(path).expect(200).json();
            all[0]["id"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| all.to_string())
        })
    };
    let (infra_env, cluster) = (first_id("/infra-envs"), first_id("/clusters"));
    let id = known_host(&rest, &infra_env, 2);
    kubectl.await_that("the Agent", &["agent", &id], LIMIT, |_| Some(()));
    let host = format!("/infra-envs/{infra_env}/hosts/{id}");

    let bind = json!({"cluster_id": cluster});
    let refused = rest.post(&format!("{host}/actions/bind"), &bind).expect(400);
    let message = refused.error_message();
    let line = format!("kubectl -n default patch agent {id} --type merge -p ");
    for word in [
        &format!("Agent default/{id}"),
        &format!(
            "{line}'{{\"spec\":{{\"clusterDeploymentName\":{{\"name\":\"prod\",\"namespace\":\"default\"}}}}}}'"
        ),
    ] {
        assert!(message.contains(word), "{message}");
    }
    let seen = rest.get(&host).expect(200).json();
    assert_eq!(seen["status"], "known-unbound", "{}", seen["status_info"]);
    let refused = rest.patch(&host, &json!({"host_name": "by-rest"})).expect(409);
    assert!(
        refused
            .error_message()
            .ends_with(&format!("{line}'{{\"spec\":{{\"hostname\":\"by-rest\"}}}}'")),
        "{}",
        refused.error_message()
    );
    // The printed command is run in a shell, as a person does it.
    let set = ["host", "set", id.as_str(), "--role", "worker"];
    let command = world.refused(&set);
    assert!(command.starts_with(&line), "{command}");
    kubectl.shell(&command);
    await_condition("the host to have the role", LIMIT, || {
        let seen = rest.get(&host).expect(200).json();
        match seen["role"] == "worker" {
            true => Ok(()),
            false => Err(seen["role"].to_string()),
        }
    });
    let same = world.muster(&set);
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stderr));
    let update = ["infra-env", "update", "hw", "--ntp-sources", "192.0.2.1"];
    kubectl.shell(&world.refused(&update));
    await_condition("the InfraEnv to have the time source", LIMIT, || {
        let seen = rest.get(&format!("/infra-envs/{infra_env}")).expect(200).json();
        match seen["additional_ntp_sources"] == "192.0.2.1" {
            true => Ok(()),
            false => Err(seen["additional_ntp_sources"].to_string()),
        }
    });
    let delete = world.refused(&["infra-env", "delete", "hw"]);
    assert_eq!(delete, "kubectl -n default delete infraenv hw");

    let agent = format!("agent/{id}");
    let name = |cluster: &Value| {
        let patch = json!({"spec": {"clusterDeploymentName": cluster}}).to_string();
        kubectl.run(&["patch", &agent, "--type", "merge", "-p", &patch]);
    };
    let await_status = |wanted: &str| {
        await_condition(&format!("the host to be {wanted}"), LIMIT, || {
            let seen = rest.get(&host).expect(200).json();
            match seen["status"] == wanted {
                true => Ok(()),
                false => Err(format!("{} {}", seen["status"], seen["status_info"])),
            }
        });
    };
    name(&json!({"name": "prod", "namespace": "default"}));
    await_status("binding");
    let registration = json!({"host_id": id, "discovery_agent_version": "muster-agent/0.1.0"});
    rest.post(&format!("/infra-envs/{infra_env}/hosts"), &registration)
        .expect(201);
    let refused = rest
        .post(&format!("{host}/actions/unbind"), &json!({}))
        .expect(409);
    assert!(
        refused
            .error_message()
            .contains("{\"clusterDeploymentName\":null}"),
        "{}",
        refused.error_message()
    );
    name(&Value::Null);
    await_status("unbinding");
    await_told(
        &rest,
        &infra_env,
        &id,
        &["leaves its cluster", "names none in spec.clusterDeploymentName"],
    );
}
