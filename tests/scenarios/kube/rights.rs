//! Rights on a real API server: those of `deploy/namespaced` are enough for chosen namespaces, and replicas that hosts report to need none, as
//! with `deploy/split`.

use muster_tests::condition::await_condition;
use muster_tests::database::{host_id, known_host};
use muster_tests::http::HttpClient;
use muster_tests::kube::world::{SOON, is};
use muster_tests::kube::{KubeServed, Kubectl, control_plane, serve_in_namespaces};
use muster_tests::postgres::Postgres;
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::Settings;
use serde_json::{Value, json};

const CHOSEN: [&str; 2] = ["lab", "plant"];
const OTHER: &str = "other";

/// Failures of watches are logged at this level only, until they last.
fn verbose(settings: Settings) -> Settings {
    settings
        .argument("--log")
        .argument("info,sqlx=warn,muster_controllers=debug,kube_runtime=debug")
}

fn pull_secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
        "stringData": {".dockerconfigjson": PULL_SECRET},
    })
}

fn infra_env(name: &str) -> Value {
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
        "metadata": {"name": name}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
    })
}

/// The path of an InfraEnv in REST. There is no image, which is told, and needs none.
#[track_caller]
fn await_path(rest: &HttpClient, name: &str) -> String {
    await_condition("REST to know the InfraEnv", SOON, || {
        let all = rest.get("/infra-envs").expect(200).json();
        let mut known = all.as_array().into_iter().flatten();
        let id = known.find(|one| one["name"] == name).map(|one| &one["id"]);
        id.and_then(Value::as_str)
            .map(|id| format!("/infra-envs/{id}"))
            .ok_or_else(|| all.to_string())
    })
}

fn is_untouched(object: &Value) -> bool {
    object["status"].is_null() && object["metadata"]["finalizers"].is_null()
}

/// Every request that the API server refuses for want of rights leaves its message in the log.
fn assert_no_right_was_missing(served: &KubeServed) {
    let log = served.log();
    let refused: Vec<&str> = log
        .lines()
        .filter(|line| line.to_ascii_lowercase().contains("forbidden"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn rights_in_the_chosen_namespaces_are_enough_and_others_are_left_alone() {
    let served = serve_in_namespaces(&CHOSEN, verbose);
    let administrator = served.kubectl();
    administrator.run(&["create", "namespace", OTHER]);
    let of = |namespace: &str| administrator.namespace(namespace);
    for namespace in [OTHER, CHOSEN[0], CHOSEN[1]] {
        let host = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
            "metadata": {"name": "nobody"}, "spec": {"approved": true, "role": ""},
        });
        let network = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
            "metadata": {"name": "none", "labels": {"for": "nobody"}}, "spec": {
                "config": {}, "interfaces": [{"name": "eth0", "macAddress": "02:00:00:00:00:01"}],
            },
        });
        of(namespace).apply(&[pull_secret(), network, infra_env(&format!("of-{namespace}"))]);
        if namespace == OTHER {
            of(namespace).apply(&[host]);
        }
    }
    for (number, namespace) in CHOSEN.into_iter().enumerate() {
        let number = number as u64;
        let path = await_path(&served.http(), &format!("of-{namespace}"));
        known_host(&served.http(), &path, number);
        let agent = host_id(number);
        await_known(&of(namespace), &agent);
        approve(&of(namespace), &agent);
        // A Secret that is named is watched: what is wrong with it now is told at once.
        of(namespace).run(&["patch", "secret", "pull-secret", "--type", "merge", "-p", BROKEN]);
        let infra_env = ["infraenv", &format!("of-{namespace}")];
        of(namespace).await_that("the broken Secret to be told", &infra_env, SOON, |seen| {
            seen.to_string().contains("spec.pullSecretRef").then_some(())
        });
        // Events of Kubernetes need rights of their own.
        of(namespace).await_that("Events", &["events"], SOON, |events| {
            events.to_string().contains("ImageCreationError").then_some(())
        });
    }
    // They were made before those that have been worked on.
    let (infra_env, agent) = (["infraenv", "of-other"], ["agent", "nobody"]);
    for one in [infra_env, agent].map(|one| of(OTHER).get(&one)) {
        assert!(is_untouched(&one), "{one}");
    }
    let ready = served.http().request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["kubernetes"], "ok, leading");
    references_into_others_are_told_and_not_followed(&of(CHOSEN[0]), &host_id(0));
    // Its Secret was not read, which would have labelled it.
    let secret = of(OTHER).get(&["secret", "pull-secret"]);
    assert_eq!(secret["metadata"]["labels"], Value::Null);
    // What was made goes again, with its hosts.
    for namespace in CHOSEN {
        of(namespace).run(&["delete", "infraenvs", "--all", "--timeout=120s"]);
        assert_eq!(of(namespace).get(&["agents"])["items"], json!([]));
    }
    assert_no_right_was_missing(&served);
}

