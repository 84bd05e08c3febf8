//! Lists, pages and records by keys alone, and the theme that was chosen.

use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use serde_json::Value;

use super::walk::{base, serve, sign_in};

/// The text of what is in focus.
fn focused(tab: &Tab<'_>) -> Value {
    tab.value("document.activeElement.textContent.trim()")
}

/// Waits until the keys of a page act.
fn await_keys(tab: &Tab<'_>) {
    tab.await_text("Keys");
}

#[test]
fn a_list_is_walked_and_everything_is_reached_by_keys() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    tab.await_text("3 hosts");
    await_keys(&tab);
    let walk = [
        ("j", "host-1"),
        ("j", "host-2"),
        ("j", "host-3"),
        ("j", "host-3"),
        ("k", "host-2"),
    ];
    for (key, host) in walk {
        tab.press(key);
        assert_eq!(focused(&tab), host, "{key}");
    }
    // A letter is text in a field. All hosts have this one, so the list stays as it is.
    tab.press("/");
    assert_eq!(tab.value("document.activeElement.id"), "q");
    tab.press("h");
    assert_eq!(tab.value("document.querySelector('#q').value"), "h");
    tab.value("document.querySelector('#q').value = ''; document.activeElement.blur()");
    // From the row that was in focus last.
    tab.press("j");
    assert_eq!(focused(&tab), "host-3");
    tab.press("Enter");
    tab.await_text("Checks: hardware");
    assert!(tab.path().contains(&host_id(3)), "{}", tab.path());

    await_keys(&tab);
    tab.press("]");
    assert_eq!(tab.value("document.activeElement.tagName"), "SECTION");
    tab.press("g");
    tab.press("p");
    tab.await_text("Make a pool");
    assert_eq!(tab.path(), "/ui/pools");

    await_keys(&tab);
    tab.press("Control+k");
    tab.await_text("Go to a page");
    // Pages first, by a part of the name.
    tab.fill("#palette-text", "ost");
    tab.await_text("host-3");
    assert_eq!(
        tab.value("document.querySelector('#palette-hits [aria-selected=true] .name').textContent"),
        "Hosts"
    );
    tab.press("ArrowDown");
    assert_eq!(
        tab.value("document.querySelector('#palette-hits [aria-selected=true] .name').textContent"),
        "host-1"
    );
    // Enter at once, as a scanner types it.
    tab.fill("#palette-text", "0200.0000.0002");
    tab.press("Enter");
    tab.await_text("Checks: hardware");
    assert!(tab.path().ends_with(&host_id(2)), "{}", tab.path());
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn keys_can_be_switched_off_and_stay_off() {
    let (service, token) = serve(Database::Sqlite);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    await_keys(&tab);
    tab.press("?");
    tab.await_text("Switch all of them off");
    // Not while a dialog is open.
    tab.press("g");
    tab.press("p");
    assert_eq!(tab.path(), "/ui/hosts");
    tab.value("document.getElementById('keys-off').click()");
    tab.click("Close");
    tab.await_end_of("Switch all of them off");
    for _ in 0..2 {
        tab.press("g");
        tab.press("p");
        tab.press("Control+k");
        tab.await_text("Go to a page");
        assert_eq!(tab.path(), "/ui/hosts");
        tab.open(&format!("{}/ui/hosts", base(&service)));
        await_keys(&tab);
    }
    tab.click("Keys");
    tab.await_text("Switch all of them off");
    tab.value("document.getElementById('keys-off').click()");
    tab.click("Close");
    tab.press("g");
    tab.press("p");
    tab.await_text("Make the first pool");
}

#[test]
fn the_box_finds_without_scripts() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    for number in 1..=2 {
        known_host(&client, &pool, number);
    }
    let browser = Browser::start();
    let tab = browser.tab();
    tab.script(false);
    sign_in(&tab, &service, &token);
    tab.fill("#find", "sn-2");
    tab.press("Enter");
    tab.await_text("1 record");
    tab.click("host-2");
    tab.await_text("Checks: hardware");
    assert!(tab.path().ends_with(&host_id(2)), "{}", tab.path());
}

#[test]
fn the_theme_that_was_chosen_stays() {
    let (service, token) = serve(Database::Sqlite);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.resize(1440, Theme::Light);
    sign_in(&tab, &service, &token);
    await_keys(&tab);
    let back = || tab.value("getComputedStyle(document.body).backgroundColor");
    let choose = |theme: &str| {
        tab.value(&format!(
            "(() => {{ const one = document.getElementById('theme'); one.value = '{theme}'; one.dispatchEvent(new Event('change')); }})()"
        ));
    };
    let light = back();
    choose("dark");
    let dark = back();
    assert_ne!(light, dark);
    tab.open(&format!("{}/ui/pools", base(&service)));
    assert_eq!(back(), dark);
    assert_eq!(tab.value("document.getElementById('theme').value"), "dark");
    choose("system");
    assert_eq!(back(), light);
    tab.resize(1440, Theme::Dark);
    assert_eq!(back(), dark);
    choose("light");
    assert_eq!(back(), light);
}
