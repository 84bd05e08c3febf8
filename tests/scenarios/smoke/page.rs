//! The page in a browser: a link signs in, a host appears by itself, gets a name, and the session ends.

use muster_tests::browser::Browser;
use muster_tests::database::Database;
use muster_tests::hosts::plain::{infra_env, known_host};

#[test]
fn an_operator_signs_in_by_a_link_names_the_host_that_appears_and_signs_out() {
    let service = Database::Sqlite.serve_with(|settings| settings.auth_local());
    let token = service.token(None);
    let client = service.http().with_token(&token);
    let pool = infra_env(&client);
    let base = format!("http://127.0.0.1:{}", service.port());
    let printed = service.muster(&["open", "--url", &base, "--token", &token]);
    let link = printed.lines().find(|line| line.starts_with("http")).unwrap();
    let browser = Browser::start();
    let tab = browser.tab();
    tab.open(link);
    tab.await_text("This link signs in once");
    tab.click("Sign in");
    tab.await_text("Sign out");

    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("No machine has registered yet");
    tab.value("window.mark = 'the same page'");
    let host = known_host(&client, &pool, 1);
    tab.await_text("host-1");
    assert_eq!(
        tab.value("window.mark"),
        "the same page",
        "it was not loaded again"
    );
    tab.click("host-1");
    tab.await_text("Checks: hardware");
    tab.fill("input[name=value]", "node-1");
    tab.click("Set");
    tab.await_text("muster host set");
    let named = client.get(&host).expect(200).json();
    assert_eq!(named["requested_hostname"], "node-1");

    tab.click("Sign out");
    tab.await_text("Token of an operator");
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("Token of an operator");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
