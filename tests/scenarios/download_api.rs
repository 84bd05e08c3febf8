//! Files and URLs of an InfraEnv. Rules: docs/protocol/rest-behaviour.md#4.1 and §4.2, docs/protocol/ipxe.md.

use std::time::Duration;

use muster_api::BASE_PATH;
use muster_tests::artifacts;
use muster_tests::rest::{PULL_SECRET, PULL_SECRET_CREDENTIAL};
use serde_json::{Value, json};

use crate::database::{Database, infra_env, on_each_database};
use crate::raw_http::{connect, read_to_end, status_of};
use muster_tests::http::HttpClient;

on_each_database!(
    the_ignition_is_valid_and_has_the_override_merged,
    signed_urls_open_what_they_name_and_nothing_else,
    downloads_offer_bytes_only,
    ipxe_scripts_are_of_both_types,
    without_a_live_image_everything_else_works_and_says_what_to_do,
    revoked_urls_are_dead,
);

/// A FIFO that nobody writes to is opened as slowly as a file of an NFS server that is away.
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
    let iso = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let refused = client.request("GET", &path_of(iso["url"].as_str().unwrap()), None);
    let message = refused.expect(503).error_message();
    assert!(message.contains("image"), "{message}");
    // No thread that waits for the storage keeps the process from ending.
    assert!(service.terminate().success());
}

/// Path and query of a URL.
fn path_of(url: &str) -> String {
    let (_, after_scheme) = url.split_once("://").unwrap();
    after_scheme[after_scheme.find('/').unwrap()..].to_owned()
}

fn files(infra_env: &str, query: &str) -> String {
    format!("{infra_env}/downloads/files?file_name={query}")
}

fn the_ignition_is_valid_and_has_the_override_merged(database: Database) {
    for auth in [false, true] {
        let service = database.serve_with(|settings| if auth { settings.auth_local() } else { settings });
        let client = operator(&service, auth);
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
            let token = service.token(Some(&path));
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

/// An client with the operator's token where one is asked for.
fn operator(service: &crate::database::Served, auth: bool) -> HttpClient {
    let client = service.http();
    if auth {
        client.with("Authorization", &service.token(None))
    } else {
        client
    }
}

/// The JSON inside a `data:` URL with base64.
fn decoded(url: &str) -> Value {
    let (head, data) = url.split_once(',').unwrap();
    assert!(head.ends_with(";base64"), "{url}");
    let decoder = "import base64,sys; sys.stdout.buffer.write(base64.b64decode(sys.argv[1]))";
    let text = muster_tests::process::run(std::process::Command::new("python3").args(["-c", decoder, data]));
    serde_json::from_str(&text).unwrap()
}

fn signed_urls_open_what_they_name_and_nothing_else(database: Database) {
    let service = database.serve_with(|settings| settings.auth_local().live_image(&artifacts::live_image()));
    let client = operator(&service, true);
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
            // The pull secret is for the operator alone.
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
    let iso = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let iso = iso["url"].as_str().unwrap();
    let boot = service.boot_http();
    for listener in [&boot, &anonymous] {
        let head = listener.request("HEAD", &path_of(iso), None).expect(200);
        let length: u64 = head.header("content-length").parse().unwrap();
        assert!(length > 1 << 20, "{length}");
        let part = listener
            .with("Range", "bytes=0-99")
            .request("GET", &path_of(iso), None)
            .expect(206);
        assert_eq!(part.body.len(), 100);
    }
    let script = anonymous
        .request("GET", &path_of(iso).replace("discovery.iso", "boot.ipxe"), None)
        .expect(200)
        .text();
    assert!(script.starts_with("#!ipxe\n"), "{script}");
    let mistyped = path_of(iso).replace("/boot/", "/boot/x");
    anonymous
        .request("GET", &mistyped, None)
        .expect(404)
        .error_message();
    anonymous
        .request("GET", "/byapikey/not.a.token/4.20/x86_64/full.iso", None)
        .expect(401)
        .error_message();
}

fn downloads_offer_bytes_only(database: Database) {
    let service = database.serve();
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
    let no_accept = format!("GET {BASE_PATH}{file} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = read_to_end(&mut connect(service.port(), no_accept.as_bytes()));
    assert_eq!(status_of(&answer), 200, "{answer}");
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

fn ipxe_scripts_are_of_both_types(database: Database) {
    let service = database.serve_with(|settings| settings.auth_local().live_image(&artifacts::live_image()));
    let client = operator(&service, true);
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
    assert_eq!(
        boot.request("GET", &followed, None).expect(200).text(),
        script,
        "firmware may ask the boot listener"
    );
    client
        .get(&files(&path, "ipxe-script&mac=nonsense"))
        .expect(400)
        .error_message();

    // The short forms, for DHCP.
    let iso = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let short = |file: &str| path_of(iso["url"].as_str().unwrap()).replace("discovery.iso", file);
    let retrying = boot.request("GET", &short("boot.ipxe"), None).expect(200).text();
    for line in script.lines().skip(1) {
        let wanted = format!("\n{line} || goto failed\n");
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

fn without_a_live_image_everything_else_works_and_says_what_to_do(database: Database) {
    let nothing = std::env::temp_dir().join("muster-there-is-no-such-image.iso");
    let service = database.serve_with(|settings| {
        settings
            .argument("--live-image")
            .argument(nothing.to_str().unwrap())
    });
    let client = service.http();
    let path = infra_env(&client);
    client.get(&files(&path, "discovery.ign")).expect(200);
    client
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200);
    let iso = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    for answer in [
        client.request("GET", &path_of(iso["url"].as_str().unwrap()), None),
        client.get(&files(&path, "ipxe-script")),
    ] {
        let message = answer.expect(503).error_message();
        assert!(
            message.contains("image") && message.contains("muster-there-is-no-such-image.iso"),
            "{message}"
        );
    }
    assert_eq!(
        client.request("GET", "/ready", None).expect(200).json()["status"],
        "ready"
    );
}

fn revoked_urls_are_dead(database: Database) {
    let service = database.serve_with(|settings| settings.live_image(&artifacts::live_image()));
    let client = service.http();
    let path = infra_env(&client);
    let url = || {
        let answer = client
            .get(&format!("{path}/downloads/image-url"))
            .expect(200)
            .json();
        path_of(answer["url"].as_str().unwrap())
    };
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
