//! What pages look like: no width makes them scroll sideways, and hostile texts change no layout. The pictures, below `target/web/`, are for people.

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Theme};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{host_id, inventory, known_host, register, reply};
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

/// Texts that break a page which takes them for markup, or for its own direction of writing.
const HOSTILE: &str =
    "<img src=x onerror=alert(1)>\u{202e}\u{2066}{{7*7}}<script>document.title='x'</script>";

#[test]
fn pages_fit_every_width_and_scheme_whatever_hosts_report() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let body = json!({"name": HOSTILE, "pull_secret": PULL_SECRET});
    let pool = client.post("/infra-envs", &body).expect(201).json();
    let pool = format!("/infra-envs/{}", pool["id"].as_str().unwrap());
    for number in 1..=12 {
        known_host(&client, &pool, number);
    }
    let hostile = register(&client, &pool, 13);
    let mut reported = inventory(13);
    reported["system_vendor"] =
        json!({"manufacturer": HOSTILE, "product_name": HOSTILE.repeat(20), "serial_number": HOSTILE});
    reported["disks"][0]["model"] = HOSTILE.into();
    reported["interfaces"][0]["name"] = "eth0<b>".into();
    client
        .post(&format!("{hostile}/instructions"), &reply("inventory", &reported))
        .expect(204);

    let base = format!("http://127.0.0.1:{}", service.port());
    let host = |number| {
        format!(
            "/ui/hosts/{}/{}",
            pool.trim_start_matches("/infra-envs/"),
            host_id(number)
        )
    };
    let pages = [
        ("overview", "/ui/".to_owned()),
        ("events", "/ui/events".to_owned()),
        ("hosts", "/ui/hosts".to_owned()),
        ("wrong-query", "/ui/hosts?q=modle:x".to_owned()),
        ("no-host-fits", "/ui/hosts?q=cpu:%3E900".to_owned()),
        ("pools", "/ui/pools".to_owned()),
        (
            "pool",
            format!("/ui/pools/{}", pool.trim_start_matches("/infra-envs/")),
        ),
        ("host", host(1)),
        ("hostile", host(13)),
        ("absent", host(99)),
    ];
    let browser = Browser::start();
    let tab = browser.tab();
    for (name, path) in pages {
        for (scheme, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
            for width in [360, 768, 1440] {
                tab.resize(width, theme);
                tab.open(&format!("{base}{path}"));
                let wide = tab.wider_than_window();
                assert!(wide.is_empty(), "{name} at {width}: {wide}");
                tab.picture(&target_folder().join(format!("web/{name}-{scheme}-{width}.png")));
            }
        }
        assert_ne!(tab.value("document.title"), "x", "{name}");
        assert_eq!(
            tab.value("document.querySelectorAll('img, main script').length"),
            0,
            "{name}"
        );
    }
    let blocked: Vec<String> = browser
        .complaints()
        .into_iter()
        .filter(|complaint| !complaint.contains("the server responded with a status of"))
        .collect();
    assert!(blocked.is_empty(), "{blocked:#?}");
}
