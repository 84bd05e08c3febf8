//! Secrets that custom resources refer to: a change is picked up, an absence is reported, and no value is readable
//! without the right to read Secrets.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use muster_bmc_emulator::machine::Hardware;
use muster_bmc_emulator::{InMemory, Setup};
use muster_tests::condition::await_condition;
use muster_tests::service::Settings;
use serde_json::json;

use crate::kube::bmcs::{self, bmcs_are_here};
use muster_tests::database::{host_id, known_host};
use muster_tests::kube::world::{INFRA_ENV, SECRET, SOON, World, imported_cluster, infra_env, is, message};
use muster_tests::kube::{Api, on_each_api};

on_each_api!(
    a_secret_is_followed_and_its_absence_reported,
    no_value_of_a_secret_is_shown_anywhere,
);

/// A pull secret with that password in it.
fn pull_secret(password: &str) -> String {
    let auth = STANDARD.encode(format!("robot:{password}"));
    json!({"auths": {"registry.lab.example": {"auth": auth}}}).to_string()
}

/// The credentials in the Ignition for hosts of the InfraEnv at `path`.
fn credentials_of_hosts(world: &World, path: &str) -> String {
    let ignition = format!("{path}/downloads/files?file_name=discovery.ign");
    let ignition = world.client().get(&ignition).expect(200).json();
    let files = ignition["storage"]["files"].as_array().unwrap();
    let file = files
        .iter()
        .find(|file| file["path"] == "/root/.docker/config.json")
        .unwrap_or_else(|| panic!("no credentials in {ignition}"));
    let source = file["contents"]["source"].as_str().unwrap();
    let (_, data) = source.split_once("base64,").unwrap_or_else(|| panic!("{source}"));
    String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
}

#[track_caller]
fn await_credentials(world: &World, path: &str, wanted: &str) {
    await_condition("hosts to get the new credentials", SOON, || {
        let found = credentials_of_hosts(world, path);
        if found == wanted { Ok(()) } else { Err(found) }
    });
}

fn a_secret_is_followed_and_its_absence_reported(api: Api) {
    let world = World::on(api);
    world.secret(&pull_secret("first"));
    world.kubectl.apply(&[infra_env(&json!({}))]);
    world.await_image();
    let path = world.rest_path();
    await_credentials(&world, &path, &pull_secret("first"));

    world.secret(&pull_secret("second"));
    await_credentials(&world, &path, &pull_secret("second"));
    assert_eq!(
        world.client().get(&path).expect(200).json()["pull_secret_set"],
        true
    );

    let await_available = |reason: &'static str, status: &'static str| {
        let what = format!("ImageCreated to be {status} ({reason})");
        world
            .kubectl
            .await_that(&what, &["infraenv", INFRA_ENV], SOON, |infra_env| {
                is(infra_env, "ImageCreated", status, reason)
                    .then(|| message(infra_env, "ImageCreated").to_owned())
            })
    };
    world.kubectl.run(&["delete", "secret", SECRET]);
    let message = await_available("ImageCreationError", "False");
    assert!(message.contains(SECRET), "{message}");
    world.secret(&pull_secret("third"));
    await_available("InfraEnvAvailable", "True");
    await_credentials(&world, &path, &pull_secret("third"));
}

/// Passwords that are in Secrets and nowhere else. None is part of another.
const CANARIES: [&str; 10] = [
    "CanaryPullOneQ7w2Zk9Lm",
    "CanaryPullTwoX4c8Vb1Nh",
    "CanaryPullBrokenR5t3Yg",
    "CanaryIgnitionTokenU6j",
    "CanaryIgnitionWrongP0s",
    "CanaryKubeconfigD3f7Gh",
    "CanaryKubeconfigBrokeE",
    "CanaryFencingK2l5Mn8Bv",
    "CanaryBmcRefusedV5n2Qx",
    "CanaryBmcTakenW7m4Zc1k",
];

