//! Without JavaScript every page can be read, and every single action be done.

use muster_tests::browser::{Browser, Tab};
use muster_tests::database::Database;
use muster_tests::hosts::clusters::import;
use muster_tests::hosts::plain::{host_id, inventory, register, reply};
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use super::walk::{base, serve, sign_in};

/// Another disk than the first.
const DISK: &str = "/dev/disk/by-id/wwn-sdb";

/// Puts a value into the field of an action, as chosen or typed, and presses its button.
#[track_caller]
fn submit(tab: &Tab<'_>, action: &str, value: &str) {
    let form = format!("document.querySelector('form[action$=\"/{action}\"]')");
    let set = format!(
        "(() => {{ {form}.querySelector('[name=value]').value = {}; }})()",
        json!(value)
    );
    tab.value(&set);
    press(tab, action);
}

/// Presses the button of an action without a field.
#[track_caller]
fn press(tab: &Tab<'_>, action: &str) {
    tab.value(&format!(
        "document.querySelector('form[action$=\"/{action}\"] button').click()"
    ));
}

/// Registers the host number 1, with two disks that can be installed to; returns its path below the API.
#[track_caller]
fn host_with_two_disks(client: &HttpClient, pool: &str) -> String {
    let host = register(client, pool, 1);
    let mut reported = inventory(1);
    reported["disks"][1]["size_bytes"] = 960_000_000_000_u64.into();
    client
        .post(&format!("{host}/instructions"), &reply("inventory", &reported))
        .expect(204);
    host
}

/// Opens every page; none shows what does nothing without scripts.
#[track_caller]
fn read_everything(tab: &Tab<'_>, base: &str, pool_page: &str, host_page: &str) {
    for (path, text) in [
        ("/ui/", "What changed last"),
        ("/ui/hosts", "host-1"),
        ("/ui/hosts?q=serial:SN-1&columns=serial&group=pool", "1 host"),
        ("/ui/hosts?all=1", "this table does not follow changes"),
        ("/ui/events", " registered"),
        ("/ui/events?severity=critical", "No event fits."),
        ("/ui/jobs", "There is no job yet."),
        ("/ui/jobs/plan?which=all&q=&action=role", "Show the plan"),
        ("/ui/bmcs", "Import a table"),
        ("/ui/service", "Who requested which change"),
        ("/ui/search?q=sn-1", "1 record"),
        ("/ui/pools", "rack"),
        (pool_page, "Save the settings"),
        (host_page, "Checks: hardware"),
    ] {
        tab.open(&format!("{base}{path}"));
        tab.await_text(text);
        let shown = tab.text();
        for sign in ["live", "Keys", "Theme", "connecting"] {
            let is_shown = shown.lines().any(|line| line.trim() == sign);
            assert!(
                !is_shown,
                "{sign} on {path} does nothing without scripts: {shown}"
            );
        }
    }
}

#[test]
fn everything_can_be_read_and_done_without_scripts() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.script(false);
    sign_in(&tab, &service, &token);
    tab.click("Pools");
    tab.await_text("Make the first pool");
    tab.fill("#name", "rack");
    tab.fill("#pull_secret", PULL_SECRET);
    tab.click("Make the pool");
    tab.await_text("How to boot a machine");
    let pool_page = tab.path();
    let pool_page = pool_page.split('?').next().unwrap();
    let pool = pool_page.replace("/ui/pools/", "/infra-envs/");
    // The lines are hidden until they are opened, which is the browser's own doing.
    assert!(!tab.text().contains("curl -fLo"), "{}", tab.text());
    tab.click("Fetch the ISO");
    tab.await_text("curl -fLo rack.iso");
    let host = host_with_two_disks(&client, &pool);
    let record = || client.get(&host).expect(200).json();
    let host_page = format!("{}/{}", pool.replace("/infra-envs/", "/ui/hosts/"), host_id(1));

    read_everything(&tab, &base(&service), pool_page, &host_page);

    submit(&tab, "name", "node-1");
    tab.await_text("The host has another name.");
    submit(&tab, "role", "worker");
    tab.await_text("The host has another role.");
    submit(&tab, "labels", "rack=r2");
    tab.await_text("The node gets these labels.");
    submit(&tab, "disk", DISK);
    tab.await_text("The installation goes to another disk.");
    press(&tab, "logs");
    tab.await_text("The logs are requested");
    let changed = record();
    assert_eq!(
        [
            &changed["requested_hostname"],
            &changed["role"],
            &changed["installation_disk_id"]
        ],
        [&json!("node-1"), &json!("worker"), &json!(DISK)]
    );
    let labels: Value = serde_json::from_str(changed["node_labels"].as_str().unwrap()).unwrap();
    assert_eq!(labels, json!({"rack": "r2"}));
    // A refusal stands at its field, which keeps what was typed.
    submit(&tab, "name", "no name");
    tab.await_text("no name");
    assert_eq!(
        tab.value("document.querySelector('form[action$=\"/name\"] input').value"),
        "no name"
    );

    let cluster = import(&client, "edge");
    tab.open(&format!("{}{host_page}", base(&service)));
    tab.await_text("Checks: hardware");
    submit(&tab, "bind", &cluster);
    tab.await_text("The host is bound.");
    assert_eq!(record()["cluster_id"], cluster.as_str());

    tab.click("Delete …");
    tab.value("(() => { document.querySelector('input[name=sure]').checked = true; })()");
    tab.click("Delete the host");
    tab.await_text("The host is deleted.");
    tab.await_text("No machine has registered yet");
    client.get(&host).expect(404);
    tab.open(&format!("{}{pool_page}", base(&service)));
    tab.await_text("Save the settings");
    tab.fill("input[name=additional_ntp_sources]", "192.0.2.1");
    tab.click("Save the settings");
    tab.await_text("The settings are changed");
    let changed = client.get(&pool).expect(200).json();
    assert_eq!(changed["additional_ntp_sources"], "192.0.2.1");
    tab.click("Delete …");
    tab.value("(() => { document.querySelector('input[name=sure]').checked = true; })()");
    tab.click("Delete the pool");
    tab.await_text("The pool is deleted");
    tab.await_text("There is no pool yet");
    client.get(&pool).expect(404);
    tab.click("Sign out");
    tab.await_text("Token of an operator");
}
