//! Hosts are chosen by ticks, ranges, filters, keys alone and without scripts, and every page from the choice to the job is accessible.

use muster_tests::browser::Browser;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::Database;
use muster_tests::hosts::plain::{host_id, infra_env, known_host};
use serde_json::json;

use super::axe::violations;
use super::keyboard::tab_to;
use super::many::{await_end, choose, fit, open_list, plan_labels, serve_hosts, tick};
use super::walk::{base, serve, sign_in};

#[test]
fn what_is_chosen_outlives_updates_filters_and_a_reload() {
    let (service, pool) = serve_hosts(5);
    let client = service.http();
    let browser = Browser::start();
    let tab = browser.tab();
    open_list(&tab, &service, "5 hosts");
    tab.await_text("live");
    let ticked = || tab.value("[...document.querySelectorAll('#list .tick')].map((one) => one.checked)");
    tick(&tab, 1);
    // With Shift all rows from the last one.
    tab.value("document.querySelectorAll('#list .tick')[3].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey: true }))");
    assert_eq!(ticked(), json!([false, true, true, true, false]));
    tab.await_text("3 chosen");
    // The row is made again, and nothing is held back.
    client
        .patch(
            &format!("{pool}/hosts/{}", host_id(2)),
            &json!({"host_name": "host-2b"}),
        )
        .expect(201);
    tab.await_text("host-2b");
    assert_eq!(ticked(), json!([false, true, true, true, false]));
    tab.fill("#q", "serial:SN-1,SN-2");
    tab.await_text("3 chosen, 2 of them not shown here");
    assert_eq!(ticked(), json!([false, true]));
    open_list(&tab, &service, "5 hosts");
    tab.await_text("3 chosen");
    assert_eq!(ticked(), json!([false, true, true, true, false]));
    // All that fit one filter are not those that fit another.
    tab.value("document.querySelector('#many [value=all]').click()");
    tab.await_text("5 chosen: all that fit");
    tab.fill("#q", "serial:SN-1");
    tab.await_text("1 host of 5");
    tab.await_end_of("chosen");
    assert_eq!(ticked(), json!([false]));
}

#[test]
fn hosts_are_chosen_planned_and_changed_by_keys_alone() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    for number in 1..=3 {
        known_host(&client, &pool, number);
    }
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    open_list(&tab, &service, "3 hosts");
    tab.await_text("Keys");
    for key in ["j", "x", "j", "x", "j", "x", "x"] {
        tab.press(key);
    }
    tab.await_text("2 chosen");
    tab.press("a");
    assert_eq!(tab.focused().name.trim(), "Action");
    for _ in 0..4 {
        tab.press("ArrowDown");
    }
    assert_eq!(tab.value("document.querySelector('#many select').value"), "role");
    assert_eq!(tab_to(&tab, "Plan …").role, "button");
    tab.press("Enter");
    tab.await_text("Show the plan");
    tab_to(&tab, "Role");
    tab.press("ArrowDown");
    tab_to(&tab, "Show the plan");
    tab.press("Enter");
    tab.await_text("2 of 2 will change");
    tab_to(&tab, "Run for 2 hosts");
    tab.press("Enter");
    tab.await_text("2 of 2 hosts have a result");
    tab.await_text("Keys");
    for (number, role) in [(1, "master"), (2, "master"), (3, "auto-assign")] {
        let host = client
            .get(&format!("{pool}/hosts/{}", host_id(number)))
            .expect(200)
            .json();
        assert_eq!(host["role"], role, "{number}");
    }
    for key in ["g", "j"] {
        tab.press(key);
    }
    tab.await_text("Give a role: master");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn without_scripts_ticks_and_the_filter_choose_and_a_job_runs() {
    let (service, _) = serve_hosts(3);
    let client = service.http();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.script(false);
    let open = |path: &str| tab.open(&format!("{}{path}", base(&service)));
    let submit = |which: &str, label: &str, changed: &str| {
        tick(&tab, 0);
        tab.value(&format!(
            "document.querySelector('#many [value={which}]').click()"
        ));
        choose(&tab, "labels");
        plan_labels(&tab, label);
        tab.await_text(&format!("{changed} will change"));
    };
    open("/ui/hosts");
    tab.await_text("all that fit but the ticked ones");
    assert!(!tab.text().contains("Untick all"), "{}", tab.text());
    submit("but", "a=but", "2 of 2");
    tab.click("Run for 2 hosts");
    let reload = |text: &str| {
        await_condition(&format!("{text:?} after a reload"), LEAST_LIMIT, || {
            let page = tab.path();
            open(&page);
            match tab.text() {
                shown if shown.contains(text) => Ok(()),
                shown => Err(shown),
            }
        });
    };
    tab.await_text("hosts have a result");
    reload("2 of 2 hosts have a result");
    assert_eq!(fit(&client, "label:a%3Dbut"), 2);
    open("/ui/hosts?q=serial:SN-2");
    submit("all", "a=all", "1 of 1");
    open("/ui/hosts");
    submit("ticked", "a=ticked", "1 of 1");
    tab.click("Run for 1 host");
    tab.await_text("hosts have a result");
    reload("1 of 1 hosts have a result");
    assert_eq!(fit(&client, "label:a%3Dticked"), 1);
    open("/ui/jobs");
    tab.await_text("Label the nodes: a=ticked");
}

#[test]
fn plans_and_jobs_have_no_violation() {
    let (service, pool) = serve_hosts(3);
    let client = service.http();
    let taken = format!("{pool}/hosts/{}", host_id(3));
    client.patch(&taken, &json!({"host_name": "node-2"})).expect(201);
    let browser = Browser::start();
    let tab = browser.tab();
    open_list(&tab, &service, "3 hosts");
    for row in 0..2 {
        tick(&tab, row);
    }
    tab.await_text("2 chosen");
    let mut found = violations(&tab, "chosen hosts");
    choose(&tab, "names");
    tab.click("Show the plan");
    tab.await_text("paste the table");
    found.extend(violations(&tab, "refused values"));
    tab.fill("#value-names", "SN-1,node-1\nSN-2,node-2");
    tab.click("Show the plan");
    tab.await_text("1 of 2 will change");
    found.extend(violations(&tab, "plan"));
    tab.click("Run for 1 host");
    await_end(&tab);
    found.extend(violations(&tab, "job"));
    tab.click("Failed only");
    tab.await_text("host-2");
    found.extend(violations(&tab, "failed hosts"));
    open_list(&tab, &service, "3 hosts");
    choose(&tab, "delete");
    tab.await_text("Type 2 to confirm");
    found.extend(violations(&tab, "confirmation"));
    tab.open(&format!("{}/ui/jobs", base(&service)));
    tab.await_text("Name by a table");
    found.extend(violations(&tab, "jobs"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
