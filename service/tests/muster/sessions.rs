//! Sessions of operators: the cookie of a service on loopback, and the commands that list and end them.

use serde_json::Value;

use crate::world::World;

const SESSION: &str = "/api/muster/v1/session";

#[test]
fn a_session_is_listed_with_its_token_and_ended_by_its_id() {
    let world = World::start_with(&["--auth", "local"]);
    let folder = world.data_dir().display().to_string();
    let muster = |arguments: &[&str]| {
        let output = world.muster(&[arguments, &["--data-dir", &folder]].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let token = muster(&["token", "create", "--operator", "--name", "ci"]);
    let operator = world.rest().with_token(token.trim());
    let begun = operator
        .request("POST", "/api/muster/v1/sessions", Some(b"{}"))
        .expect(201);
    let (cookie, attributes) = begun.header("set-cookie").split_once(';').unwrap();
    assert!(cookie.starts_with("muster="), "{cookie}");
    assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/");
    let browser = world.rest().with("Cookie", cookie);
    let shown = browser.request("GET", SESSION, None).expect(200).json();
    let id = shown["session_id"].as_str().unwrap();

    let listed: Value = serde_json::from_str(&muster(&["token", "list", "-o", "json"])).unwrap();
    let mut tokens = listed.as_array().unwrap().iter();
    let parent = tokens.find(|token| token["id"] == shown["token_id"]).unwrap();
    assert_eq!(parent["sessions"][0]["id"], id);
    let table = muster(&["token", "list"]);
    let row = table.lines().find(|line| line.contains(id)).unwrap();
    assert!(row.contains("session of ci"), "{table}");

    assert!(muster(&["token", "revoke", "--id", id]).contains("is ended"));
    browser.request("GET", SESSION, None).expect(401);
    operator.request("GET", SESSION, None).expect(200);
    assert!(!muster(&["token", "list"]).contains(id));
}
