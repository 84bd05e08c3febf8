//! What an operator's token opens, a page shows and changes, and no more; and it ends with the token, though the page is open.

use muster_api::MUSTER_PATH;
use muster_tests::browser::{Browser, Tab};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, Served, on_each_database};
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::HttpClient;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

use crate::web::walk::{base, serve, sign_in};

on_each_database!(a_revoked_token_ends_its_sessions_while_their_pages_are_open);

/// Makes an operator's token with these limits.
#[track_caller]
pub fn token_with(service: &Served, limits: &[&str]) -> String {
    let place = service.token_arguments();
    let mut arguments = vec!["token", "create", "--operator"];
    arguments.extend(limits);
    arguments.extend(place.iter().map(String::as_str));
    service.muster(&arguments).trim().to_owned()
}

/// The path of the page of a host, by its path in REST.
pub fn page_of(host: &str) -> String {
    let ids = host.trim_start_matches("/infra-envs/").replace("/hosts/", "/");
    format!("/ui/hosts/{ids}")
}

/// The id of an InfraEnv, by its path in REST.
pub fn id_of(infra_env: &str) -> &str {
    infra_env.trim_start_matches("/infra-envs/")
}

#[track_caller]
fn revoke(service: &Served, token: &str) {
    let session = format!("{MUSTER_PATH}/session");
    let client = service.http().with_token(token);
    let session = client.request("GET", &session, None).expect(200).json();
    let place = service.token_arguments();
    let mut arguments = vec!["token", "revoke", "--id", session["token_id"].as_str().unwrap()];
    arguments.extend(place.iter().map(String::as_str));
    service.muster(&arguments);
}

/// The name that a user gave a host.
#[track_caller]
pub fn given_name(client: &HttpClient, host: &str) -> Value {
    client.get(host).expect(200).json()["requested_hostname"].clone()
}

/// Waits for the answer to a form.
#[track_caller]
fn await_path(tab: &Tab<'_>, end: &str) {
    await_condition(&format!("a page at {end}"), LEAST_LIMIT, || {
        let path = tab.path();
        match path.ends_with(end) && tab.value("document.readyState") == "complete" {
            true => Ok(()),
            false => Err(path),
        }
    });
}

fn a_revoked_token_ends_its_sessions_while_their_pages_are_open(database: Database) {
    let (service, token) = serve(database);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let host = known_host(&client, &pool, 1);
    let page = format!("{}{}", base(&service), page_of(&host));
    let before = given_name(&client, &host);
    let other = token_with(&service, &["--name", "other"]);
    let browser = Browser::start();
    let (list, typing) = (browser.tab(), browser.tab());
    sign_in(&list, &service, &other);
    list.await_text("1 host");
    typing.open(&page);
    typing.await_text("Checks: hardware");
    typing.fill("input[name=value]", "typed");

    revoke(&service, &other);
    // By itself: nobody touches the page.
    list.await_text("Token of an operator");
    assert_eq!(list.path(), "/ui/sign-in?next=%2Fui%2Fhosts");
    // What is typed stays until it is sent.
    typing.await_text("not live since");
    assert_eq!(
        typing.value("document.querySelector('input[name=value]').value"),
        "typed"
    );
    typing.click("Set");
    typing.await_text("Token of an operator");
    assert_eq!(given_name(&client, &host), before);
    typing.fill("#token", &other);
    typing.click("Sign in");
    typing.await_text("was revoked");

    // Another one leads to the page that was open.
    typing.fill("#token", &token);
    typing.click("Sign in");
    typing.await_text("Checks: hardware");
    assert_eq!(typing.path(), page_of(&host));
    list.open(&format!("{}/ui/hosts", base(&service)));
    list.await_text("1 host");
}

