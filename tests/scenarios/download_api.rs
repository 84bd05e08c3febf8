//! Files and URLs of an InfraEnv. Rules: docs/protocol/rest-behaviour.md#4.1 and §4.2, docs/protocol/ipxe.md.

use muster_api::BASE_PATH;
use muster_tests::artifacts;
use muster_tests::rest::{PULL_SECRET, PULL_SECRET_CREDENTIAL};
use serde_json::{Value, json};
use ureq::http::Uri;

use crate::ask::{Asker, connect, read_to_end, status_of};
use crate::database::{Database, infra_env, on_each_database};

on_each_database!(
    the_ignition_is_valid_and_has_the_override_merged,
    signed_urls_open_what_they_name_and_nothing_else,
    downloads_offer_bytes_only,
    ipxe_scripts_are_of_both_types,
    without_a_live_image_everything_else_works_and_says_what_to_do,
    revoked_urls_are_dead,
);

/// Path and query of a URL.
fn path_of(url: &str) -> String {
    let uri: Uri = url.parse().unwrap();
    uri.path_and_query().unwrap().to_string()
}

fn files(infra_env: &str, query: &str) -> String {
    format!("{infra_env}/downloads/files?file_name={query}")
}

fn the_ignition_is_valid_and_has_the_override_merged(database: Database) {
    for auth in [false, true] {
        let service = database.serve_with(|settings| if auth { settings.auth_local() } else { settings });
        let asker = operator(&service, auth);
        let extra = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/etc/of-the-user", "contents": {"source": "data:,hello"}}]}});
        let body = json!({
            "name": "ignited", "pull_secret": PULL_SECRET, "ignition_config_override": extra.to_string(),
            "ssh_authorized_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b",
        });
        let made = asker.post("/infra-envs", &body).expect(201).json();
        let path = format!("/infra-envs/{}", made["id"].as_str().unwrap());
        let file = asker.get(&files(&path, "discovery.ign")).expect(200);
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
            let again = asker.get(&files(&path, "discovery.ign")).expect(200);
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

/// An asker with the operator's token where one is asked for.
fn operator(service: &crate::database::Served, auth: bool) -> Asker {
    let asker = Asker::of(service);
    if auth {
        asker.with("Authorization", &service.token(None))
    } else {
        asker
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
    let asker = operator(&service, true);
    let nobody = Asker::of(&service);
    let (path, other) = (infra_env(&asker), infra_env(&asker));
    for (file, script_type) in [
        ("discovery.ign", ""),
        ("ipxe-script", ""),
        ("ipxe-script", "&ipxe_script_type=discovery-image-always"),
        ("ipxe-script", "&ipxe_script_type=boot-order-control"),
    ] {
        let query = format!("{path}/downloads/files-presigned?file_name={file}{script_type}");
        let answer = asker.get(&query).expect(200).json();
        assert_eq!(answer["expires_at"], "0001-01-01T00:00:00.000Z");
        let url = answer["url"].as_str().unwrap();
        let signed = nobody.ask("GET", &path_of(url), None).expect(200);
        let direct = asker
            .get(&format!("{}{script_type}", files(&path, file)))
            .expect(200);
        assert_eq!(signed.body, direct.body, "{query}");
        nobody
            .ask("GET", &path_of(url).replace(&path, &other), None)
            .expect(404);
        let (bare, _) = path_of(url)
            .split_once('?')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        nobody
            .ask("GET", &format!("{bare}?file_name={file}"), None)
            .expect(401);
    }
    for bad in [
        "",
        "?file_name=secrets",
        "?file_name=static-network-config",
        "?file_name=discovery.ign&ipxe_script_type=boot-order-control",
    ] {
        asker
            .get(&format!("{path}/downloads/files-presigned{bad}"))
            .expect(400)
            .words();
    }
    let iso = asker
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let iso = iso["url"].as_str().unwrap();
    let boot = Asker::of_boot_listener(&service);
    for listener in [&boot, &nobody] {
        let head = listener.ask("HEAD", &path_of(iso), None).expect(200);
        let length: u64 = head.header("content-length").parse().unwrap();
        assert!(length > 1 << 20, "{length}");
        let part = listener
            .with("Range", "bytes=0-99")
            .ask("GET", &path_of(iso), None)
            .expect(206);
        assert_eq!(part.body.len(), 100);
    }
    let script = nobody
        .ask("GET", &path_of(iso).replace("discovery.iso", "boot.ipxe"), None)
        .expect(200)
        .text();
    assert!(script.starts_with("#!ipxe\n"), "{script}");
    let mistyped = path_of(iso).replace("/boot/", "/boot/x");
    nobody.ask("GET", &mistyped, None).expect(404).words();
    nobody
        .ask("GET", "/byapikey/not.a.token/4.20/x86_64/full.iso", None)
        .expect(401)
        .words();
}

fn downloads_offer_bytes_only(database: Database) {
    let service = database.serve();
    let asker = Asker::of(&service);
    let path = infra_env(&asker);
    let file = files(&path, "discovery.ign");
    for accept in [
        "*/*",
        "application/octet-stream",
        "application/*",
        "text/html, application/octet-stream;q=0.5",
        "application/json, */*;q=0.1",
    ] {
        asker.with("Accept", accept).get(&file).expect(200);
    }
    for accept in ["application/json", "text/html", "image/*"] {
        for download in [&file, &format!("{path}/downloads/minimal-initrd")] {
            let words = asker.with("Accept", accept).get(download).expect(400).words();
            assert!(words.contains("application/octet-stream"), "{words}");
        }
    }
    let no_accept = format!("GET {BASE_PATH}{file} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = read_to_end(&mut connect(service.port(), no_accept.as_bytes()));
    assert_eq!(status_of(&answer), 200, "{answer}");
    asker.get(&format!("{path}/downloads/minimal-initrd")).expect(204);
    let network = asker.get(&files(&path, "static-network-config")).expect(200);
    assert!(network.body.is_empty());
    for bad in [
        "",
        "?file_name=",
        "?file_name=kernel",
        "?file_name=discovery.ign&ipxe_script_type=boot-order-control",
        "?file_name=ipxe-script&ipxe_script_type=none",
        "?file_name=discovery.ign&discovery_iso_type=floppy",
    ] {
        asker
            .get(&format!("{path}/downloads/files{bad}"))
            .expect(400)
            .words();
    }
}

fn ipxe_scripts_are_of_both_types(database: Database) {
    let service = database.serve_with(|settings| settings.auth_local().live_image(&artifacts::live_image()));
    let asker = operator(&service, true);
    let path = infra_env(&asker);
    asker
        .patch(
            &path,
            &json!({"kernel_arguments": [{"operation": "append", "value": "mine=1"}]}),
        )
        .expect(201);
    let always = asker
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
    let boot = Asker::of_boot_listener(&service);
    for url in script
        .split_whitespace()
        .filter(|word| word.starts_with("http://"))
    {
        let head = boot.ask("HEAD", &path_of(url), None).expect(200);
        assert!(
            head.header("content-length").parse::<u64>().unwrap() > 1000,
            "{url}"
        );
    }
    assert_eq!(asker.get(&files(&path, "ipxe-script")).expect(200).text(), script);

    let control = asker
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200)
        .text();
    let mut lines = control.lines();
    assert_eq!(lines.next(), Some("#!ipxe"));
    let chained = lines.next().unwrap().strip_prefix("chain ").unwrap();
    assert!(chained.ends_with("&mac=${net0/mac}"), "{chained}");
    let followed = path_of(&chained.replace("${net0/mac}", "02:00:00:00:00:01"));
    assert_eq!(
        Asker::of(&service).ask("GET", &followed, None).expect(200).text(),
        script
    );
    assert_eq!(
        boot.ask("GET", &followed, None).expect(200).text(),
        script,
        "firmware may ask the boot listener"
    );
    asker
        .get(&files(&path, "ipxe-script&mac=nonsense"))
        .expect(400)
        .words();
}

fn without_a_live_image_everything_else_works_and_says_what_to_do(database: Database) {
    let nothing = std::env::temp_dir().join("muster-there-is-no-such-image.iso");
    let service = database.serve_with(|settings| {
        settings
            .argument("--live-image")
            .argument(nothing.to_str().unwrap())
    });
    let asker = Asker::of(&service);
    let path = infra_env(&asker);
    asker.get(&files(&path, "discovery.ign")).expect(200);
    asker
        .get(&files(&path, "ipxe-script&ipxe_script_type=boot-order-control"))
        .expect(200);
    let iso = asker
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    for answer in [
        asker.ask("GET", &path_of(iso["url"].as_str().unwrap()), None),
        asker.get(&files(&path, "ipxe-script")),
    ] {
        let words = answer.expect(503).words();
        assert!(
            words.contains("image") && words.contains("muster-there-is-no-such-image.iso"),
            "{words}"
        );
    }
    assert_eq!(
        asker.ask("GET", "/ready", None).expect(200).json()["status"],
        "ready"
    );
}

fn revoked_urls_are_dead(database: Database) {
    let service = database.serve_with(|settings| settings.live_image(&artifacts::live_image()));
    let asker = Asker::of(&service);
    let path = infra_env(&asker);
    let url = || {
        let answer = asker
            .get(&format!("{path}/downloads/image-url"))
            .expect(200)
            .json();
        path_of(answer["url"].as_str().unwrap())
    };
    let old = url();
    assert_eq!(url(), old, "a URL stays");
    asker.ask("HEAD", &old, None).expect(200);
    asker
        .ask(
            "POST",
            &format!("{BASE_PATH}{path}/regenerate-signing-key"),
            Some(b"{}"),
        )
        .expect(204);
    let new = url();
    assert_ne!(new, old);
    asker.ask("GET", &old, None).expect(404).words();
    asker.ask("HEAD", &new, None).expect(200);
    asker.delete(&path).expect(204);
    asker.ask("GET", &new, None).expect(404);
}
