//! Pages with nothing to show, and pages of what went wrong: each is forced, has its sentence and its next step, and is photographed.

use muster_tests::artifacts::target_folder;
use muster_tests::browser::{Browser, Tab, Theme};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::Database;
use muster_tests::database::postgres::Postgres;
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::service::Settings;
use serde_json::json;

use super::walk::{base, serve};

/// Opens a page, awaits its texts, and keeps pictures of it.
#[track_caller]
fn show(tab: &Tab<'_>, name: &str, url: &str, texts: &[&str]) {
    tab.open(url);
    for text in texts {
        tab.await_text(text);
    }
    photograph(tab, name);
}

/// Keeps pictures of what the tab shows, below `target/web/`.
#[track_caller]
fn photograph(tab: &Tab<'_>, name: &str) {
    for (scheme, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        for width in [360, 1440] {
            tab.resize(width, theme);
            let wide = tab.wider_than_window();
            assert!(wide.is_empty(), "{name} at {width}: {wide}");
            tab.picture(&target_folder().join(format!("web/state-{name}-{scheme}-{width}.png")));
        }
    }
}

/// Waits for the reason of a refusal.
#[track_caller]
fn await_alert(tab: &Tab<'_>) {
    await_condition("a reason", LEAST_LIMIT, || {
        match tab.value("!!document.querySelector('main [role=alert]')") == true {
            true => Ok(()),
            false => Err(tab.text()),
        }
    });
}

/// The address of the first link with this text in the page's own part.
#[track_caller]
fn link(tab: &Tab<'_>, text: &str) -> String {
    let found = tab.value(&format!(
        "[...document.querySelectorAll('main a')].find((one) => one.textContent.trim() === {})?.getAttribute('href')",
        json!(text)
    ));
    let found = found.as_str();
    found
        .unwrap_or_else(|| panic!("no link {text:?}: {}", tab.text()))
        .to_owned()
}

#[test]
fn a_service_without_pools_and_a_pool_without_hosts_lead_on() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let browser = Browser::start();
    let tab = browser.tab();
    let see = |name: &str, path: &str, texts: &[&str]| {
        show(&tab, name, &format!("{}{path}", base(&service)), texts);
    };
    see("overview-without-pools", "/ui/", &["There is no pool yet"]);
    assert_eq!(link(&tab, "Make the first pool"), "/ui/pools");
    see(
        "hosts-without-pools",
        "/ui/hosts",
        &["No machine has registered yet"],
    );
    assert_eq!(link(&tab, "a pool"), "/ui/pools");
    see(
        "pools-without-pools",
        "/ui/pools",
        &["There is no pool yet", "Make the first pool"],
    );
    see(
        "clusters-without-clusters",
        "/ui/clusters",
        &["There is no cluster yet", "Import a cluster"],
    );
    see(
        "events-without-events",
        "/ui/events",
        &["Nothing has happened yet."],
    );
    see("links-without-switches", "/ui/links", &["No switch is known"]);
    see("jobs-without-jobs", "/ui/jobs", &["There is no job yet."]);
    assert_eq!(link(&tab, "the list of hosts"), "/ui/hosts");
    see("bmcs-without-bmcs", "/ui/bmcs", &["There is no BMC yet"]);
    see(
        "service-without-tokens",
        "/ui/service",
        &["None was made yet.", "No change was requested yet."],
    );
    see("search-without-records", "/ui/search?q=rack", &["Nothing fits"]);

    let pool = infra_env(&client);
    let page = pool.replace("/infra-envs/", "/ui/pools/");
    see(
        "overview-without-hosts",
        "/ui/",
        &["Nothing needs you", "No machine has registered yet"],
    );
    see(
        "pool-without-hosts",
        &page,
        &["No machine has registered yet", "How to boot a machine"],
    );
    see(
        "matrix-without-hosts",
        &pool.replace("/infra-envs/", "/ui/matrix/"),
        &["No host is here"],
    );
    see(
        "hosts-without-hosts",
        "/ui/hosts",
        &["No machine has registered yet"],
    );
    // The sentence goes when there is a host.
    known_host(&client, &pool, 1);
    tab.await_text("1 host");
    tab.await_end_of("No machine has registered yet");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn what_nothing_fits_what_is_refused_and_what_is_not_there_are_explained() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    let see = |name: &str, path: &str, texts: &[&str]| {
        show(&tab, name, &format!("{}{path}", base(&service)), texts);
    };
    see(
        "no-host-fits",
        "/ui/hosts?q=cpu:%3E900+serial:SN-1",
        &["No host fits", "Hosts that each term removes"],
    );
    assert_eq!(
        tab.value("[...document.querySelectorAll('.empty tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"),
        json!([["cpu:>900", "1", "1"], ["serial:SN-1", "0", "0"]])
    );
    see(
        "no-host-for-events",
        "/ui/events?host=cpu:%3E900",
        &["No host fits the filter of hosts."],
    );
    see("no-event-fits", "/ui/events?text=nowhere", &["No event fits."]);
    see("nothing-found", "/ui/search?q=nowhere", &["Nothing fits"]);

    see("refused-query", "/ui/hosts?q=modle:x", &["is it model?"]);
    assert_eq!(tab.value("document.querySelector('#q').value"), "modle:x");
    assert_eq!(link(&tab, "Show model:x"), "/ui/hosts?q=model%3Ax");
    see("refused-events", "/ui/events?severity=loud", &["severities"]);

    see(
        "absent-host",
        &format!("{}/{}", pool.replace("/infra-envs/", "/ui/hosts/"), host_id(99)),
        &["404", "To the overview"],
    );
    assert_eq!(link(&tab, "To the overview"), "/ui/");
    see("absent-pool", &format!("/ui/pools/{}", host_id(99)), &["404"]);
    see("absent-job", &format!("/ui/jobs/{}", host_id(99)), &["404"]);
    see(
        "nothing-chosen",
        "/ui/jobs/plan?which=ticked&action=approve",
        &["no host is chosen"],
    );
    see("absent-page", "/ui/nowhere", &["404", "there is no such page"]);
}

