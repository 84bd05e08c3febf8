//! The service, its database or the network goes while a page is open. The page shows since when it is not live, and catches up by itself:
//! nothing is lost or doubled, nobody signs in again.

use muster_tests::browser::{Browser, Tab};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::postgres::Postgres;
use muster_tests::database::{Database, on_each_database};
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::process::Signal;
use muster_tests::service::balancer::Balancer;
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};

use crate::web::sessions::page_of;
use crate::web::walk::{base, serve, sign_in};

on_each_database!(pages_catch_up_after_kills);

const KILLS: u64 = 3;

/// Marks the page that a tab shows: the mark goes when it is loaded again.
fn mark(tab: &Tab<'_>) {
    tab.value("window.mark = 'the same page'");
}

#[track_caller]
fn assert_same_page(tab: &Tab<'_>) {
    assert_eq!(
        tab.value("window.mark"),
        "the same page",
        "{} was loaded again",
        tab.path()
    );
}

#[track_caller]
fn await_value(tab: &Tab<'_>, what: &str, expression: &str, expected: &Value) {
    await_condition(what, LEAST_LIMIT, || {
        let seen = tab.value(expression);
        match seen == *expected {
            true => Ok(()),
            false => Err(format!("{seen}, on {}", tab.text())),
        }
    });
}

/// Waits until the list has the hosts 1 to `last`, each once.
#[track_caller]
fn await_hosts(tab: &Tab<'_>, last: u64) {
    let names: Vec<String> = (1..=last).map(|number| format!("host-{number}")).collect();
    let shown = "[...document.querySelectorAll('#list tbody th')].map((one) => one.textContent)";
    await_value(tab, &format!("{last} hosts in the list"), shown, &json!(names));
}

/// Waits until the events have the registrations of the hosts 1 to `last`, each once.
#[track_caller]
fn await_registrations(tab: &Tab<'_>, last: u64) {
    let ids: Vec<String> = (1..=last).map(host_id).collect();
    let shown = "[...document.querySelectorAll('#events li')]
        .map((one) => one.textContent.match(/Host (\\S+) registered/)?.[1]).filter((id) => id).sort()";
    await_value(tab, &format!("{last} registrations"), shown, &json!(ids));
}

#[track_caller]
fn await_live(tab: &Tab<'_>) {
    let sign = "document.getElementById('live')?.dataset.state";
    await_value(tab, "a page that is live", sign, &json!("live"));
}

/// The number of events of the stream with this name.
fn streamed(browser: &Browser, name: &str) -> usize {
    let all = browser.streamed();
    all.iter().filter(|(event, _)| event == name).count()
}

/// Waits until the stream has led to so many fetches of everything.
#[track_caller]
fn await_resets(browser: &Browser, least: usize) {
    await_condition("a reset of the stream", LEAST_LIMIT, || {
        match streamed(browser, "reset") {
            resets if resets >= least => Ok(()),
            resets => Err(format!("{resets} of {least}")),
        }
    });
}

#[track_caller]
fn await_ready(service: &Service) {
    await_condition("the service to be ready", LEAST_LIMIT, || {
        service.client().is_ready().map_err(|error| error.to_string())
    });
}

/// A replica that requires tokens, on that database.
#[track_caller]
fn replica(url: &str) -> Service {
    Settings::on_address("127.0.0.1")
        .without_live_image()
        .without_kube_api()
        .auth_local()
        .database(url)
        .start()
}

