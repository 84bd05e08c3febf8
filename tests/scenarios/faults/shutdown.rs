//! SIGTERM: started work is finished, no new work is accepted, and no client can block the service forever.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitStatus;

use muster_api::BASE_PATH;
use muster_tests::artifacts;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, Served, host_id, infra_env, on_each_database};
use muster_tests::http::raw::{connect, read_until, status_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

on_each_database!(writes_that_were_begun_are_finished);

/// The head of a registration, up to the point at which the service begins to read its body; and the body.
fn begun_registration(service: &Served, infra_env: &str, n: u64) -> (TcpStream, String) {
    let body = json!({"host_id": host_id(n), "discovery_agent_version": "v"}).to_string();
    let head = format!(
        "POST {BASE_PATH}{infra_env}/hosts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let mut stream = connect(service.port(), head.as_bytes());
    let go_on = read_until(&mut stream, "\r\n\r\n");
    assert_eq!(status_of(&go_on), 100, "{go_on}");
    (stream, body)
}

fn signal(service: &Served, signal: Signal) {
    let id = i32::try_from(service.id()).unwrap();
    kill(Pid::from_raw(id), signal).unwrap();
}

/// Waits until the service accepts no connection any more: it has received the signal.
fn await_deaf(service: &Served) {
    await_condition(
        "the listener to close",
        LEAST_LIMIT,
        || match TcpStream::connect(("127.0.0.1", service.port())) {
            Ok(_) => Err("it still takes connections".to_owned()),
            Err(_) => Ok(()),
        },
    );
}

/// Waits for the service to end, and returns its status.
fn exit_of(service: &mut Served) -> ExitStatus {
    let stat = format!("/proc/{}/stat", service.id());
    await_condition("the service to end", LEAST_LIMIT, || {
        let state = std::fs::read_to_string(&stat).unwrap_or_default();
        if state.contains(") Z ") {
            Ok(())
        } else {
            Err(state)
        }
    });
    // It has ended: the signal that this sends reaches no process.
    service.terminate()
}

fn writes_that_were_begun_are_finished(database: Database) {
    let mut service = database.serve();
    let infra_env = infra_env(&service.http());
    let begun: Vec<(TcpStream, String)> = (1..=8)
        .map(|n| begun_registration(&service, &infra_env, n))
        .collect();
    signal(&service, Signal::SIGTERM);
    await_deaf(&service);
    for (mut stream, body) in begun {
        stream.write_all(body.as_bytes()).unwrap();
        let answer = read_until(&mut stream, "\r\n\r\n");
        assert_eq!(status_of(&answer), 201, "{answer}");
    }
    let status = exit_of(&mut service);
    assert_eq!(status.code(), Some(0), "{}", service.log());
    service.start_again();
    let hosts = service
        .http()
        .get(&format!("{infra_env}/hosts"))
        .expect(200)
        .json();
    assert_eq!(hosts.as_array().unwrap().len(), 8);
}

#[test]
fn a_download_that_was_begun_is_finished() {
    let image = artifacts::live_image();
    let mut service = Database::Sqlite.serve_with(|settings| settings.live_image(&image));
    let client = service.http();
    let infra_env = infra_env(&client);
    let url = client
        .get(&format!("{infra_env}/downloads/image-url"))
        .expect(200)
        .json();
    let url = url["url"].as_str().unwrap();
    let path = &url[url.find("/boot/").unwrap()..];
    let mut whole = client.request("GET", path, None).expect(200).body;

    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut stream = connect(service.port(), request.as_bytes());
    let head = read_until(&mut stream, "\r\n\r\n");
    assert_eq!(status_of(&head), 200, "{head}");
    let mut downloaded = vec![0; 100_000];
    stream.read_exact(&mut downloaded).unwrap();
    signal(&service, Signal::SIGTERM);
    await_deaf(&service);
    stream.read_to_end(&mut downloaded).unwrap();
    assert_eq!(downloaded.len(), whole.len());
    assert!(downloaded == whole, "the bytes differ");
    whole.clear();
    let status = exit_of(&mut service);
    assert_eq!(status.code(), Some(0), "{}", service.log());
}

/// Its client would stall forever.
#[test]
fn a_client_that_stalls_is_waited_for_only_so_long() {
    let mut service =
        Database::Sqlite.serve_with(|settings| settings.argument("--drain-timeout").argument("1"));
    let infra_env = infra_env(&service.http());
    let stalled = begun_registration(&service, &infra_env, 1);
    signal(&service, Signal::SIGTERM);
    let status = exit_of(&mut service);
    assert_eq!(status.code(), Some(0), "{}", service.log());
    drop(stalled);
}

/// The wait would last an hour.
#[test]
fn a_second_signal_ends_the_wait() {
    let mut service =
        Database::Sqlite.serve_with(|settings| settings.argument("--drain-timeout").argument("3600"));
    let infra_env = infra_env(&service.http());
    let stalled = begun_registration(&service, &infra_env, 1);
    signal(&service, Signal::SIGTERM);
    await_deaf(&service);
    let status = service.terminate();
    assert_eq!(status.code(), Some(0), "{}", service.log());
    drop(stalled);
    service.start_again();
    let hosts = service
        .http()
        .get(&format!("{infra_env}/hosts"))
        .expect(200)
        .json();
    assert_eq!(hosts, json!([]), "what was not answered is not there");
}
