//! The filter of the list of hosts completes what is typed, shows what fits, and its views outlive a reload.

use muster_tests::browser::Browser;
use muster_tests::database::{Database, Served};
use muster_tests::hosts::plain::{infra_env, known_host};

/// A service with three hosts.
fn serve() -> Served {
    serve_pool().0
}

/// The same, with the path of their InfraEnv.
fn serve_pool() -> (Served, String) {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let pool = infra_env(&client);
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    (service, pool)
}

#[test]
fn typing_completes_and_filters_without_a_new_page() {
    let service = serve();
    let base = format!("http://127.0.0.1:{}", service.port());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("3 hosts");
    tab.value("window.mark = 'the same page'");
    let filter = || tab.value("document.querySelector('#q').value");
    let offered = || {
        tab.value("[...document.querySelectorAll('#completions:not([hidden]) li')].map((one) => one.textContent).join(' ')")
    };

    // Keys, and then the values that hosts have.
    tab.fill("#q", "poo");
    assert_eq!(offered(), "pool:");
    tab.press("Tab");
    assert_eq!((filter(), offered()), ("pool:".into(), "rack".into()));
    tab.press("Escape");
    assert_eq!(offered(), "");
    assert_eq!(filter(), "pool:", "Escape closes the list and nothing else");
    tab.press("ArrowDown");
    tab.press("ArrowDown");
    assert_eq!(
        tab.value("document.querySelector('#q').getAttribute('aria-activedescendant')"),
        "completion-0"
    );
    tab.press("Enter");
    assert_eq!(filter(), "pool:rack ");

    tab.fill("#q", "serial:SN-2");
    tab.await_text("1 host of 3");
    assert_eq!(tab.path(), "/ui/hosts?q=serial%3ASN-2");
    // A filter that is not finished leaves the list as it is.
    tab.fill("#q", "serial:SN-2 cpu:>x");
    tab.await_text("is no number for cpu");
    assert!(tab.text().contains("1 host of 3"), "{}", tab.text());
    assert_eq!(tab.path(), "/ui/hosts?q=serial%3ASN-2");
    // It is not what is typed.
    tab.await_text("not live: the filter cannot be read");
    tab.fill("#q", "cpu:8");
    tab.await_text("3 hosts");
    tab.await_end_of("is no number for cpu");
    tab.await_end_of("not live");
    assert_eq!(tab.value("window.mark"), "the same page");

    // Enter after a word that one host has.
    tab.fill("#q", "SN-3");
    tab.press("Enter");
    tab.await_text("Checks: hardware");
    tab.await_text("host-3");
    let complaints: Vec<String> = browser
        .complaints()
        .into_iter()
        .filter(|complaint| !complaint.contains("the server responded with a status of 400"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn tab_leaves_the_filter_unless_one_completion_is_meant() {
    let service = serve();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("http://127.0.0.1:{}/ui/hosts", service.port()));
    tab.await_text("3 hosts");
    let filter = || tab.value("document.querySelector('#q').value");
    let has_focus = || tab.value("document.activeElement.id === 'q'");
    let first = || tab.value("document.querySelector('#completions:not([hidden]) li')?.textContent");
    // Several keys begin so, and of a value nothing is typed.
    for text in ["s", "pool:"] {
        tab.fill("#q", text);
        assert_ne!(first(), serde_json::Value::Null, "{text}");
        tab.press("Tab");
        assert_eq!((filter(), has_focus()), (text.into(), false.into()), "{text}");
    }
    tab.fill("#q", "s");
    let offered = first();
    tab.press("ArrowDown");
    tab.press("Tab");
    assert_eq!((filter(), has_focus()), (offered, true.into()));
    tab.fill("#q", "pool:r");
    tab.press("Tab");
    assert_eq!((filter(), has_focus()), ("pool:rack ".into(), true.into()));
    tab.fill("#q", "pool:r");
    tab.press("Escape");
    tab.press("Tab");
    assert_eq!((filter(), has_focus()), ("pool:r".into(), false.into()));
}

#[test]
fn a_list_follows_again_when_a_filter_that_cannot_be_read_is_mended() {
    let (service, pool) = serve_pool();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("http://127.0.0.1:{}/ui/hosts?q=modle:x", service.port()));
    tab.await_text("is it model?");
    tab.await_text("not live: the filter cannot be read");
    tab.value("window.mark = 'the same page'");
    tab.fill("#q", "serial:SN-2");
    tab.await_text("1 host of 3");
    tab.await_end_of("not live");
    tab.await_end_of("is it model?");
    assert_eq!(tab.path(), "/ui/hosts?q=serial%3ASN-2");
    known_host(&service.http(), &pool, 4);
    tab.await_text("1 host of 4");
    assert_eq!(tab.value("window.mark"), "the same page");
}

#[test]
fn a_view_that_was_kept_is_there_after_a_reload_until_it_is_removed() {
    let service = serve();
    let base = format!("http://127.0.0.1:{}", service.port());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{base}/ui/hosts?q=serial:SN-2&columns=serial"));
    tab.await_text("1 host of 3");
    tab.click("Keep this view");
    tab.fill("input[name=view]", "<b>mine");
    tab.click("Keep");
    tab.await_text("<b>mine");
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("3 hosts");
    tab.click("<b>mine");
    tab.await_text("1 host of 3");
    assert_eq!(tab.path(), "/ui/hosts?columns=serial&q=serial%3ASN-2");
    assert_eq!(
        tab.value("document.querySelector('#views [aria-current]').textContent"),
        "<b>mine"
    );
    tab.click("×");
    tab.await_end_of("<b>mine");
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("3 hosts");
    assert!(!tab.text().contains("<b>mine"), "{}", tab.text());
}

#[test]
fn without_scripts_the_form_filters_groups_and_chooses_columns() {
    let service = serve();
    let base = format!("http://127.0.0.1:{}", service.port());
    let browser = Browser::start();
    let tab = browser.tab();
    tab.script(false);
    tab.open(&format!("{base}/ui/hosts?columns=cpu,serial"));
    tab.await_text("3 hosts");
    assert!(!tab.text().contains("Keep this view"), "{}", tab.text());
    tab.fill("#q", "serial:SN-2");
    tab.press("Enter");
    tab.await_text("1 host of 3");
    assert_eq!(tab.path(), "/ui/hosts?q=serial%3ASN-2&columns=cpu%2Cserial");
    tab.click("Columns and groups");
    tab.value("document.querySelector('select[name=group]').value = 'switch'");
    tab.click("Show these");
    tab.await_text("Switch: none");
    assert_eq!(
        tab.path(),
        "/ui/hosts?q=serial%3ASN-2&group=switch&columns=cpu%2Cserial"
    );
}
