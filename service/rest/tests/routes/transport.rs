//! Rules for every request: bodies, ids, paths, methods, headers. Source: docs/protocol/rest-behaviour.md#1. Rules that need a connection
//! are in `tests/scenarios/rest/transport.rs`.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::read::GzDecoder;
use muster_api::BASE_PATH;
use muster_store::EventQuery;
use muster_tests::hosts::plain::{host_id, infra_env, known_host, register};
use muster_tests::http::Requests;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::service::{Client, Service};

/// Operations with a body, and a good one each.
fn operations_with_body(infra_env: &str, host: &str) -> Vec<(&'static str, String, Value)> {
    vec![
        (
            "POST",
            "/infra-envs".into(),
            json!({"name": "one", "pull_secret": PULL_SECRET}),
        ),
        ("PATCH", infra_env.into(), json!({"image_type": "full-iso"})),
        (
            "POST",
            format!("{infra_env}/hosts"),
            json!({"host_id": host_id(1)}),
        ),
        ("PATCH", host.into(), json!({"host_role": "worker"})),
        (
            "POST",
            format!("{host}/instructions"),
            json!({"step_type": "ntp-synchronizer", "output": "{\"ntp_sources\":[]}"}),
        ),
    ]
}

#[test]
fn bodies_that_are_not_what_the_operation_takes_are_refused() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = register(&client, &infra_env, 1);
    for (method, path, good) in operations_with_body(&infra_env, &host) {
        let url = format!("{BASE_PATH}{path}");
        let good = good.to_string();
        let refused = |client: &Client, body: Option<&[u8]>, what: &str| {
            let answer = client.request(method, &url, body);
            assert_eq!(
                answer.status,
                400,
                "{method} {path} with {what}: {}",
                answer.text()
            );
            assert_eq!(answer.header("content-type"), "application/json");
            answer.error_message()
        };
        for length in [1, good.len() / 2, good.len() - 1] {
            refused(&client, Some(&good.as_bytes()[..length]), "truncated JSON");
        }
        refused(&client, Some(b""), "an empty body");
        refused(&client, Some(b"[]"), "a list");
        refused(&client, Some(b"\"text\""), "a text");
        refused(&client, Some(b"null"), "null");
        refused(&client, Some(format!("{good} {good}").as_bytes()), "two bodies");
        refused(&client, Some(b"{\"\xff\xfe\": 1}"), "bytes that are not UTF-8");
        let mut more: Value = serde_json::from_str(&good).unwrap();
        more["no_such_field"] = json!(1);
        let message = refused(&client, Some(more.to_string().as_bytes()), "an unknown field");
        assert!(message.contains("no_such_field"), "{method} {path}: {message}");
        for media in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
            let message = refused(&client.with("Content-Type", media), Some(good.as_bytes()), media);
            assert!(message.contains("application/json"), "{method} {path}: {message}");
        }
        let message = refused(&client, None, "no body");
        assert!(message.contains("body"), "{method} {path}: {message}");

        let with_charset = client.with("Content-Type", "application/json; charset=utf-8");
        let accepted = with_charset.request(method, &url, Some(good.as_bytes()));
        assert!(
            (200..300).contains(&accepted.status),
            "{}: {}",
            accepted.asked,
            accepted.text()
        );
    }
    // Real clients send the type with every GET (docs/protocol/rest-behaviour.md#8).
    client
        .with("Content-Type", "application/json")
        .get("/infra-envs")
        .expect(200);
}