fn no_value_of_a_secret_is_shown_anywhere(api: Api) {
    let [
        pull,
        rotated,
        broken,
        token,
        wrong_token,
        kubeconfig,
        broken_kubeconfig,
        fencing,
        refused_by_bmc,
        taken_by_bmc,
    ] = CANARIES;
    let verbose = |settings: Settings| bmcs_are_here(settings).argument("--log").argument("debug");
    let world = World::of(api.serve_with(verbose));
    let kubectl = &world.kubectl;
    let secret = |name: &str, key: &str, value: &str| {
        kubectl.apply(&[json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: value},
        })]);
    };
    world.secret(&pull_secret(pull));
    kubectl.apply(&[infra_env(&json!({}))]);
    world.await_image();
    let path = world.rest_path();
    let agent = host_id(1);
    known_host(&world.client(), &path, 1);
    world.await_agent(&agent, "SpecSynced", "True", "SyncOK");

    // A good token, a Secret with another key, and credentials of a management controller.
    secret("token", "ignition-token", token);
    secret("wrong-token", "token", wrong_token);
    kubectl.apply(&[json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fencing"},
        "stringData": {"address": "redfish+https://192.0.2.7/redfish/v1/Systems/1", "username": "root", "password": fencing},
    })]);
    let reference =
        |name: &str| json!({"ignitionEndpointTokenReference": {"namespace": "hardware", "name": name}});
    world.patch_agent(&agent, &reference("token"));
    let host = format!("{path}/hosts/{agent}");
    await_condition("the host to have the token", SOON, || {
        let seen = world.client().get(&host).expect(200).json();
        if seen["ignition_endpoint_token_set"] == true {
            Ok(())
        } else {
            Err(seen.to_string())
        }
    });
    world.patch_agent(&agent, &reference("wrong-token"));
    kubectl.await_that(
        "the wrong token to be reported",
        &["agent", &agent],
        SOON,
        |agent| {
            let message = message(agent, "SpecSynced");
            message.contains("ignition-token").then_some(())
        },
    );
    world.patch_agent(
        &agent,
        &json!({"ignitionEndpointTokenReference": null, "fencingCredentialsSecretRef": "fencing"}),
    );
    kubectl.await_that("fencing to be refused", &["agent", &agent], SOON, |agent| {
        message(agent, "SpecSynced")
            .contains("fencingCredentialsSecretRef")
            .then_some(())
    });
    world.patch_agent(&agent, &json!({"fencingCredentialsSecretRef": null}));
    world.await_agent(&agent, "SpecSynced", "True", "SyncOK");

    // A valid kubeconfig of a cluster, and an invalid one.
    let file = std::fs::read_to_string(kubectl.kubeconfig()).unwrap();
    let file = kubectl.file("edge.kubeconfig", &file);
    let user = format!("--token={kubeconfig}");
    kubectl.run(&[
        "config",
        "--kubeconfig",
        &file,
        "set-credentials",
        "canary",
        &user,
    ]);
    secret(
        "edge-kubeconfig",
        "kubeconfig",
        &std::fs::read_to_string(&file).unwrap(),
    );
    kubectl.apply(&imported_cluster("edge"));
    kubectl.run(&[
        "wait",
        "--for=condition=Completed",
        "agentclusterinstall/edge",
        "--timeout=120s",
    ]);
    secret(
        "edge-kubeconfig",
        "kubeconfig",
        &format!("apiVersion: v1\nusers: [{{token: {broken_kubeconfig}"),
    );

    // A BMC refuses a password, and accepts another.
    let machine = Arc::new(InMemory::running(Hardware::example(7)));
    let bmc = Setup::new(machine)
        .account("admin", taken_by_bmc)
        .start()
        .unwrap();
    kubectl.apply(&bmcs::objects("r1u7", &bmc.url(), refused_by_bmc));
    bmcs::await_reason(&world, "r1u7", "Discovered", "False", "CredentialsRefused");
    kubectl.apply(&bmcs::objects("r1u7", &bmc.url(), taken_by_bmc));
    bmcs::await_phase(&world, "r1u7", "waiting-for-agent");

    // Credentials change, then break in the middle of a value, which parsers tend to quote.
    world.secret(&pull_secret(rotated));
    await_credentials(&world, &path, &pull_secret(rotated));
    world.secret(&format!(
        r#"{{"auths": {{"registry.lab.example": {{"auth": "{broken}", {broken}}}}}}}"#
    ));
    kubectl.await_that(
        "the bad credentials to be reported",
        &["infraenv", INFRA_ENV],
        SOON,
        |infra_env| is(infra_env, "ImageCreated", "False", "ImageCreationError").then_some(()),
    );
    world.patch_agent(&agent, &json!({"approved": true, "hostname": "Not_Valid"}));
    world.await_agent(&agent, "SpecSynced", "False", "InputError");

    // The search finds existing values.
    let secrets = kubectl.run(&["get", "secrets", "-A", "-o", "yaml"]);
    for canary in [
        broken,
        token,
        wrong_token,
        broken_kubeconfig,
        fencing,
        taken_by_bmc,
    ] {
        assert!(
            !found(canary, &secrets).is_empty(),
            "{canary} is not even in its Secret"
        );
    }
    for (place, text) in everything_told(&world, &path) {
        assert!(!text.is_empty(), "{place} shows nothing");
        for canary in CANARIES {
            let found = found(canary, &text);
            assert!(found.is_empty(), "{canary} stands in {place}: {found:?}");
        }
    }
}

