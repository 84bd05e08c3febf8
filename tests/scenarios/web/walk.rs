//! An operator signs in, finds a host, changes it and signs out, by the page alone.

use muster_tests::browser::{Browser, Tab};
use muster_tests::database::{Database, Served, on_each_database};
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::Service;
use serde_json::json;

on_each_database!(an_operator_finds_and_changes_a_host_by_the_page);

/// A service that requires tokens, with an operator's token that the browser has.
#[track_caller]
pub fn serve(database: Database) -> (Served, String) {
    let service = database.serve_with(|settings| settings.auth_local());
    let token = service.token(None);
    (service, token)
}

/// The URL of a service, without a path.
pub fn base(service: &Service) -> String {
    format!("http://127.0.0.1:{}", service.port())
}

/// Signs in by a token.
#[track_caller]
pub fn sign_in(tab: &Tab<'_>, service: &Service, token: &str) {
    tab.open(&format!("{}/ui/hosts", base(service)));
    tab.await_text("Token of an operator");
    tab.fill("#token", token);
    tab.click("Sign in");
    tab.await_text("Filter");
}

fn an_operator_finds_and_changes_a_host_by_the_page(database: Database) {
    let (service, token) = serve(database);
    let client = service.http().with_token(&token);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    assert_eq!(tab.path(), "/ui/hosts");
    tab.click("a pool");
    tab.await_text("Make the first pool");
    tab.fill("#name", "rack");
    tab.fill("#pull_secret", PULL_SECRET);
    tab.click("Make the pool");
    tab.click("Fetch the ISO");
    tab.await_text("curl -fLo rack.iso");
    let pool = tab.path().replace("/ui/pools/", "/infra-envs/");
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    // Without a reload.
    tab.await_text("3 hosts");
    tab.click("3 hosts");
    tab.await_text("Filter");

    tab.fill("#q", "serial:SN-2");
    tab.press("Enter");
    tab.await_text("1 host of 3");
    assert_eq!(tab.path(), "/ui/hosts?q=serial%3ASN-2");
    tab.click("host-2");
    tab.await_text("Checks: hardware");
    assert!(tab.text().contains("sda"), "{}", tab.text());

    tab.fill("input[name=value]", "node 2");
    tab.click("Set");
    // In the service's own words.
    tab.await_text("node 2");
    assert!(
        tab.value("!!document.querySelector('[role=alert]')") == true,
        "{}",
        tab.text()
    );
    tab.fill("input[name=value]", "node-2");
    tab.click("Set");
    tab.await_text("muster host set");
    let host = client
        .get(&format!("{pool}/hosts/{}", host_id(2)))
        .expect(200)
        .json();
    assert_eq!(host["requested_hostname"], "node-2");

    tab.click("Delete …");
    tab.value("(() => { document.querySelector('input[name=sure]').checked = true; })()");
    tab.click("Delete the host");
    tab.await_text("The host is deleted.");
    tab.await_text("2 hosts");
    client.get(&format!("{pool}/hosts/{}", host_id(2))).expect(404);

    tab.click("Sign out");
    tab.await_text("Token of an operator");
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("Token of an operator");
    let foreign: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|url| !url.starts_with(&base(&service)) && url != "about:blank")
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    // A refusal is a status that the console names.
    let complaints: Vec<String> = browser
        .complaints()
        .into_iter()
        .filter(|complaint| !complaint.contains("the server responded with a status of 400"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn a_page_follows_what_happens_and_catches_up_after_a_restart() {
    let (mut service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.await_text("1 host");
    tab.await_text("live");
    tab.value("window.mark = 'the same page'");
    known_host(&client, &pool, 2);
    tab.await_text("2 hosts");
    let name = json!({"host_name": "renamed"});
    client
        .patch(&format!("{pool}/hosts/{}", host_id(1)), &name)
        .expect(201);
    tab.await_text("renamed");

    service.kill();
    tab.await_text("not live since");
    service.start_again();
    known_host(&client, &pool, 3);
    tab.await_text("3 hosts");
    tab.await_end_of("not live since");
    assert_eq!(
        tab.value("window.mark"),
        "the same page",
        "nothing was loaded anew"
    );

    // What is typed stays while others change something.
    tab.fill("#q", "model:");
    known_host(&client, &pool, 4);
    tab.await_text("4 hosts");
    assert_eq!(tab.value("document.querySelector('#q').value"), "model:");

    let host = format!("{pool}/hosts/{}", host_id(3));
    tab.click("host-3");
    tab.await_text("Checks: hardware");
    tab.fill("input[name=value]", "typed");
    let role = json!({"host_role": "worker"});
    client.patch(&host, &role).expect(201);
    // The tab has fetched nothing by the time at which another one shows the change.
    let other = browser.tab();
    other.open(&format!("{}{}", base(&service), tab.path()));
    other.await_text("Checks: hardware");
    assert_eq!(
        tab.value("document.querySelector('input[name=value]').value"),
        "typed"
    );
    tab.click("Set");
    tab.await_text("muster host set");

    // The page of a deleted host keeps its content, shows that the host is gone, and requests nothing more.
    client.delete(&host).expect(204);
    tab.await_text("gone");
}

#[test]
fn ten_tabs_have_one_stream_and_all_are_live() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let browser = Browser::start();
    let first = browser.tab();
    sign_in(&first, &service, &token);
    let others: Vec<Tab<'_>> = (0..9).map(|_| browser.tab()).collect();
    for tab in &others {
        tab.open(&format!("{}/ui/hosts", base(&service)));
        tab.await_text("No machine has registered yet");
    }
    known_host(&client, &pool, 1);
    for tab in others.iter().chain([&first]) {
        tab.await_text("1 host");
    }
    let streams = browser
        .requests()
        .into_iter()
        .filter(|url| url.contains("/api/muster/v1/changes"));
    assert_eq!(streams.count(), 1);
}

#[test]
fn events_and_the_overview_follow_what_happens() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.click("Events");
    tab.await_text("As CSV");
    // Without a reload.
    known_host(&client, &pool, 1);
    tab.await_text("host-1");
    tab.click("Overview");
    tab.await_text("1 host");
    known_host(&client, &pool, 2);
    tab.await_text("2 hosts");
}

#[test]
fn a_link_signs_in_once() {
    let (service, token) = serve(Database::Sqlite);
    let printed = service.muster(&["open", "--url", &base(&service), "--token", &token]);
    let link = printed.lines().find(|line| line.starts_with("http")).unwrap();
    let browser = Browser::start();
    let tab = browser.tab();
    // A preview of the link that opens it does not use it up.
    for _ in 0..2 {
        tab.open(link);
        tab.await_text("This link signs in once");
    }
    tab.click("Sign in");
    tab.await_text("There is no pool yet");
    assert_eq!(tab.path(), "/ui/");
    tab.click("Sign out");
    tab.await_text("Token of an operator");
    tab.open(link);
    tab.click("Sign in");
    tab.await_text("this link was used");
}
