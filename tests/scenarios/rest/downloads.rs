//! Images and boot files by the URLs of REST, on both listeners. Rules: docs/protocol/rest-behaviour.md#4.1 and §4.2,
//! docs/protocol/ipxe.md. Downloads from REST itself are in `service/rest/tests/routes/downloads.rs`.

use std::time::Duration;

use muster_api::BASE_PATH;
use muster_tests::artifacts;
use muster_tests::database::{Database, Served, infra_env};
use muster_tests::http::HttpClient;
use muster_tests::service::Settings;
use serde_json::json;

/// A service with tokens and a live image, and a client with the operator's.
fn with_live_image() -> (Served, HttpClient) {
    let service =
        Database::Sqlite.serve_with(|settings| settings.auth_local().live_image(&artifacts::live_image()));
    let operator = service.http().with("Authorization", &service.token(None));
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

/// Path of the ISO of an InfraEnv.
fn iso_of(client: &HttpClient, infra_env: &str) -> String {
    let answer = client.get(&format!("{infra_env}/downloads/image-url"));
    path_of(answer.expect(200).json()["url"].as_str().unwrap())
}

/// Opening a FIFO without a writer takes as long as a file of an unavailable NFS server.
#[test]
fn a_live_image_on_storage_that_hangs_holds_up_nothing_but_itself() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("hangs.iso");
    nix::unistd::mkfifo(&image, nix::sys::stat::Mode::S_IRUSR).unwrap();
    let mut service = Database::Sqlite.serve_with(|settings| settings.live_image(&image));
    let client = service.http().timeout(Duration::from_secs(20));
    let path = infra_env(&client);
    let ready = client.request("GET", "/ready", None).expect(200).json();
    let told = ready["live_image"].as_str().unwrap();
    assert!(told.contains("has not answered"), "{ready}");
    client.get(&files(&path, "discovery.ign")).expect(200);
    let refused = client.request("GET", &iso_of(&client, &path), None);
    let message = refused.expect(503).error_message();
    assert!(message.contains("image"), "{message}");
    // No thread that waits for the storage keeps the process from ending.
    assert!(service.terminate().success());
}

#[test]
fn image_urls_open_on_both_listeners_what_they_name() {
    let (service, client) = with_live_image();
    let anonymous = service.http();
    let iso = iso_of(&client, &infra_env(&client));
    for listener in [&service.boot_http(), &anonymous] {
        let head = listener.request("HEAD", &iso, None).expect(200);
        let length: u64 = head.header("content-length").parse().unwrap();
        assert!(length > 1 << 20, "{length}");
        let part = listener
            .with("Range", "bytes=0-99")
            .request("GET", &iso, None)
            .expect(206);
        assert_eq!(part.body.len(), 100);
    }
    let script = anonymous
        .request("GET", &iso.replace("discovery.iso", "boot.ipxe"), None)
        .expect(200)
        .text();
    assert!(script.starts_with("#!ipxe\n"), "{script}");
    let mistyped = iso.replace("/boot/", "/boot/x");
    anonymous
        .request("GET", &mistyped, None)
        .expect(404)
        .error_message();
}

#[test]
fn tokens_in_image_urls_open_the_image_until_they_are_revoked_or_their_infra_env_is_gone() {
    let (service, client) = with_live_image();
    let anonymous = service.http();
    let beginning = anonymous.with("Range", "bytes=0-99");
    let image = |token: &str| {
        let url = format!("/byapikey/{token}/4.20/x86_64/full.iso");
        beginning.request("GET", &url, None)
    };
    image("not.a.token").expect(401).error_message();
    let path = infra_env(&client);
    let signed = client
        .get(&format!(
            "{path}/downloads/files-presigned?file_name=discovery.ign"
        ))
        .expect(200)
        .json();
    let (_, token) = signed["url"].as_str().unwrap().split_once("api_key=").unwrap();
    let token = token.split('&').next().unwrap();
    image(token).expect(206);
    client
        .post(&format!("{path}/regenerate-signing-key"), &json!({}))
        .expect(204);
    image(token).expect(401);

    let of_agents = service.token(Some(&path));
    image(&of_agents).expect(206);
    client.delete(&path).expect(204);
    image(&of_agents).expect(401);
}

