//! Texts and numbers of hostile machines and clients on PostgreSQL, which refuses more of them than SQLite does. The
//! responses of a service on either are in `service/rest/tests/routes/hostile_input.rs`.

use muster_tests::database::{Database, host_id, infra_env, inventory, known_host, register, reply};
use muster_tests::hosts::clusters::import;
use muster_tests::service::description::{Description, wrong_values};
use serde_json::{Value, json};

/// Writes this text into every text of a document.
fn fill(value: &mut Value, text: &str) {
    match value {
        Value::String(old) => *old = text.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(map) => map.values_mut().for_each(|item| fill(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn texts_come_out_harmless() {
    let service = Database::Postgres.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let hostile = register(&client, &infra_env, 666);
    let good = known_host(&client, &infra_env, 1);
    let post = |body: &Value| client.post(&format!("{hostile}/instructions"), body);
    for text in [
        "\u{0}",
        "a\u{0}b",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "<script>alert(1)</script>",
        "'; DROP TABLE hosts; --",
        "\u{202e}txt.exe",
        "${jndi:ldap://x}",
        "../../../etc/passwd",
        "%s%n%x",
        "\r\nSet-Cookie: a=b",
        "𝕳𝖔𝖘𝖙",
        "",
    ] {
        let mut strange = inventory(666);
        fill(&mut strange, text);
        let answer = post(&reply("inventory", &strange));
        assert!(
            answer.status == 204 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        let sources = json!({"ntp_sources": [{"source_name": text, "source_state": "synced"}]});
        let answer = post(&reply("ntp-synchronizer", &sources));
        assert!(
            answer.status == 204 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        let name = client
            .patch(&hostile, &json!({"host_name": text}))
            .expect(400)
            .error_message();
        assert!(name.len() < 1000, "{name}");
        let again = json!({"host_id": host_id(666), "discovery_agent_version": text});
        let answer = client.post(&format!("{}/hosts", infra_env), &again);
        assert!(
            answer.status == 201 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        post(&reply("inventory", &strange));

        let stored = client.get(&hostile).expect(200);
        let inventory = &stored.json()["inventory"];
        if let Some(text) = inventory.as_str() {
            let inventory: Value = serde_json::from_str(text).unwrap();
            let hostname = inventory["hostname"].as_str().unwrap_or_default();
            assert!(!hostname.chars().any(char::is_control), "{hostname:?}");
        }
        let events = client.get("/events?limit=-1").expect(200).json();
        for event in events.as_array().unwrap() {
            let message = event["message"].as_str().unwrap();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
        let table = service.muster(&["hosts", "--url", &format!("http://127.0.0.1:{}", service.port())]);
        assert!(!table.chars().any(|c| c.is_control() && c != '\n'), "{table:?}");
        assert_eq!(
            table.lines().count(),
            3,
            "two hosts, two lines and a heading: {table}"
        );
        // The service runs, and the good machine is served.
        client.request("GET", "/health", None).expect(200);
        let steps = client.get(&format!("{good}/instructions")).expect(200).json();
        assert!(!steps["instructions"].as_array().unwrap().is_empty());
        assert_eq!(client.get(&good).expect(200).json()["status"], "known-unbound");
    }
    let log = service.log();
    assert!(
        !log.chars().any(|c| c.is_control() && c != '\n'),
        "the log holds control characters"
    );
}

/// Queries with values that reach the database, or would without a check.
const QUERIES: [&str; 13] = [
    "?host_ids=%00",
    "?limit=99999999999999999999999",
    "?limit=-9223372036854775808",
    "?offset=9223372036854775807",
    "?timestamp=-9223372036854775808",
    "?timestamp=9223372036854775807",
    "?after=%00",
    "?owner=%00",
    "?openshift_cluster_id=%00",
    "?infra_env_id=%00",
    "?mac=%00",
    "?message=%25%5f%5c'\"%00",
    "?version=%00",
];

#[test]
fn wrong_values_in_every_field_and_query_are_answered() {
    let service = Database::Postgres.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    let cluster = import(&client, "day2");
    let description = Description::of(&client, &infra_env);
    let ask = |method: &str, path: &str, body: Option<&str>| {
        let answer = client.request(method, path, body.map(str::as_bytes));
        assert!(
            (200..500).contains(&answer.status),
            "{} -> {}: {}\n---- sent ----\n{body:?}",
            answer.asked,
            answer.status,
            answer.text()
        );
    };
    let values = wrong_values();
    let many_ids = format!("?host_ids={}", vec![host_id(1); 1500].join(","));
    for operation in description.operations() {
        let (method, path) = (&operation.method, &operation.path);
        let body = operation.described.get("requestBody");
        for query in QUERIES.into_iter().chain([many_ids.as_str()]) {
            ask(method, &format!("{path}{query}"), body.map(|_| "{}"));
        }
        for field in body.map_or_else(Vec::new, |body| description.fields(body)) {
            for value in &values {
                ask(method, path, Some(&format!("{{{}:{value}}}", json!(field))));
            }
        }
    }
    let message = "?limit=5&message=%25%5f%5c'\"%00";
    client
        .get(&format!("/events{message}&cluster_id={cluster}"))
        .expect(200);
    client.request("GET", "/health", None).expect(200);
    client.get(&format!("{host}/instructions")).expect(200);
    assert!(!service.log().contains("panicked"), "{}", service.log());
}