/// Whoever may edit an Agent of one tenant gets nothing of another's.
#[track_caller]
fn references_into_others_are_told_and_not_followed(kubectl: &Kubectl, agent: &str) {
    let told = |object: &[&str], what: &str| {
        let sentence = format!("{what} is in a namespace that this service does not look after");
        kubectl.await_that(&sentence, object, SOON, |seen| {
            seen.to_string().contains(&sentence).then_some(())
        });
    };
    let change = |object: &[&str], spec: Value| {
        let patch = json!({ "spec": spec }).to_string();
        kubectl.run(&[&["patch"], object, &["--type", "merge", "-p", &patch]].concat());
    };
    let theirs = json!({"name": "pull-secret", "namespace": OTHER});
    let agent = ["agent", agent];
    change(&agent, json!({"ignitionEndpointTokenReference": theirs}));
    told(&agent, "the Secret other/pull-secret");
    change(
        &agent,
        json!({"ignitionEndpointTokenReference": null, "clusterDeploymentName": {"name": "prod", "namespace": OTHER}}),
    );
    told(&agent, "the ClusterDeployment other/prod");
    change(&agent, json!({"clusterDeploymentName": null}));
    let mut bound = infra_env("bound");
    bound["spec"]["clusterRef"] = json!({"name": "prod", "namespace": OTHER});
    kubectl.apply(&[bound]);
    told(&["infraenv", "bound"], "the ClusterDeployment other/prod");
}

const BROKEN: &str = r#"{"stringData":{".dockerconfigjson":"no JSON"}}"#;

#[track_caller]
fn await_known(kubectl: &Kubectl, agent: &str) {
    kubectl.await_that("the Agent of the host", &["agent", agent], SOON, |agent| {
        (agent["status"]["debugInfo"]["state"] == "known-unbound").then_some(())
    });
}

#[track_caller]
fn approve(kubectl: &Kubectl, agent: &str) {
    let approval = r#"{"spec":{"approved":true}}"#;
    kubectl.run(&["patch", "agent", agent, "--type", "merge", "-p", approval]);
    kubectl.await_that("the approval to be seen", &["agent", agent], SOON, |agent| {
        is(agent, "RequirementsMet", "True", "AgentIsReady").then_some(())
    });
}

#[test]
fn hosts_report_to_replicas_whose_controllers_are_elsewhere() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let settings = || {
        Settings::on_address("127.0.0.1")
            .without_live_image()
            .database(&url)
    };
    let replica = settings().kube_api_elsewhere().start();
    let rest = replica.http();
    let ready = rest.request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["kubernetes"], "left to other replicas");
    let plane = control_plane();
    let kubectl = plane.kubectl();
    kubectl.run(&["create", "namespace", "lab"]);
    let kubectl = kubectl.namespace("lab");
    let controllers = settings().kubeconfig(&plane.service_kubeconfig()).start();
    let mut controllers = KubeServed::on_real(controllers, plane);
    controllers.await_leading();

    kubectl.apply(&[pull_secret(), infra_env("rack")]);
    let path = await_path(&rest, "rack");
    known_host(&rest, &path, 0);
    await_known(&kubectl, &host_id(0));
    approve(&kubectl, &host_id(0));
    // The Agent has the last word, as where the controllers are in the same process.
    let bind = format!("{path}/hosts/{}/actions/bind", host_id(0));
    let cluster = json!({"cluster_id": "6f0e1c7e-7e0d-4a52-8a3b-6a0a3a0f1f10"});
    let refusal = rest.post(&bind, &cluster).expect(400).error_message();
    assert!(refusal.contains("Agent lab/"), "{refusal}");
    // What hosts report while there are no controllers waits for them.
    assert!(controllers.terminate().success());
    known_host(&rest, &path, 1);
    controllers.start_again();
    controllers.await_leading();
    await_known(&kubectl, &host_id(1));
}