fn pages_catch_up_after_kills(database: Database) {
    let (mut service, token) = serve(database);
    let pool = infra_env(&service.http().with_token(&token));
    // Connections of a killed service are not used again.
    let register = |service: &Service, number| {
        known_host(&service.http().with_token(&token), &pool, number);
    };
    register(&service, 1);
    let browser = Browser::start();
    let (hosts, events) = (browser.tab(), browser.tab());
    sign_in(&hosts, &service, &token);
    events.open(&format!("{}/ui/events", base(&service)));
    await_hosts(&hosts, 1);
    await_registrations(&events, 1);
    await_live(&hosts);
    await_live(&events);
    mark(&hosts);
    mark(&events);
    for (kill, number) in (1..=KILLS).map(|kill| (kill, 2 * kill)) {
        // A moment before: the page may have seen it or not.
        register(&service, number);
        service.kill();
        hosts.await_text("not live since");
        events.await_text("not live since");
        service.start_again();
        register(&service, number + 1);
        await_hosts(&hosts, number + 1);
        await_registrations(&events, number + 1);
        await_live(&hosts);
        await_live(&events);
        await_resets(&browser, usize::try_from(kill).unwrap());
    }
    assert_same_page(&hosts);
    assert_same_page(&events);
}

#[test]
fn a_page_outlasts_a_database_that_is_away() {
    let mut cluster = Postgres::start();
    let service = replica(&cluster.create_database());
    let token = service.client().token().unwrap();
    let client = service.http().with_token(token);
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let (tab, other) = (browser.tab(), browser.tab());
    sign_in(&tab, &service, token);
    await_hosts(&tab, 1);
    tab.await_text("Keys");
    await_live(&tab);
    mark(&tab);

    cluster.stop();
    // At once, in place of the next look.
    tab.press(".");
    tab.await_text("not live since");
    await_hosts(&tab, 1);
    // The session cannot be looked up, and has not ended.
    other.open(&format!("{}/ui/hosts", base(&service)));
    other.await_text("503");
    other.await_text("loaded again by itself");
    assert_eq!(other.path(), "/ui/hosts");

    cluster.start_again();
    await_ready(&service);
    known_host(&client, &pool, 2);
    await_hosts(&tab, 2);
    await_live(&tab);
    await_resets(&browser, 1);
    assert_same_page(&tab);
    await_hosts(&other, 2);
}

#[test]
fn a_page_at_one_replica_shows_what_another_changes_and_moves_to_it() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let (mut one, two) = (replica(&url), replica(&url));
    let token = one.client().token().unwrap().to_owned();
    let pool = infra_env(&one.http().with_token(&token));
    let at_two = two.http().with_token(&token);
    let balancer = Balancer::start();
    balancer.add(one.port());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("http://127.0.0.1:{}/ui/hosts", balancer.port()));
    tab.await_text("Token of an operator");
    tab.fill("#token", &token);
    tab.click("Sign in");
    tab.await_text("No machine has registered yet");
    await_live(&tab);
    mark(&tab);
    known_host(&at_two, &pool, 1);
    await_hosts(&tab, 1);

    one.kill();
    tab.await_text("not live since");
    known_host(&at_two, &pool, 2);
    balancer.add(two.port());
    await_hosts(&tab, 2);
    await_live(&tab);
    // The second one has not the first one's numbers.
    await_resets(&browser, 1);

    one.start_again();
    known_host(&one.http().with_token(&token), &pool, 3);
    await_hosts(&tab, 3);
    assert_same_page(&tab);
}

/// As after a computer slept: no end of a connection is seen.
#[test]
fn a_connection_that_went_silent_is_noticed() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    await_hosts(&tab, 1);
    await_live(&tab);
    mark(&tab);
    service.signal(Signal::SIGSTOP);
    tab.await_text("not live since");
    service.signal(Signal::SIGCONT);
    // Connections that were kept have become too old meanwhile.
    known_host(&service.http().with_token(&token), &pool, 2);
    await_hosts(&tab, 2);
    await_live(&tab);
    assert_same_page(&tab);
}

#[test]
fn the_page_of_a_deleted_host_keeps_its_sign() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let host = known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.open(&format!("{}{}", base(&service), page_of(&host)));
    tab.await_text("Checks: hardware");
    await_live(&tab);
    client.delete(&host).expect(204);
    tab.await_text("gone: this page");
    let before = streamed(&browser, "alive");
    await_condition("a sign of life of the stream", LEAST_LIMIT, || {
        match streamed(&browser, "alive") {
            now if now > before => Ok(()),
            now => Err(now.to_string()),
        }
    });
    assert!(tab.text().contains("gone: this page"), "{}", tab.text());
}
