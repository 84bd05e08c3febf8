//! One action for many hosts: chosen in the list, planned, run as a job that pages follow, ended, and done again where it failed.

use muster_api::MUSTER_PATH;
use muster_tests::browser::{Browser, Tab};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, Served};
use muster_tests::hosts::fleet::fleet;
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use muster_tests::http::HttpClient;
use serde_json::{Value, json};

use super::walk::base;

/// Simulated hosts of the large job.
const HOSTS: u64 = 300;

/// Attempts to end a job before it has ended by itself.
const ATTEMPTS: usize = 8;

/// A service without tokens, with known hosts in one pool; returns its path, too.
#[track_caller]
pub fn serve_hosts(count: u64) -> (Served, String) {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let pool = infra_env(&client);
    for number in 1..=count {
        known_host(&client, &pool, number);
    }
    (service, pool)
}

/// Opens the list of hosts, of which there are so many, and awaits its script.
#[track_caller]
pub fn open_list(tab: &Tab<'_>, service: &Served, hosts: &str) {
    tab.open(&format!("{}/ui/hosts", base(service)));
    tab.await_text(hosts);
    await_condition("ticks that act", LEAST_LIMIT, || {
        match tab.value("!document.getElementById('all-but')") == true {
            true => Ok(()),
            false => Err(tab.text()),
        }
    });
}

/// Clicks the tick of a row, from 0.
#[track_caller]
pub fn tick(tab: &Tab<'_>, row: usize) {
    tab.value(&format!(
        "document.querySelectorAll('#list .tick')[{row}].click()"
    ));
}

/// Chooses the action and requests its page.
#[track_caller]
pub fn choose(tab: &Tab<'_>, action: &str) {
    tab.value(&format!(
        "(() => {{ document.querySelector('#many select').value = {}; }})()",
        json!(action)
    ));
    tab.click("Plan …");
}

/// Types labels on the page of the action, and requests the plan.
#[track_caller]
pub fn plan_labels(tab: &Tab<'_>, labels: &str) {
    tab.await_text("Node labels");
    tab.fill("#value-labels", labels);
    tab.click("Show the plan");
}

/// The number of hosts that fit a query.
#[track_caller]
pub fn fit(client: &HttpClient, query: &str) -> u64 {
    let path = format!("{MUSTER_PATH}/hosts?q={query}&limit=1");
    let found = client.request("GET", &path, None).expect(200).json();
    found["total"].as_u64().unwrap_or_default()
}

/// Waits until the job that the tab shows has ended; returns the words for its state.
#[track_caller]
pub fn await_end(tab: &Tab<'_>) -> String {
    await_condition("the end of the job", LEAST_LIMIT, || {
        let state = tab.value("document.querySelector('#job [role=status]')?.textContent.trim()");
        match state.as_str() {
            Some(state @ ("finished" | "cancelled" | "stopped")) => Ok(state.to_owned()),
            _ => Err(tab.text()),
        }
    })
}

/// The numbers on the page of a job, by their names.
#[track_caller]
fn counts(tab: &Tab<'_>) -> Value {
    tab.value(
        "Object.fromEntries([...document.querySelectorAll('#job dl div')]
            .map((one) => [one.firstElementChild.textContent, Number(one.lastElementChild.textContent)]))",
    )
}

#[test]
fn a_job_over_all_but_three_outlives_a_reload_and_another_browser_sees_it() {
    let service = Database::Sqlite.serve();
    let arguments = format!("--hosts {HOSTS} --infra-env simulated --until-inventory --duration 60s");
    fleet(&service, &arguments.split(' ').collect::<Vec<_>>());
    let client = service.http();
    let (browser, second) = (Browser::start(), Browser::start());
    let (tab, other) = (browser.tab(), second.tab());
    open_list(&tab, &service, &format!("{HOSTS} hosts"));
    tab.value("document.querySelector('#many [value=all]').click()");
    tab.await_text(&format!("{HOSTS} chosen: all that fit"));
    for row in 0..3 {
        tick(&tab, row);
    }
    let chosen = HOSTS - 3;
    tab.await_text(&format!("{chosen} chosen: all that fit but 3"));
    let spared =
        tab.value("[...document.querySelectorAll('#list .tick')].slice(0, 3).map((one) => one.value)");
    choose(&tab, "labels");
    plan_labels(&tab, "job=large");
    tab.await_text(&format!("{chosen} of {chosen} will change"));

    // A host comes between the plan and the job: nothing is done, and it is in the new plan.
    let pool = infra_env(&client);
    known_host(&client, &pool, 1);
    tab.click(&format!("Run for {chosen} hosts"));
    tab.await_text("The job was not begun:");
    tab.await_text("Below is a new plan.");
    assert_eq!(fit(&client, "label:job"), 0);
    let chosen = chosen + 1;
    tab.await_text(&format!("{chosen} of {chosen} will change"));
    tab.click(&format!("Run for {chosen} hosts"));
    tab.await_text(&format!("of {chosen} hosts have a result"));

    let page = tab.path();
    other.open(&format!("{}{page}", base(&service)));
    other.await_text(&format!("of {chosen} hosts have a result"));
    tab.open(&format!("{}{page}", base(&service)));
    for tab in [&tab, &other] {
        assert_eq!(await_end(tab), "finished");
        tab.await_text(&format!("{chosen} of {chosen} hosts have a result"));
        let expected = json!({"Changed": chosen, "Were so already": 0, "Failed": 0, "Not begun with": 0});
        assert_eq!(counts(tab), expected);
    }
    assert_eq!(fit(&client, "label:job%3Dlarge"), chosen);
    for id in spared.as_array().unwrap() {
        let id = id.as_str().unwrap();
        assert_eq!(fit(&client, &format!("id:{id}+label:job")), 0, "{id}");
    }
    // Each result is in one window, and the list has the job.
    tab.click("Further results");
    tab.await_text("The first results");
    other.open(&format!("{}/ui/jobs", base(&service)));
    other.await_text("Label the nodes: job=large");
    other.await_text(&format!("{chosen} of {chosen}"));
    for browser in [&browser, &second] {
        let complaints: Vec<String> = browser.complaints();
        let unexpected = complaints
            .iter()
            .filter(|one| !one.contains("the server responded with a status of 4"));
        assert_eq!(unexpected.count(), 0, "{complaints:#?}");
    }
}