#[test]
fn the_lifetime_of_signed_urls_is_an_option() {
    let service = Database::Sqlite
        .serve_with(|settings: Settings| settings.auth_local().argument("--url-lifetime=3600"));
    let client = service.http().with("Authorization", &service.token(None));
    let path = infra_env(&client);
    let signed = client.get(&format!(
        "{path}/downloads/files-presigned?file_name=discovery.ign"
    ));
    let expires_at = signed.expect(200).json()["expires_at"].to_string();
    assert!(!expires_at.starts_with("\"0001"), "{expires_at}");
}

#[test]
fn ipxe_scripts_of_both_types_lead_to_boot_files() {
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
    let script = always.text();
    assert!(script.contains("mine=1"), "{script}");
    let boot = service.boot_http();
    for url in script
        .split_whitespace()
        .filter(|word| word.starts_with("http://"))
    {
        let head = boot.request("HEAD", &path_of(url), None).expect(200);
        assert!(
            head.header("content-length").parse::<u64>().unwrap() > 1000,
            "{url}"
        );
    }

    let control = client
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200)
        .text();
    let chained = control
        .lines()
        .find_map(|line| line.strip_prefix("chain "))
        .unwrap();
    let followed = path_of(&chained.replace("${net0/mac}", "02:00:00:00:00:01"));
    assert_eq!(
        service.http().request("GET", &followed, None).expect(200).text(),
        script
    );
    assert_eq!(
        boot.request("GET", &followed, None).expect(200).text(),
        script,
        "firmware may ask the boot listener"
    );

    // The short forms, for DHCP.
    let iso = iso_of(&client, &path);
    let short = |file: &str| iso.replace("discovery.iso", file);
    let retrying = boot.request("GET", &short("boot.ipxe"), None).expect(200).text();
    for line in script.lines().skip(1) {
        // It is no failure if there is nothing to free.
        let otherwise = if line == "imgfree" { "" } else { " || goto failed" };
        let wanted = format!("\n{line}{otherwise}\n");
        assert!(
            retrying.replace("?mac=${netX/mac}", "").contains(&wanted),
            "{retrying}"
        );
    }
    assert_eq!(retrying.matches("?mac=${netX/mac}").count(), 2, "{retrying}");
    let control = boot
        .request("GET", &short("boot-order-control.ipxe"), None)
        .expect(200)
        .text();
    let chain = control.lines().find(|line| line.starts_with("chain ")).unwrap();
    let followed = chain
        .trim_end_matches(" ||")
        .replace("${net0/mac}", "52:54:00:00:00:01");
    let followed = path_of(&followed);
    assert_eq!(followed, short("boot.ipxe?mac=52:54:00:00:00:01&installed=exit"));
    assert_eq!(boot.request("GET", &followed, None).expect(200).text(), retrying);
}

#[test]
fn without_a_live_image_the_answer_says_what_to_do() {
    let nothing = std::env::temp_dir().join("muster-there-is-no-such-image.iso");
    let service = Database::Sqlite.serve_with(|settings| {
        settings
            .argument("--live-image")
            .argument(nothing.to_str().unwrap())
    });
    let client = service.http();
    let path = infra_env(&client);
    let answer = client.request("GET", &iso_of(&client, &path), None);
    let message = answer.expect(503).error_message();
    assert!(
        message.contains("image") && message.contains("muster-there-is-no-such-image.iso"),
        "{message}"
    );
}

#[test]
fn revoked_urls_are_dead() {
    let service = Database::Sqlite.serve_with(|settings| settings.live_image(&artifacts::live_image()));
    let client = service.http();
    let path = infra_env(&client);
    let url = || iso_of(&client, &path);
    let old = url();
    assert_eq!(url(), old, "a URL stays");
    client.request("HEAD", &old, None).expect(200);
    client
        .request(
            "POST",
            &format!("{BASE_PATH}{path}/regenerate-signing-key"),
            Some(b"{}"),
        )
        .expect(204);
    let new = url();
    assert_ne!(new, old);
    client.request("GET", &old, None).expect(404).error_message();
    client.request("HEAD", &new, None).expect(200);
    client.delete(&path).expect(204);
    client.request("GET", &new, None).expect(404);
}
