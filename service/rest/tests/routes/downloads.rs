//! Files of an InfraEnv and their signed URLs. Rules: docs/protocol/rest-behaviour.md#4.1 and §4.2, docs/protocol/ipxe.md. Images are
//! served elsewhere: `tests/scenarios/rest/downloads.rs`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use muster_api::time::Timestamp;
use muster_image::testing::LiveTree;
use muster_operations::now;
use muster_tests::hosts::plain::{host_id, infra_env};
use muster_tests::http::Requests;
use muster_tests::rest::{PULL_SECRET, PULL_SECRET_CREDENTIAL};
use serde_json::{Value, json};

use crate::service::{Client, Service};
use crate::world::Settings;

/// A service with tokens and a live image, and a client with the operator's.
fn with_live_image() -> (Service, Client) {
    let service = Service::start_with_tokens();
    LiveTree::new(9_000).write_iso(&service.world.live_image());
    let operator = service.operator();
    (service, operator)
}

/// Path and query of a URL.
fn path_of(url: &str) -> String {
    let (_, after_scheme) = url.split_once("://").unwrap();
    after_scheme[after_scheme.find('/').unwrap()..].to_owned()
}

fn files(infra_env: &str, query: &str) -> String {
    format!("{infra_env}/downloads/files?file_name={query}")
}

/// The JSON inside a `data:` URL with base64.
fn decoded(url: &str) -> Value {
    let (head, data) = url.split_once(',').unwrap();
    assert!(head.ends_with(";base64"), "{url}");
    serde_json::from_slice(&STANDARD.decode(data).unwrap()).unwrap()
}

#[test]
fn the_ignition_is_valid_and_has_the_override_merged() {
    for auth in [false, true] {
        let service = Service::with(Settings {
            asks_for_tokens: auth,
            ..Settings::default()
        });
        let client = if auth { service.operator() } else { service.http() };
        let extra = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/etc/of-the-user", "contents": {"source": "data:,hello"}}]}});
        let body = json!({
            "name": "ignited", "pull_secret": PULL_SECRET, "ignition_config_override": extra.to_string(),
            "ssh_authorized_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b",
        });
        let made = client.post("/infra-envs", &body).expect(201).json();
        let path = format!("/infra-envs/{}", made["id"].as_str().unwrap());
        let file = client.get(&files(&path, "discovery.ign")).expect(200);
        assert_eq!(file.header("content-type"), "application/octet-stream");
        assert_eq!(
            file.header("content-disposition"),
            "attachment; filename=\"discovery.ign\""
        );
        assert_eq!(file.header("content-length"), file.body.len().to_string());
        assert!(!file.header("last-modified").is_empty());
        assert_eq!(file.header("cache-control"), "no-store");

        let ignition = file.json();
        assert_eq!(ignition["ignition"]["version"], "3.2.0");
        let written = ignition["storage"]["files"].as_array().unwrap();
        let paths: Vec<&str> = written
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        assert!(
            paths.contains(&"/etc/of-the-user") && paths.contains(&"/etc/muster/config.json"),
            "{paths:?}"
        );
        assert!(
            ignition["passwd"]["users"][0]["sshAuthorizedKeys"][0]
                .as_str()
                .unwrap()
                .ends_with("a@b")
        );
        assert!(
            !file.text().contains(PULL_SECRET_CREDENTIAL),
            "the pull secret is in the ignition"
        );
        let config = written
            .iter()
            .find(|file| file["path"] == "/etc/muster/config.json")
            .unwrap();
        let config = decoded(config["contents"]["source"].as_str().unwrap());
        assert_eq!(config["infra_env_id"], made["id"], "{config}");
        if auth {
            let token = service.token(&path);
            assert!(config.to_string().contains(&token), "{config}");
            let again = client.get(&files(&path, "discovery.ign")).expect(200);
            assert_eq!(
                again.body, file.body,
                "the token inside is stable, so the bytes are"
            );
        } else {
            assert!(
                !config.to_string().contains("eyJ"),
                "a token is in it, and none is asked for: {config}"
            );
        }
    }
}