#[test]
fn ids_that_are_no_ids_are_refused_and_unknown_ones_are_not_found() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let unknown = host_id(99);
    let empty = json!({});
    let role = json!({"host_role": "worker"});
    let step = json!({"step_type": "inventory", "output": "{}"});
    let registration = json!({"host_id": host_id(1)});
    // Method, path with `{ie}` and `{h}`, body.
    let operations: [(&str, &str, Option<&Value>); 16] = [
        ("GET", "/infra-envs/{ie}", None),
        ("PATCH", "/infra-envs/{ie}", Some(&empty)),
        ("DELETE", "/infra-envs/{ie}", None),
        ("GET", "/infra-envs/{ie}/downloads/image-url", None),
        (
            "GET",
            "/infra-envs/{ie}/downloads/files?file_name=discovery.ign",
            None,
        ),
        (
            "GET",
            "/infra-envs/{ie}/downloads/files-presigned?file_name=ipxe-script",
            None,
        ),
        ("GET", "/infra-envs/{ie}/downloads/minimal-initrd", None),
        ("POST", "/infra-envs/{ie}/regenerate-signing-key", None),
        ("POST", "/infra-envs/{ie}/regenerate-agent-token", None),
        ("GET", "/infra-envs/{ie}/hosts", None),
        ("POST", "/infra-envs/{ie}/hosts", Some(&registration)),
        ("GET", "/infra-envs/{ie}/hosts/{h}", None),
        ("PATCH", "/infra-envs/{ie}/hosts/{h}", Some(&role)),
        ("DELETE", "/infra-envs/{ie}/hosts/{h}", None),
        ("GET", "/infra-envs/{ie}/hosts/{h}/instructions", None),
        ("POST", "/infra-envs/{ie}/hosts/{h}/instructions", Some(&step)),
    ];
    let known = infra_env.trim_start_matches("/infra-envs/");
    for (method, path, body) in operations {
        let ask = |infra_env: &str, host: &str| {
            let path = path.replace("{ie}", infra_env).replace("{h}", host);
            let body = body.map(Value::to_string);
            client.request(
                method,
                &format!("{BASE_PATH}{path}"),
                body.as_deref().map(str::as_bytes),
            )
        };
        for bad in [
            "no-id",
            "1",
            "%00",
            "..%2f..",
            "00000000-0000-4000-8000-00000000000g",
            "%F0%9F%92%A9",
        ] {
            let message = ask(bad, &unknown).expect(400).error_message();
            assert!(!message.is_empty(), "{method} {path}");
            if path.contains("{h}") {
                ask(known, bad).expect(400).error_message();
            }
        }
        let message = ask(&unknown, &unknown).expect(404).error_message();
        assert!(message.contains(&unknown), "{method} {path}: {message}");
        if path.contains("{h}") {
            let missing = ask(known, &unknown).expect(404);
            assert_eq!(missing.json()["code"], "404");
            assert!(missing.error_message().contains(&unknown));
        }
    }
    // A host is known in its InfraEnv only.
    let other = muster_tests::hosts::plain::infra_env(&client);
    let host = register(&client, &infra_env, 1);
    client.get(&host).expect(200);
    client.get(&host.replace(&infra_env, &other)).expect(404);
}

#[test]
fn unknown_paths_and_methods_are_refused_with_what_there_is() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    for path in [
        "/nothing",
        "/api/assisted-install/v1/infra-envs",
        &format!("{BASE_PATH}/nothing"),
    ] {
        let answer = client.request("GET", path, None).expect(404);
        assert_eq!(
            answer.json(),
            json!({"code": 404, "message": format!("path {path} was not found")})
        );
    }
    let of_one = format!("{BASE_PATH}{infra_env}");
    let hosts = format!("{of_one}/hosts");
    let list = format!("{BASE_PATH}/infra-envs");
    let versions = format!("{BASE_PATH}/component-versions");
    for (method, path, allowed) in [
        ("PUT", list.as_str(), ["GET", "POST"].as_slice()),
        ("DELETE", list.as_str(), &["GET", "POST"]),
        ("POST", of_one.as_str(), &["GET", "PATCH", "DELETE"]),
        ("PATCH", hosts.as_str(), &["GET", "POST"]),
        ("POST", versions.as_str(), &["GET"]),
        ("DELETE", "/health", &["GET"]),
    ] {
        let answer = client.request(method, path, Some(b"{}")).expect(405);
        let message = answer.error_message();
        for name in allowed {
            assert!(
                answer.header("allow").contains(name),
                "{method} {path}: {:?}",
                answer.headers
            );
            assert!(message.contains(name), "{method} {path}: {message}");
        }
        assert!(
            !answer.header("allow").contains(method),
            "{method} {path}: {:?}",
            answer.headers
        );
    }
    for path in [format!("/{list}"), list.replace('/', "//"), format!("{list}//")] {
        let found = client.request("GET", &path, None).expect(200).json();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{path}");
    }
}

#[test]
fn every_answer_has_the_request_id_and_a_type_that_browsers_keep() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    let mut seen = BTreeSet::new();
    for (method, path) in [
        ("GET", "/health".to_owned()),
        ("GET", "/ready".to_owned()),
        ("GET", "/metrics".to_owned()),
        ("GET", "/nothing".to_owned()),
        ("PUT", format!("{BASE_PATH}/infra-envs")),
        ("GET", format!("{BASE_PATH}{infra_env}")),
        ("GET", format!("{BASE_PATH}/infra-envs/no-id")),
    ] {
        let answer = client.request(method, &path, None);
        assert_eq!(
            answer.header("x-content-type-options"),
            "nosniff",
            "{method} {path}"
        );
        let made = answer.header("x-request-id").to_owned();
        assert!(made.len() >= 16, "{method} {path}: {made:?}");
        assert!(seen.insert(made), "{method} {path}: an id was given twice");
        let given = client
            .with("X-Request-ID", "my-own-id-7")
            .request(method, &path, None);
        assert_eq!(given.header("x-request-id"), "my-own-id-7", "{method} {path}");
        let odd = client
            .with("X-Request-ID", &"x".repeat(500))
            .request(method, &path, None);
        assert!(odd.header("x-request-id").len() <= 64, "{method} {path}");
    }
    // The event that the request caused has the id.
    let made = client
        .with("X-Request-ID", "who-did-this")
        .post("/infra-envs", &json!({"name": "two", "pull_secret": PULL_SECRET}))
        .expect(201)
        .json();
    let id = made["id"].as_str().unwrap();
    let query = EventQuery {
        infra_env_id: Some(id.parse().unwrap()),
        categories: Vec::new(),
        ..EventQuery::default()
    };
    let stored = service
        .run(service.world.operations.store().list_events(&query))
        .unwrap();
    let ids: BTreeSet<_> = stored
        .events
        .iter()
        .map(|event| event.request_id.as_deref())
        .collect();
    assert_eq!(ids, BTreeSet::from([Some("who-did-this")]));
}

