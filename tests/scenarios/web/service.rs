//! The page of the service: who requested which change, by page and by command, and a token that it revokes while a page of it is open.

use muster_api::MUSTER_PATH;
use muster_tests::browser::Browser;
use muster_tests::database::{Database, on_each_database};
use muster_tests::hosts::plain::infra_env;
use serde_json::Value;

use super::sessions::token_with;
use super::walk::{base, serve, sign_in};

on_each_database!(an_operator_sees_who_changed_what_and_revokes_a_token);

fn an_operator_sees_who_changed_what_and_revokes_a_token(database: Database) {
    let (service, token) = serve(database);
    let other = token_with(&service, &["--name", "other"]);
    let theirs = service.http().with_token(&other);
    infra_env(&theirs);
    let session = theirs.request("GET", &format!("{MUSTER_PATH}/session"), None);
    let id = session.expect(200).json()["token_id"]
        .as_str()
        .unwrap()
        .to_owned();

    let browser = Browser::start();
    let (tab, their_tab) = (browser.tab(), browser.tab());
    sign_in(&tab, &service, &token);
    tab.click("Service");
    for text in [
        "Replicas",
        "Tokens of operators",
        "RegisterInfraEnv",
        "token create",
        "other",
    ] {
        tab.await_text(text);
    }
    assert_eq!(tab.path(), "/ui/service");

    // The cookie is the browser's: both tabs have one session.
    their_tab.open(&format!("{}/ui/service", base(&service)));
    their_tab.await_text("RegisterInfraEnv");
    tab.value(&format!(
        "(() => {{ const form = [...document.querySelectorAll('form[action$=\"/revoke\"]')]
            .find((one) => one.querySelector('[name=id]').value === '{id}');
          form.querySelector('[name=sure]').checked = true; form.querySelector('button').click(); }})()"
    ));
    tab.await_text("The token is revoked");
    tab.await_text(&format!("muster token revoke --id {id}"));
    theirs.get("/infra-envs").expect(401);
    their_tab.open(&format!("{}/ui/service", base(&service)));
    their_tab.await_text("MusterRevokeToken");

    let path = format!("{MUSTER_PATH}/audit?format=jsonl");
    let client = service.http().with_token(&token);
    let lines = client.request("GET", &path, None).expect(200).text();
    let printed = service.muster(&[
        "audit",
        "-o",
        "jsonl",
        "--url",
        &base(&service),
        "--token",
        &token,
    ]);
    assert_eq!(printed, lines);
    let entries: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |operation: &str| {
        let found = entries.iter().find(|entry| entry["operation"] == operation);
        found.unwrap_or_else(|| panic!("no {operation}: {lines}"))
    };
    assert_eq!(of("RegisterInfraEnv")["token_id"], id.as_str());
    assert_eq!(of("token create")["who"], "command line");
    let revoked = of("MusterRevokeToken");
    assert_eq!(revoked["object"]["name"], "other");
    assert!(revoked["session_id"].is_string(), "{revoked}");
    assert!(!lines.contains(&other) && !lines.contains(&token));
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