#[test]
fn a_job_is_cancelled_while_it_runs() {
    let (service, _) = serve_hosts(HOSTS);
    let client = service.http();
    let browser = Browser::start();
    let tab = browser.tab();
    for attempt in 1..=ATTEMPTS {
        let label = format!("attempt=a{attempt}");
        tab.open(&format!(
            "{}/ui/jobs/plan?which=all&q=&action=labels",
            base(&service)
        ));
        plan_labels(&tab, &label);
        tab.click(&format!("Run for {HOSTS} hosts"));
        tab.await_text("hosts have a result");
        tab.value("document.querySelector('form[action$=\"/cancel\"] button')?.click()");
        if await_end(&tab) != "cancelled" {
            continue;
        }
        let counts = counts(&tab);
        let done = counts["Changed"].as_u64().unwrap();
        assert!(done < HOSTS, "{counts}");
        assert_eq!(counts["Not begun with"], HOSTS - done, "{counts}");
        // A host that the job was at has its change, and may have no result.
        let changed = fit(&client, &format!("label:attempt%3Da{attempt}"));
        assert!(changed >= done && changed < HOSTS, "{changed} {counts}");
        assert!(!tab.text().contains("Cancel"), "{}", tab.text());
        return;
    }
    panic!("each of {ATTEMPTS} jobs ended before it was cancelled");
}

#[test]
fn names_that_are_taken_stand_first_and_are_given_again_when_they_are_free() {
    let (service, pool) = serve_hosts(4);
    let client = service.http();
    let named = format!("{pool}/hosts/{}", host_id(4));
    client
        .patch(&named, &json!({"host_name": "node-sn-2"}))
        .expect(201);
    let browser = Browser::start();
    let tab = browser.tab();
    open_list(&tab, &service, "4 hosts");
    for row in 0..3 {
        tick(&tab, row);
    }
    tab.await_text("3 chosen");
    choose(&tab, "pattern");
    tab.await_text("Show the plan");
    tab.fill("#value-pattern", "node-{serial}");
    tab.click("Show the plan");
    tab.await_text("2 of 3 will change");
    tab.await_text("1 is refused");
    let refused = "[...document.querySelectorAll('section[aria-labelledby=refusals] td a')].map((one) => one.textContent)";
    assert_eq!(tab.value(refused), json!(["host-2"]));
    let previews = "[...document.querySelectorAll('section[aria-labelledby=changes] tbody tr')].map((row) => row.lastElementChild.textContent)";
    assert_eq!(tab.value(previews), json!(["node-sn-1", "node-sn-3"]));
    tab.click("Run for 2 hosts");
    await_end(&tab);
    let first = tab.path();
    tab.click("Failed only");
    tab.await_text("host-2");
    assert!(!tab.text().contains("host-3"), "{}", tab.text());

    client.patch(&named, &json!({"host_name": "another"})).expect(201);
    tab.click("Again for the failed ones");
    tab.await_text("1 of 1 hosts have a result");
    tab.await_text("the job before");
    assert_ne!(tab.path(), first);
    assert_eq!(await_end(&tab), "finished");
    let host = client
        .get(&format!("{pool}/hosts/{}", host_id(2)))
        .expect(200)
        .json();
    assert_eq!(host["requested_hostname"], "node-sn-2");
}