#[test]
fn signed_urls_open_what_they_name_and_nothing_else() {
    let (service, client) = with_live_image();
    let anonymous = service.http();
    let (path, other) = (infra_env(&client), infra_env(&client));
    for (file, script_type) in [
        ("discovery.ign", ""),
        ("ipxe-script", ""),
        ("ipxe-script", "&ipxe_script_type=discovery-image-always"),
        ("ipxe-script", "&ipxe_script_type=boot-order-control"),
    ] {
        let query = format!("{path}/downloads/files-presigned?file_name={file}{script_type}");
        let answer = client.get(&query).expect(200).json();
        assert_eq!(answer["expires_at"], "0001-01-01T00:00:00.000Z");
        let url = answer["url"].as_str().unwrap();
        let signed = anonymous.request("GET", &path_of(url), None).expect(200);
        let direct = client
            .get(&format!("{}{script_type}", files(&path, file)))
            .expect(200);
        if file == "discovery.ign" {
            // The pull secret is for the operator only.
            let credentials = "/root/.docker/config.json";
            assert!(direct.text().contains(credentials) && !signed.text().contains(credentials));
        } else {
            assert_eq!(signed.body, direct.body, "{query}");
        }
        anonymous
            .request("GET", &path_of(url).replace(&path, &other), None)
            .expect(404);
        let (bare, _) = path_of(url)
            .split_once('?')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        anonymous
            .request("GET", &format!("{bare}?file_name={file}"), None)
            .expect(401);
    }
    for bad in [
        "",
        "?file_name=secrets",
        "?file_name=static-network-config",
        "?file_name=discovery.ign&ipxe_script_type=boot-order-control",
    ] {
        client
            .get(&format!("{path}/downloads/files-presigned{bad}"))
            .expect(400)
            .error_message();
    }
}

#[test]
fn downloads_offer_bytes_only() {
    let service = Service::start();
    let client = service.http();
    let path = infra_env(&client);
    let file = files(&path, "discovery.ign");
    for accept in [
        "*/*",
        "application/octet-stream",
        "application/*",
        "text/html, application/octet-stream;q=0.5",
        "application/json, */*;q=0.1",
    ] {
        client.with("Accept", accept).get(&file).expect(200);
    }
    for accept in ["application/json", "text/html", "image/*"] {
        for download in [&file, &format!("{path}/downloads/minimal-initrd")] {
            let message = client
                .with("Accept", accept)
                .get(download)
                .expect(400)
                .error_message();
            assert!(message.contains("application/octet-stream"), "{message}");
        }
    }
    // Without `Accept`.
    client.get(&file).expect(200);
    client
        .get(&format!("{path}/downloads/minimal-initrd"))
        .expect(204);
    let network = client.get(&files(&path, "static-network-config")).expect(200);
    assert!(network.body.is_empty());
    for bad in [
        "",
        "?file_name=",
        "?file_name=kernel",
        "?file_name=discovery.ign&ipxe_script_type=boot-order-control",
        "?file_name=ipxe-script&ipxe_script_type=none",
        "?file_name=discovery.ign&discovery_iso_type=floppy",
    ] {
        client
            .get(&format!("{path}/downloads/files{bad}"))
            .expect(400)
            .error_message();
    }
}

/// The URLs in them are tested in `tests/scenarios/rest/downloads.rs`.
#[test]
fn ipxe_scripts_are_of_both_types() {
    let (service, client) = with_live_image();
    let path = infra_env(&client);
    client
        .patch(
            &path,
            &json!({"kernel_arguments": [{"operation": "append", "value": "mine=1"}]}),
        )
        .expect(201);
    let always = client
        .get(&files(
            &path,
            "ipxe-script&ipxe_script_type=discovery-image-always",
        ))
        .expect(200);
    let id = path.trim_start_matches("/infra-envs/");
    assert_eq!(
        always.header("content-disposition"),
        format!("attachment; filename=\"{id}-ipxe-script\"")
    );
    let script = always.text();
    assert!(
        script.starts_with("#!ipxe\n") && script.trim_end().ends_with("boot"),
        "{script}"
    );
    assert!(script.contains("mine=1"), "{script}");
    assert_eq!(
        client.get(&files(&path, "ipxe-script")).expect(200).text(),
        script
    );

    let control = client
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200)
        .text();
    let mut lines = control.lines();
    assert_eq!(lines.next(), Some("#!ipxe"));
    let chained = lines.next().unwrap().strip_prefix("chain ").unwrap();
    assert!(chained.ends_with("&mac=${net0/mac}"), "{chained}");
    let followed = path_of(&chained.replace("${net0/mac}", "02:00:00:00:00:01"));
    assert_eq!(
        service.http().request("GET", &followed, None).expect(200).text(),
        script
    );
    client
        .get(&files(&path, "ipxe-script&mac=nonsense"))
        .expect(400)
        .error_message();
}

