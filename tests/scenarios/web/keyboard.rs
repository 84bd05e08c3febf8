//! Without a mouse and without a screen: the walk of an operator by Tab and Enter, focus that outlives changes, names of all stops, magnified pages.

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Named, Tab};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::HttpClient;
use serde_json::json;

use super::looks::{ordinary_and_hostile_hosts, pages};
use super::walk::{base, serve, sign_in};

/// More stops of Tab than are before anything on a page of three hosts.
const STOPS: usize = 200;

/// True if one sees that something is in focus, and where.
const IS_SEEN: &str = "(() => { const one = document.activeElement; const box = one.getBoundingClientRect();
    return one.matches(':focus-visible') && box.width > 0 && box.bottom > 0 && box.top < innerHeight; })()";

/// Presses Tab until the element with this name is in focus. Each stop before it has a name, too, and is seen.
#[track_caller]
pub fn tab_to(tab: &Tab<'_>, wanted: &str) -> Named {
    let mut passed = Vec::new();
    for _ in 0..STOPS {
        tab.press("Tab");
        let stop = tab.focused();
        let place = format!("{stop:?} on {} behind {passed:?}", tab.path());
        assert!(!stop.name.is_empty(), "no name: {place}");
        assert_eq!(tab.value(IS_SEEN), true, "not seen: {place}");
        if stop.name.trim() == wanted {
            return stop;
        }
        passed.push(stop.name);
    }
    panic!("no stop {wanted:?} on {}: {passed:?}", tab.path());
}

#[test]
fn an_operator_finds_names_and_signs_out_by_keys_alone() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("Token of an operator");
    tab_to(&tab, "Token of an operator");
    tab.write(&token);
    tab.press("Enter");
    tab.await_text("3 hosts");
    tab.await_text("live");

    tab_to(&tab, "Filter");
    tab.write("serial:SN-2");
    tab.await_text("1 host of 3");
    assert_eq!(tab_to(&tab, "host-2").role, "link");
    tab.press("Enter");
    tab.await_text("Checks: hardware");

    tab_to(&tab, "Name");
    tab.write("node-2");
    tab.press("Enter");
    tab.await_text("The host has another name.");
    tab_to(&tab, "Role");
    tab.press("ArrowDown");
    assert_eq!(tab_to(&tab, "Set: Role").role, "button");
    tab.press("Enter");
    tab.await_text("The host has another role.");
    let host = client
        .get(&format!("{pool}/hosts/{}", host_id(2)))
        .expect(200)
        .json();
    assert_eq!(
        (&host["requested_hostname"], &host["role"]),
        (&json!("node-2"), &json!("master"))
    );

    tab_to(&tab, "Events");
    tab.press("Enter");
    tab.await_text("As CSV");
    tab.await_text("node-2");
    tab_to(&tab, "Sign out");
    tab.press("Enter");
    tab.await_text("Token of an operator");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Gives a host another name; returns once the page shows it.
#[track_caller]
fn rename(tab: &Tab<'_>, client: &HttpClient, host: &str, name: &str) {
    client.patch(host, &json!({"host_name": name})).expect(201);
    tab.await_text(name);
}

/// The place in the stream of changes that the page shows.
const REVISION: &str = "document.querySelector('[data-revision]').dataset.revision";

/// Keeps the revision of the page, to compare it with the later one.
#[track_caller]
fn remember_revision(tab: &Tab<'_>) {
    tab.value(&format!("(() => {{ window.before = {REVISION}; }})()"));
}

/// True if the page was updated since [then](remember_revision). Elements that are the same stay.
fn is_fresh(tab: &Tab<'_>) -> bool {
    tab.value(&format!("window.before !== {REVISION}")) == true
}

