//! What pages look like: no width makes them scroll sideways, and hostile texts change no layout. The pictures, below `target/web/`, are for people.

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Theme};
use muster_tests::database::Database;
use muster_tests::hosts::fleet::fleet;
use muster_tests::hosts::plain::{host_id, inventory, known_host, register, reply};
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::json;

use crate::web::walk::base;

/// Texts that break a page which takes them for markup, or for its own direction of writing.
const HOSTILE: &str =
    "<img src=x onerror=alert(1)>\u{202e}\u{2066}{{7*7}}<script>document.title='x'</script>";

/// Hosts with ordinary texts; the next one is hostile.
const ORDINARY: u64 = 12;

#[test]
fn pages_fit_every_width_and_scheme_whatever_hosts_report() {
    let service = Database::Sqlite.serve();
    let pool = ordinary_and_hostile_hosts(&service.http());
    let browser = Browser::start();
    let tab = browser.tab();
    for (name, path) in pages(&pool) {
        for (scheme, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
            for width in [360, 768, 1440] {
                tab.resize(width, theme);
                tab.open(&format!("{}{path}", base(&service)));
                let wide = tab.wider_than_window();
                assert!(wide.is_empty(), "{name} at {width}: {wide}");
                tab.picture(&target_folder().join(format!("web/{name}-{scheme}-{width}.png")));
            }
        }
        assert_ne!(tab.value("document.title"), "x", "{name}");
        assert_eq!(
            tab.value("document.querySelectorAll('img:not([src^=\"/ui/\"]), main script').length"),
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

/// Makes an InfraEnv with known hosts, whose name is hostile as the texts of one of them are. Returns its id.
#[track_caller]
pub fn ordinary_and_hostile_hosts(client: &HttpClient) -> String {
    let body = json!({"name": HOSTILE, "pull_secret": PULL_SECRET});
    let made = client.post("/infra-envs", &body).expect(201).json();
    let id = made["id"].as_str().unwrap();
    let pool = format!("/infra-envs/{id}");
    for number in 1..=ORDINARY {
        known_host(client, &pool, number);
    }
    let number = ORDINARY + 1;
    let hostile = register(client, &pool, number);
    let mut reported = inventory(number);
    reported["system_vendor"] =
        json!({"manufacturer": HOSTILE, "product_name": HOSTILE.repeat(20), "serial_number": HOSTILE});
    reported["disks"][0]["model"] = HOSTILE.into();
    reported["interfaces"][0]["name"] = "eth0<b>".into();
    let report = reply("inventory", &reported);
    client
        .post(&format!("{hostile}/instructions"), &report)
        .expect(204);
    id.to_owned()
}

/// Every page, by a name: its path. `pool`: the id of the InfraEnv with [these hosts](ordinary_and_hostile_hosts).
pub fn pages(pool: &str) -> Vec<(&'static str, String)> {
    let host = |number| format!("/ui/hosts/{pool}/{}", host_id(number));
    vec![
        ("overview", "/ui/".to_owned()),
        ("hosts", "/ui/hosts".to_owned()),
        ("wrong-query", "/ui/hosts?q=modle:x".to_owned()),
        ("no-host-fits", "/ui/hosts?q=cpu:%3E900".to_owned()),
        ("pools", "/ui/pools".to_owned()),
        ("pool", format!("/ui/pools/{pool}")),
        ("host", host(1)),
        ("hostile", host(ORDINARY + 1)),
        ("absent", host(99)),
        ("clusters", "/ui/clusters".to_owned()),
        ("absent-node-pool", "/ui/node-pools/clusters/workers".to_owned()),
        ("logs", format!("/ui/logs/{pool}/{}", host_id(1))),
        ("bmcs", "/ui/bmcs".to_owned()),
        ("events", "/ui/events".to_owned()),
        ("matrix", format!("/ui/matrix/{pool}")),
        ("links", "/ui/links".to_owned()),
        ("timeline", format!("/ui/timeline/{pool}/{}", host_id(1))),
        ("jobs", "/ui/jobs".to_owned()),
        (
            "job-to-plan",
            "/ui/jobs/plan?which=all&q=cpu:8&action=names".to_owned(),
        ),
        ("service", "/ui/service".to_owned()),
        ("search", "/ui/search?q=host".to_owned()),
        ("search-without-words", "/ui/search?q=".to_owned()),
    ]
}

/// `make picture` puts it into the documentation: as a reader sees it who typed the line that `make run` prints.
#[test]
fn the_page_of_simulated_machines_is_drawn() {
    let service = Database::Sqlite.serve();
    // Until they have answered what decides whether they are fit.
    let arguments = "--hosts 20 --infra-env simulated --until-inventory --duration 10s";
    fleet(&service, &arguments.split(' ').collect::<Vec<_>>());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.resize(1440, Theme::Light);
    tab.open(&format!("http://127.0.0.1:{}/ui/hosts", service.port()));
    tab.await_text("20 hosts");
    tab.await_text("live");
    let shown = tab.text();
    for text in ["simulated", "rack000-u03", "tor000-a", "PowerEdge R650"] {
        assert!(shown.contains(text), "no {text} in {shown}");
    }
    tab.picture(&target_folder().join("web/simulated-light-1440.png"));
}
