//! axe finds no violation of any impact on any page, in both schemes, on a phone and on a screen.

use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::database::Database;

use crate::web::looks::{ordinary_and_hostile_hosts, pages};
use crate::web::walk::{base, serve, sign_in};

/// Pages without content.
const EMPTY: [(&str, &str); 9] = [
    ("empty overview", "/ui/"),
    ("empty hosts", "/ui/hosts"),
    ("empty pools", "/ui/pools"),
    ("empty clusters", "/ui/clusters"),
    ("empty BMCs", "/ui/bmcs"),
    ("empty events", "/ui/events"),
    ("empty links", "/ui/links"),
    ("empty jobs", "/ui/jobs"),
    ("empty service", "/ui/service"),
];

#[test]
fn no_page_has_a_violation() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let base = base(&service);
    let browser = Browser::start();
    let tab = browser.tab();
    let mut found = Vec::new();
    let mut look = |name: &str, path: &str| {
        tab.open(&format!("{base}{path}"));
        found.extend(violations(&tab, name));
    };
    look("sign-in", "/ui/sign-in");
    look("sign-in by a link", "/ui/sign-in?link=used");
    sign_in(&tab, &service, &token);
    for (name, path) in EMPTY {
        look(name, path);
    }
    let pool = ordinary_and_hostile_hosts(&client);
    for (name, path) in pages(&pool) {
        look(name, &path);
    }
    // What a form answers.
    tab.open(&format!("{base}/ui/pools"));
    tab.fill("#name", "rack");
    tab.fill("#pull_secret", "no JSON");
    tab.click("Make the pool");
    tab.await_text("is not JSON");
    found.extend(violations(&tab, "refused pool"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The frame then has a banner and no name.
#[test]
fn no_page_of_a_service_without_tokens_has_a_violation() {
    let service = Database::Sqlite.serve();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("--auth none");
    let found = violations(&tab, "hosts");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The heading is too pale in the light scheme alone.
#[test]
fn a_violation_is_found() {
    let service = Database::Sqlite.serve();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{}/ui/sign-in", base(&service)));
    tab.value("document.documentElement.removeAttribute('lang')");
    tab.value("document.querySelector('h1').style.color = 'lightgrey'");
    let found = violations(&tab, "spoilt").join("\n");
    assert!(found.contains("html-has-lang (serious)"), "{found}");
    let pale = found.lines().filter(|line| line.contains("color-contrast"));
    let pale: Vec<&str> = pale.collect();
    assert!(
        !pale.is_empty() && pale.iter().all(|line| line.starts_with("spoilt, light,")),
        "{found}"
    );
}

/// What axe finds on the page that the tab shows, with the page's name, width and scheme.
#[track_caller]
pub fn violations(tab: &Tab<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (scheme, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        for width in [360, 1440] {
            tab.resize(width, theme);
            let violations = tab.violations();
            found.extend(
                violations
                    .iter()
                    .map(|one| format!("{name}, {scheme}, {width}: {one}")),
            );
        }
    }
    found
}