#[test]
fn an_update_takes_focus_and_place_from_nobody() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let hosts: Vec<String> = (1..=12)
        .map(|number| known_host(&client, &pool, number))
        .collect();
    let browser = Browser::start();
    let tab = browser.tab();
    // The list is longer than the window.
    tab.magnify(4);
    sign_in(&tab, &service, &token);
    tab.await_text("12 hosts");
    tab.await_text("live");

    // A row that does not change.
    let other = format!("document.querySelector('tbody a[href*=\"{}?\"]')", host_id(2));
    tab.value(&format!("(() => {{ window.other = {other}; }})()"));
    // The link of a row that changes itself.
    let link = format!("document.querySelector('tbody a[href*=\"{}?\"]')", host_id(1));
    tab.value(&format!("{link}.focus()"));
    remember_revision(&tab);
    rename(&tab, &client, &hosts[0], "a-first");
    assert!(is_fresh(&tab), "the row is not fresh");
    assert_eq!(tab.value(&format!("document.activeElement === {link}")), true);
    assert_eq!(tab.focused().name, "a-first");
    assert_eq!(tab.value("window.other.isConnected"), true, "a row is made again");

    // The window stays where it was scrolled to.
    let scrolled = || tab.value("scrollY").as_f64().unwrap();
    tab.value("scrollTo(0, 1e6)");
    let below = scrolled();
    assert!(below > 2000.0, "{below}");
    remember_revision(&tab);
    rename(&tab, &client, &hosts[0], "a-second");
    assert!(is_fresh(&tab), "the row is not fresh");
    assert!((scrolled() - below).abs() < 200.0, "{below} {}", scrolled());

    // A table that is scrolled by keys.
    tab.value("document.querySelector('.scroll').focus()");
    remember_revision(&tab);
    rename(&tab, &client, &hosts[1], "b-second");
    assert!(is_fresh(&tab), "the table is not fresh");
    assert_eq!(tab.focused().name, "Table of hosts");

    // What goes leaves the focus to the list.
    let link = format!("document.querySelector('tbody a[href*=\"{}?\"]')", host_id(3));
    tab.value(&format!("{link}.focus()"));
    client.delete(&hosts[2]).expect(204);
    tab.await_end_of("host-3");
    assert_eq!(tab.value("document.activeElement.id"), "list");
}

#[test]
fn an_update_leaves_the_focus_to_the_same_one_of_many_links() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let host = known_host(&client, &pool, 1);
    client.patch(&host, &json!({"host_name": "named"})).expect(201);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.click("Events");
    tab.await_text("As CSV");
    tab.await_text("live");
    let links = format!(
        "[...document.querySelectorAll('#events li a[href$=\"{}\"]')]",
        host_id(1)
    );
    let events = tab.value(&format!("{links}.length")).as_u64().unwrap();
    assert!(events > 1, "{}", tab.text());
    tab.value(&format!("{links}.at(-1).focus()"));
    remember_revision(&tab);
    client.patch(&host, &json!({"host_role": "worker"})).expect(201);
    known_host(&client, &pool, 2);
    tab.await_text("host-2");
    assert!(is_fresh(&tab), "the list is not fresh");
    // The oldest event is still the last one.
    assert_eq!(
        tab.value(&format!(
            "{links}.indexOf(document.activeElement) === {links}.length - 1"
        )),
        true
    );
}

/// 400 % of a window of 1280 pixels, as WCAG 2.2 has it (1.4.10).
#[test]
fn every_stop_has_a_name_and_magnified_pages_fit() {
    let service = Database::Sqlite.serve();
    let pool = ordinary_and_hostile_hosts(&service.http());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.magnify(4);
    for (name, path) in pages(&pool) {
        tab.open(&format!("{}{path}", base(&service)));
        let nameless = tab.nameless();
        assert!(nameless.is_empty(), "{name}: {nameless:?}");
        let wide = tab.wider_than_window();
        assert!(wide.is_empty(), "{name}: {wide}");
        tab.picture(&target_folder().join(format!("web/{name}-magnified.png")));
    }
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("Keys");
    for (key, text) in [("?", "Switch all of them off"), ("Control+k", "Go to a page")] {
        tab.press(key);
        tab.await_text(text);
        let wide = tab.wider_than_window();
        assert!(wide.is_empty(), "{key}: {wide}");
        assert_eq!(
            tab.value("(() => { const one = document.querySelector('dialog[open]'); return one.scrollWidth <= one.clientWidth; })()"),
            true,
            "{key}"
        );
        assert!(tab.nameless().is_empty(), "{key}: {:?}", tab.nameless());
        tab.press("Escape");
        tab.await_end_of(text);
    }
}