/// All texts that are readable without the right to read Secrets.
fn everything_told(world: &World, path: &str) -> Vec<(String, String)> {
    let kubectl = &world.kubectl;
    let kinds = kubectl.run(&["api-resources", "--verbs=list", "-o", "name"]);
    let kinds: Vec<&str> = kinds.lines().filter(|kind| *kind != "secrets").collect();
    assert!(kinds.iter().any(|kind| kind.starts_with("events")), "{kinds:?}");
    let objects = [
        "get",
        &kinds.join(","),
        "-A",
        "-o",
        "yaml",
        "--show-managed-fields",
    ];
    let mut all = vec![
        ("the objects".to_owned(), kubectl.run(&objects)),
        ("the log".to_owned(), world.service.log()),
    ];
    let client = world.client();
    let id = path.trim_start_matches("/infra-envs/");
    let host = host_id(1);
    for path in [
        "/infra-envs".to_owned(),
        path.to_owned(),
        format!("{path}/hosts"),
        format!("{path}/hosts/{host}"),
        "/clusters?with_hosts=true".to_owned(),
        format!("/events?infra_env_id={id}"),
        format!("/events?host_id={host}"),
        "/events?limit=-1".to_owned(),
    ] {
        all.push((path.clone(), client.get(&path).expect(200).text()));
    }
    let bmcs = format!("/api/muster/v1{path}/bmcs");
    for path in ["/ready", "/metrics", bmcs.as_str()] {
        all.push((
            path.to_owned(),
            client.request("GET", path, None).expect(200).text(),
        ));
    }
    all
}

/// Positions of `canary` in a text, plain or in base64 with any surroundings, also encoded twice.
fn found(canary: &str, text: &str) -> Vec<String> {
    let mut forms = vec![canary.to_owned()];
    for once in encoded(canary.as_bytes()) {
        forms.extend(encoded(once.as_bytes()));
        forms.push(once);
    }
    forms.retain(|form| text.contains(form.as_str()));
    forms
}

/// The base64 of the middle of `bytes`, for each of the three offsets at which they can begin.
fn encoded(bytes: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for (engine, before) in [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
        .iter()
        .flat_map(|engine| (0..3).map(move |before| (engine, before)))
    {
        let padded = [&vec![0; before], bytes].concat();
        let text = engine.encode(&padded[..padded.len() / 3 * 3]);
        // Characters with bits of the preceding bytes.
        forms.push(text[if before == 0 { 0 } else { 4 }..].to_owned());
    }
    forms.dedup();
    forms
}

#[test]
fn a_canary_is_found_in_any_disguise() {
    let canary = CANARIES[0];
    for before in ["", "x", "xy", "xyz"] {
        let plain = format!("{before}{canary} and more");
        let once = STANDARD.encode(&plain);
        let twice = STANDARD.encode(format!("{{\"auth\":\"{once}\"}}"));
        for text in [&plain, &once, &twice] {
            assert!(!found(canary, text).is_empty(), "{text}");
        }
    }
    assert!(
        found(
            canary,
            &STANDARD.encode("something else entirely, and long enough")
        )
        .is_empty()
    );
}