#[test]
fn a_reading_token_shows_everything_and_changes_nothing() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let host = known_host(&client, &pool, 1);
    let before = given_name(&client, &host);
    let reader = token_with(&service, &["--read-only", "--name", "reader"]);
    let printed = service.muster(&["open", "--url", &base(&service), "--token", &reader]);
    let link = printed.lines().find(|line| line.starts_with("http")).unwrap();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(link);
    tab.click("Sign in");
    tab.await_text("This token only reads");
    assert!(tab.text().contains("reader"), "{}", tab.text());

    tab.open(&format!("{}{}", base(&service), page_of(&host)));
    tab.await_text("Checks: hardware");
    tab.await_text("Your token only reads");
    let fields = "[...document.querySelectorAll('#main button, #main input, #main select, #main textarea')]";
    assert_eq!(
        tab.value(&format!(
            "{fields}.length > 3 && {fields}.every((one) => one.matches(':disabled'))"
        )),
        true
    );
    // A page that was open before the token was narrowed, or of somebody who enables it: the service decides.
    tab.value("document.querySelector('fieldset.actions').disabled = false");
    tab.fill("input[name=value]", "theirs");
    tab.click("Set");
    await_path(&tab, "/name");
    tab.await_text("reads and changes nothing");
    assert_eq!(given_name(&client, &host), before);

    tab.open(&format!("{}/ui/pools", base(&service)));
    tab.await_text("rack");
    tab.await_text("Your token only reads");
    tab.click("rack");
    tab.await_text("How to boot a machine");
    let forms = tab.value("[...document.querySelectorAll('#main fieldset')].map((one) => one.disabled)");
    let forms = forms.as_array().unwrap();
    assert!(
        !forms.is_empty() && forms.iter().all(|one| *one == true),
        "{forms:?}"
    );
    tab.click("Sign out");
    tab.await_text("Token of an operator");
}

#[test]
fn a_token_for_one_pool_shows_and_changes_that_pool_alone() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let named = |name: &str| {
        let body = json!({"name": name, "pull_secret": PULL_SECRET});
        let made = client.post("/infra-envs", &body).expect(201).json();
        format!("/infra-envs/{}", made["id"].as_str().unwrap())
    };
    let (own, other) = (named("rack-own"), named("rack-other"));
    let own_host = known_host(&client, &own, 1);
    let other_host = known_host(&client, &other, 2);
    let before = given_name(&client, &other_host);
    let guest = token_with(&service, &["--only", id_of(&own), "--name", "guest"]);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &guest);
    tab.await_text("This token is for one pool");
    let open = |path: &str| tab.open(&format!("{}{path}", base(&service)));
    for (path, shown) in [
        ("/ui/", "1 host"),
        ("/ui/hosts", "host-1"),
        ("/ui/pools", "rack-own"),
        ("/ui/events", "host-1"),
        ("/ui/search?q=host", "host-1"),
    ] {
        open(path);
        tab.await_text(shown);
        let text = tab.text();
        for foreign in ["host-2", "rack-other", id_of(&other)] {
            assert!(!text.contains(foreign), "{path} has {foreign}: {text}");
        }
    }
    for path in [page_of(&other_host), format!("/ui/pools/{}", id_of(&other))] {
        open(&path);
        tab.await_text(&format!("is for InfraEnv {} alone", id_of(&own)));
    }
    open(&page_of(&own_host));
    tab.fill("input[name=value]", "node-1");
    tab.click("Set");
    tab.await_text("muster host set");
    assert_eq!(given_name(&client, &own_host), "node-1");
    assert_eq!(given_name(&client, &other_host), before);

    // What is pushed names nothing of others.
    open("/ui/hosts");
    tab.await_text("1 host");
    for (pool, number) in [(&own, 3), (&other, 4), (&own, 5)] {
        known_host(&client, pool, number);
    }
    tab.await_text("3 hosts");
    await_condition("the last change in the stream", LEAST_LIMIT, || {
        let streamed = browser.streamed();
        let is_last = |(_, data): &(String, String)| data.contains(&host_id(5));
        match streamed.iter().any(is_last) {
            true => Ok(()),
            false => Err(format!("{streamed:?}")),
        }
    });
    let streamed = browser.streamed();
    let is_foreign = |data: &str| data.contains(id_of(&other)) || data.contains(&host_id(4));
    assert!(streamed.iter().all(|(_, data)| !is_foreign(data)), "{streamed:?}");
}