#[test]
fn a_refused_sign_in_has_the_reason_and_the_form() {
    let (service, _) = serve(Database::Sqlite);
    let browser = Browser::start();
    let tab = browser.tab();
    let open = format!("{}/ui/sign-in", base(&service));
    show(&tab, "sign-in", &open, &["Token of an operator"]);
    tab.fill("#token", "wrong");
    tab.click("Sign in");
    await_alert(&tab);
    photograph(&tab, "refused-token");
    show(
        &tab,
        "sign-in-by-link",
        &format!("{open}?link=wrong"),
        &["This link signs in once."],
    );
    tab.click("Sign in");
    await_alert(&tab);
    // A token may help where the link does not.
    tab.await_text("Token of an operator");
    photograph(&tab, "refused-link");
}

#[test]
fn a_page_shows_that_the_service_is_away_and_when_it_is_back() {
    let mut service = Database::Sqlite.serve();
    let client = service.http();
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(&format!("{}/ui/hosts", base(&service)));
    let await_state = |state: &str| {
        await_condition(&format!("the state {state:?}"), LEAST_LIMIT, || {
            let seen = tab.value("document.getElementById('live').dataset.state");
            match seen == state {
                true => Ok(()),
                false => Err(seen.to_string()),
            }
        });
    };
    await_state("live");
    service.kill();
    await_state("lost");
    tab.await_text("not live since");
    assert!(
        tab.text().contains("host-1"),
        "what was there stays: {}",
        tab.text()
    );
    photograph(&tab, "away");
    service.start_again();
    await_state("live");
    tab.await_end_of("not live since");
}

#[test]
fn a_service_whose_database_is_away_answers_with_the_reason() {
    let mut cluster = Postgres::start();
    let settings = Settings::on_address("127.0.0.1").without_live_image();
    let service = settings.database(&cluster.create_database()).start();
    let client = service.http();
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    let browser = Browser::start();
    let tab = browser.tab();
    let hosts = format!("{}/ui/hosts", base(&service));
    tab.open(&hosts);
    tab.await_text("1 host");
    tab.value("window.mark = 'the same page'");
    cluster.stop();
    let other = browser.tab();
    show(
        &other,
        "unavailable",
        &format!("{}{}", base(&service), pool.replace("/infra-envs/", "/ui/pools/")),
        &["503", "To the overview"],
    );
    // A page that was there stays, and goes on when the database is back.
    assert!(tab.text().contains("host-1"), "{}", tab.text());
    cluster.start_again();
    await_condition("the service to take a host", LEAST_LIMIT, || {
        match client.get(&pool).status {
            200 => Ok(()),
            status => Err(status.to_string()),
        }
    });
    known_host(&client, &pool, 2);
    tab.await_text("2 hosts");
    assert_eq!(tab.value("window.mark"), "the same page");
}