#[test]
fn long_answers_are_compressed_for_those_who_ask() {
    let service = Service::start();
    let client = service.http();
    let infra_env = infra_env(&client);
    for n in 1..=3 {
        known_host(&client, &infra_env, n);
    }
    let path = format!("{infra_env}/hosts");
    let plain = client.get(&path).expect(200);
    assert_eq!(plain.header("content-encoding"), "");
    assert!(
        plain
            .header("vary")
            .to_ascii_lowercase()
            .contains("accept-encoding")
    );
    let packed = client.with("Accept-Encoding", "gzip").get(&path).expect(200);
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(
        packed.body.len() * 2 < plain.body.len(),
        "{} of {}",
        packed.body.len(),
        plain.body.len()
    );
    let mut text = String::new();
    GzDecoder::new(packed.body.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), plain.json());
    let short = client
        .with("Accept-Encoding", "gzip")
        .get("/infra-envs?owner=nobody")
        .expect(200);
    assert_eq!(
        (short.header("content-encoding"), short.text().as_str()),
        ("", "[]")
    );
}

#[test]
fn the_service_describes_itself() {
    let service = Service::start();
    let client = service.http();
    client.request("GET", "/health", None).expect(200);
    let ready = client.request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["database"], "ok");
    assert!(
        ready["live_image"]
            .as_str()
            .is_some_and(|message| !message.is_empty()),
        "{ready}"
    );

    let paths = [
        "/api/assisted-install/openapi",
        "/api/assisted-install/v2/openapi",
    ];
    let [one, two] = paths.map(|path| client.request("GET", path, None).expect(200).json());
    assert_eq!(one, two);
    let printed = serde_json::to_value(muster_rest::openapi()).unwrap();
    assert_eq!(one, printed, "the service and `muster openapi` say the same");

    let versions = client.get("/component-versions").expect(200).json();
    for name in [
        "assisted-installer-service",
        "discovery-agent",
        "assisted-installer",
        "assisted-installer-controller",
    ] {
        assert!(versions["versions"][name].is_string(), "{versions}");
    }
    assert!(versions.get("release_tag").is_none());
    let all = client.get("/openshift-versions").expect(200).json();
    let all = all.as_object().unwrap();
    assert!(all.len() > 1 && all.values().filter(|version| version["default"] == true).count() == 1);
    for (name, version) in all {
        assert_eq!(version["display_name"], *name);
        assert_eq!(version["support_level"], "production");
        assert_eq!(version["cpu_architectures"], json!(["x86_64"]));
    }
    let newest = client
        .get("/openshift-versions?only_latest=true")
        .expect(200)
        .json();
    assert_eq!(newest.as_object().unwrap().len(), 1);
    let some = client.get("/openshift-versions?version=4.2").expect(200).json();
    assert!(
        some.as_object().unwrap().keys().all(|name| name.contains("4.2"))
            && !some.as_object().unwrap().is_empty()
    );
    client
        .get("/openshift-versions?only_latest=perhaps")
        .expect(400)
        .error_message();
}

/// Verbs with which an operation is summarized.
const VERBS: &str = "Add Approve Begin Bind Cancel Delete Deregister Discover Download End Follow Forget Get Import Install List Record Refuse: Register Report Request Reset Revoke \
    Run Search Set Settle Skip Stop Switch Switch, Unbind Update Upload Wake";

#[test]
fn each_operation_is_summarized_by_a_verb_and_few_words() {
    let api = serde_json::to_value(muster_rest::openapi()).unwrap();
    let operations = api["paths"].as_object().unwrap().values();
    let operations: Vec<&Value> = operations
        .flat_map(|methods| methods.as_object().unwrap().values())
        .filter(|operation| operation["operationId"].is_string())
        .collect();
    assert!(operations.len() >= 100, "{}", operations.len());
    for operation in operations {
        let (id, summary) = (
            &operation["operationId"],
            operation["summary"].as_str().unwrap_or(""),
        );
        let verb = summary.split(' ').next().unwrap_or("");
        assert!(
            VERBS.split_whitespace().any(|known| known == verb),
            "{id}: {summary}"
        );
        assert!(summary.len() <= 60 && !summary.ends_with('.'), "{id}: {summary}");
    }
}