#[test]
fn without_a_live_image_everything_else_works_and_says_what_to_do() {
    let service = Service::start();
    let client = service.http();
    let path = infra_env(&client);
    client.get(&files(&path, "discovery.ign")).expect(200);
    client
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200);
    let message = client
        .get(&files(&path, "ipxe-script"))
        .expect(503)
        .error_message();
    let missing = service.world.live_image().display().to_string();
    assert!(
        message.contains("image") && message.contains(&missing),
        "{message}"
    );
    assert_eq!(
        client.request("GET", "/ready", None).expect(200).json()["status"],
        "ready"
    );
}

/// The path with query of a signed URL, below the API's base path, and its end.
fn presigned(operator: &Client, path: &str) -> (String, String) {
    let answer = operator
        .get(&format!(
            "{path}/downloads/files-presigned?file_name=discovery.ign"
        ))
        .expect(200)
        .json();
    let url = answer["url"].as_str().unwrap();
    let (_, below) = url.split_once(muster_api::BASE_PATH).unwrap();
    (
        below.to_owned(),
        answer["expires_at"].as_str().unwrap().to_owned(),
    )
}

/// The token in a signed URL.
fn token_of(url: &str) -> &str {
    let (_, token) = url.split_once("api_key=").unwrap();
    token.split('&').next().unwrap()
}

#[test]
fn a_signed_url_reads_and_nothing_more_and_can_be_revoked() {
    let service = Service::start_with_tokens();
    let operator = service.operator();
    let (path, other) = (infra_env(&operator), infra_env(&operator));
    let anonymous = service.http();
    let (url, expires_at) = presigned(&operator, &path);
    assert_eq!(expires_at, "0001-01-01T00:00:00.000Z");
    assert_eq!(
        presigned(&operator, &path).0,
        url,
        "the same text until it is revoked"
    );
    anonymous.get(&url).expect(200);

    // The token in it gives access to neither another InfraEnv nor the operations of hosts.
    let token = token_of(&url);
    anonymous.get(&format!("{other}?api_key={token}")).expect(404);
    let as_host = service.http().with("X-Secret-Key", token);
    let body = json!({"host_id": host_id(1)});
    as_host.post(&format!("{path}/hosts"), &body).expect(401);

    operator
        .post(&format!("{path}/regenerate-signing-key"), &json!({}))
        .expect(204);
    let message = anonymous.get(&url).expect(401).error_message();
    assert!(message.contains("revoked"), "{message}");
    let (renewed, _) = presigned(&operator, &path);
    assert_ne!(renewed, url);
    anonymous.get(&renewed).expect(200);
    // Running hosts continue: theirs is another token.
    let agent = service.http().with("X-Secret-Key", &service.token(&path));
    agent.post(&format!("{path}/hosts"), &body).expect(201);
}

#[test]
fn a_signed_url_ends_when_its_time_is_over() {
    let lifetime = Duration::from_secs(3600);
    let service = Service::with(Settings {
        url_lifetime: Some(lifetime),
        ..Settings::default()
    });
    let operator = service.operator();
    let path = infra_env(&operator);
    let (url, expires_at) = presigned(&operator, &path);
    let token = token_of(&url);
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let expires_at: Timestamp = expires_at.parse().unwrap();
    assert_eq!(claims["exp"], expires_at.timestamp());
    let anonymous = service.http();
    anonymous.get(&url).expect(200);

    // As if it was made two lifetimes ago.
    let id = path.trim_start_matches("/infra-envs/").parse().unwrap();
    let record = service.run(service.world.record(id));
    let made = now() - 2 * lifetime;
    let ended = service
        .world
        .operations
        .auth
        .url_token(&record, made)
        .token
        .unwrap();
    let message = anonymous
        .get(&url.replace(token, &ended))
        .expect(401)
        .error_message();
    assert!(message.contains("expired"), "{message}");
}
