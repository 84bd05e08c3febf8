//! Images that are written to disks: chosen for a host, checked before they are served, served in parts.

use std::path::Path;
use std::time::Duration;

use muster_api::BASE_PATH;
use muster_tests::condition::await_condition;
use muster_tests::database::{Database, Served, infra_env};
use muster_tests::hosts::clusters::{import, known_in};
use muster_tests::http::HttpClient;
use muster_tests::service::Settings;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

/// SHA-256 of 100,000 bytes `x`, as `sha256sum` prints it.
fn digest_of(file: &Path) -> String {
    let printed = muster_tests::process::run(std::process::Command::new("sha256sum").arg(file));
    printed.split_whitespace().next().unwrap().to_owned()
}

fn list(file: &Path, digest: &str) -> String {
    let entry = json!({
        "openshift_version": "4.20", "cpu_architecture": "x86_64", "version": "420.7", "default": true,
        "metal_url": file.display().to_string(), "metal_sha256": digest,
    });
    format!("--os-images=[{entry}]")
}

/// The host number 1, known in a cluster.
fn known(service: &Served) -> (HttpClient, String) {
    let client = service.http();
    let infra_env = infra_env(&client);
    let cluster = import(&client, "day2");
    let host = known_in(&client, &infra_env, 1, &cluster);
    await_condition("the host to be known", SOON, || {
        let seen = client.get(&host).json();
        if seen["status"] == "known" {
            Ok(())
        } else {
            Err(seen["status_info"].to_string())
        }
    });
    (client, host)
}

fn install(client: &HttpClient, host: &str) -> muster_tests::http::Answer {
    client.post(&format!("{host}/actions/install"), &json!({}))
}

#[test]
fn without_an_image_no_installation_begins_and_the_answer_says_what_to_do() {
    let service = Database::Sqlite.serve_with(|settings| settings.argument("--os-images="));
    let (client, host) = known(&service);
    let why = install(&client, &host).expect(409).error_message();
    assert!(why.contains("--os-images") && why.contains("x86_64"), "{why}");
    assert_eq!(client.get(&host).json()["status"], "known", "nothing has begun");
    client
        .get(&format!("{host}/downloads/os-image"))
        .expect(409)
        .error_message();
}

#[test]
fn an_image_is_served_in_parts_once_its_digest_was_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("metal.raw");
    let content: Vec<u8> = (0..300_000_u32)
        .map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1])
        .collect();
    std::fs::write(&file, &content).unwrap();
    let digest = digest_of(&file);
    let service = Database::Sqlite.serve_with(|settings: Settings| settings.argument(&list(&file, &digest)));
    let (client, host) = known(&service);
    await_condition("the image to be checked", SOON, || {
        let answer = install(&client, &host);
        if answer.status == 202 {
            Ok(())
        } else {
            Err(answer.text())
        }
    });
    let steps = client.get(&format!("{host}/instructions")).expect(200).json();
    let step = steps["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["step_type"] == "install");
    let arguments: Value = serde_json::from_str(step.unwrap()["args"][0].as_str().unwrap()).unwrap();
    let path = format!("{host}/downloads/os-image");
    let told = &arguments["os_image"];
    assert!(told["url"].as_str().unwrap().ends_with(&path), "{told}");
    assert_eq!(
        (&told["sha256"], &told["size"], &told["format"], &told["version"]),
        (
            &json!(digest),
            &json!(content.len()),
            &json!("raw"),
            &json!("420.7")
        )
    );
    assert_eq!(arguments["node_agent"], true);

    let whole = client.get(&path).expect(200);
    assert_eq!(whole.body, content);
    let tag = format!("\"{digest}\"");
    assert_eq!(
        (whole.header("etag"), whole.header("accept-ranges")),
        (tag.as_str(), "bytes")
    );
    let head = client
        .request("HEAD", &format!("{BASE_PATH}{path}"), None)
        .expect(200);
    assert_eq!(head.header("content-length"), content.len().to_string());
    let rest = client.with("range", "bytes=100000-");
    let part = rest.with("if-range", &tag).get(&path).expect(206);
    assert_eq!(part.body, content[100_000..]);
    let other = rest.with("if-range", "\"another\"").get(&path).expect(200);
    assert_eq!(
        other.body.len(),
        content.len(),
        "another image is sent from its beginning"
    );
}

#[test]
fn a_file_that_is_not_what_the_list_says_is_never_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("metal.raw");
    std::fs::write(&file, "half a download").unwrap();
    let service =
        Database::Sqlite.serve_with(|settings| settings.argument(&list(&file, &"0".repeat(64))).auth_local());
    let operator = service.http().with_token(&service.token(None));
    let infra_env = infra_env(&operator);
    let client = operator.with("x-secret-key", &service.token(Some(&infra_env)));
    let cluster = import(&client, "day2");
    let host = known_in(&client, &infra_env, 1, &cluster);
    let path = format!("{host}/downloads/os-image");
    await_condition("the file to be checked", SOON, || {
        let answer = client.get(&path);
        if answer.status == 409 {
            Ok(())
        } else {
            Err(answer.text())
        }
    });
    let why = install(&client, &host).expect(409).error_message();
    assert!(why.contains("download it again, or correct the list"), "{why}");
    // Only with credentials.
    service.http().get(&path).expect(401);
    let other = muster_tests::database::infra_env(&operator);
    let foreign = service.http().with("x-secret-key", &service.token(Some(&other)));
    foreign.get(&path).expect(403);
}
