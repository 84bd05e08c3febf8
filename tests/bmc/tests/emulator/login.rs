use std::time::Duration;

use muster_bmc_emulator::quirks::Lockout;
use serde_json::{Value, json};

use crate::client::{Client, Lab, Reply, await_true};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

fn log_in(lab: &Lab, password: &str) -> Reply {
    let body = json!({"UserName": "admin", "Password": password});
    Client::new(&lab.emulator.url()).post(SESSIONS, &body)
}

fn with_token(lab: &Lab, login: &Reply) -> Client {
    Client::new(&lab.emulator.url()).with("x-auth-token", login.header("x-auth-token").unwrap())
}

#[test]
fn a_session_lets_in_until_it_is_deleted() {
    let lab = Lab::new(|_| {});
    let login = log_in(&lab, "password");
    login.json(201);
    let client = with_token(&lab, &login);
    client.get("/redfish/v1/Systems").expect(200);
    assert_eq!(lab.emulator.sessions(), 1);
    client
        .request("DELETE", login.header("location").unwrap(), None)
        .expect(204);
    client
        .get("/redfish/v1/Systems")
        .refused(401, "NoValidSession", "");
    assert_eq!(lab.emulator.sessions(), 0);
}

#[test]
fn the_record_tells_one_login_without_its_password() {
    let lab = Lab::new(|_| {});
    let client = with_token(&lab, &log_in(&lab, "password"));
    client.get("/redfish/v1/Systems").expect(200);
    let requests = lab.emulator.requests();
    let logins: Vec<_> = requests.iter().filter(|request| request.is_login()).collect();
    assert_eq!((logins.len(), logins[0].status), (1, Some(201)));
    assert_eq!(
        logins[0].body,
        Some(json!({"UserName": "admin", "Password": "***"}))
    );
    assert!(requests[1].is("GET", "/Systems"));
    assert_eq!(requests[1].header("x-auth-token"), Some("***"));
}

#[test]
fn only_the_root_is_open() {
    let lab = Lab::new(|_| {});
    let nobody = Client::new(&lab.emulator.url());
    let root = nobody.get("/redfish/v1/").json(200);
    assert_eq!(root["Links"]["Sessions"]["@odata.id"], SESSIONS);
    let refused = nobody.get("/redfish/v1/Systems");
    refused.expect(401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Basic"));
    nobody
        .basic("admin", "wrong")
        .get("/redfish/v1/Systems")
        .expect(401);
}

#[test]
fn a_session_ends_when_it_is_not_used_and_when_its_owner_says_so() {
    let lab = Lab::new(|quirks| quirks.session_timeout = Duration::from_millis(200));
    let client = with_token(&lab, &log_in(&lab, "password"));
    client.get("/redfish/v1/Systems").expect(200);
    await_true("the session to end", || lab.emulator.sessions() == 0);
    client.get("/redfish/v1/Systems").expect(401);

    lab.emulator
        .change(|quirks| quirks.session_timeout = Duration::from_mins(30));
    let client = with_token(&lab, &log_in(&lab, "password"));
    lab.emulator.end_sessions();
    client.get("/redfish/v1/Systems").expect(401);
}

#[test]
fn sessions_are_used_up() {
    let lab = Lab::new(|quirks| quirks.session_limit = 2);
    log_in(&lab, "password").expect(201);
    log_in(&lab, "password").expect(201);
    log_in(&lab, "password").refused(503, "SessionLimitExceeded", "");
}

#[test]
fn a_login_may_lack_its_location_or_the_whole_service() {
    let lab = Lab::new(|quirks| quirks.no_session_location = true);
    let login = log_in(&lab, "password");
    login.expect(201);
    assert_eq!(login.header("location"), None);

    let lab = Lab::new(|quirks| quirks.no_sessions = true);
    log_in(&lab, "password").expect(404);
    let root = lab.client.get("/redfish/v1").json(200);
    assert_eq!(
        (root.get("SessionService"), &root["Links"]),
        (None, &Value::Object(serde_json::Map::new()))
    );
    lab.client.get("/redfish/v1/Systems").expect(200);
}

#[test]
fn failed_logins_shut_a_user_out_for_a_while() {
    let lab = Lab::new(|quirks| {
        quirks.lockout = Some(Lockout {
            failures: 5,
            lasts: Duration::from_millis(500),
            status: 403,
        });
    });
    for _ in 0..4 {
        log_in(&lab, "wrong").refused(401, "ResourceAtUriUnauthorized", "");
    }
    let basic = Client::new(&lab.emulator.url()).basic("admin", "wrong");
    basic.get("/redfish/v1/Systems").expect(401);
    log_in(&lab, "password").refused(403, "AccountLocked", "");
    await_true("the lock-out to end", || log_in(&lab, "password").status == 201);
}

#[test]
fn another_password_is_set_and_sessions_stay() {
    let lab = Lab::new(|_| {});
    let client = with_token(&lab, &log_in(&lab, "password"));
    lab.emulator.set_account("admin", "other");
    log_in(&lab, "password").expect(401);
    log_in(&lab, "other").expect(201);
    client.get("/redfish/v1/Systems").expect(200);
}
