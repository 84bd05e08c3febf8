//! `muster events`, and with `--follow`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use muster_tests::process::ports::ReservedPort;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{World, program};

/// Time limit of a line.
const LIMIT: Duration = Duration::from_secs(60);

/// A command that runs until it is ended, with its lines as they come.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(mut muster: Command) -> Self {
        // Each event in one line.
        let mut child = muster
            .env_remove("COLUMNS")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(LIMIT).expect("a line")
    }

    /// The next line that fits.
    #[track_caller]
    fn line_with(&self, text: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Interrupts it, as Ctrl-C does; returns its exit code, and its errors.
    fn interrupt(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let status = self.child.wait().unwrap();
        let mut errors = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        (status.code(), errors)
    }
}

#[test]
fn new_events_are_printed_in_each_format_until_it_is_interrupted() {
    let world = World::start(&[]);
    let lab = world.infra_env("lab");
    world.infra_env("other");
    let follow = |format: &str| {
        let arguments = ["events", "-f", "--infra-env", "lab", "--limit", "1", "-o", format];
        Running::start(world.muster(&arguments))
    };
    let [table, lines, ids, messages] = ["table", "json", "name", "jsonpath={[*].message}"].map(follow);
    assert!(table.line().starts_with("TIME "));
    let first: Value = serde_json::from_str(&lines.line()).unwrap();
    assert_eq!(first["infra_env_id"], lab.trim_start_matches("/infra-envs/"));
    // Each has what was there before it.
    for running in [&table, &ids, &messages] {
        running.line();
    }
    world.host(&lab, 1, "worker-0");
    let name = "host_registration_succeeded";
    let registered: Value = serde_json::from_str(&lines.line_with(name)).unwrap();
    let message = registered["message"].as_str().unwrap();
    let id = registered["id"].as_str().unwrap();
    assert_eq!(ids.line_with(id), id);
    let printed = world.prints(&["events", "--infra-env", "lab", "-o", "name"]);
    assert!(printed.lines().any(|line| line == id), "{printed}");
    assert_eq!(messages.line_with(message), message);
    assert!(table.line_with(message).contains("  info  "));
    for running in [table, lines, ids, messages] {
        assert_eq!(running.interrupt(), (Some(0), String::new()));
    }
}

#[test]
fn it_ends_when_nothing_reads_its_output() {
    let world = World::start(&[]);
    world.infra_env("lab");
    let mut muster = world.muster(&["events", "-f"]);
    let mut child = muster.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut heading = String::new();
    out.read_line(&mut heading).unwrap();
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Answers the next request with these events; returns its first line.
fn answer(listener: &TcpListener, events: &[u8], next: u8) -> String {
    let id = |number: u8| format!("00000000-0000-7000-8000-{number:012}");
    let event = |number: &u8| json!({"id": id(*number), "event_time": "2026-01-01T00:00:01.000Z", "message": number.to_string(), "severity": "info"});
    let events: Vec<Value> = events.iter().map(event).collect();
    let body = json!({"events": events, "next": id(next), "more": false}).to_string();
    let (mut connection, _) = listener.accept().unwrap();
    let request = head(&connection);
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    request
}

/// Reads the head of a request; returns its first line.
fn head(connection: &TcpStream) -> String {
    let lines = BufReader::new(connection).lines().map(Result::unwrap);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    head[0].clone()
}

#[test]
fn it_goes_on_where_it_was_when_the_service_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let reserved = ReservedPort::reserve();
    let port = reserved.number();
    let listen = || TcpListener::bind(("127.0.0.1", port)).unwrap();
    let listener = listen();
    let mut muster = program(folder.path());
    let url = format!("http://127.0.0.1:{port}");
    muster.args([
        "events",
        "--follow",
        "-o",
        "jsonpath={[*].message}",
        "--url",
        &url,
    ]);
    let running = Running::start(muster);
    let request = answer(&listener, &[1, 2], 1);
    assert!(
        request.starts_with("GET /api/muster/v1/events?limit=100 "),
        "{request}"
    );
    assert_eq!([running.line(), running.line()], ["1", "2"]);
    drop(listener);
    // The first request finds nothing, and is repeated after a second.
    thread::sleep(Duration::from_secs(3));
    let listener = listen();
    let request = answer(&listener, &[2, 3], 2);
    assert!(
        request.contains("after=00000000-0000-7000-8000-000000000001"),
        "{request}"
    );
    assert_eq!(running.line(), "3");
    let (code, errors) = running.interrupt();
    assert_eq!(code, Some(0));
    assert_eq!(errors.matches("no events since").count(), 1, "{errors}");
}

#[test]
fn events_are_listed_in_the_order_of_their_ids_however_many() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let list = |limit: &str| {
        let mut muster = program(folder.path());
        muster.args(["events", "--limit", limit, "-o", "name", "--url", &url]);
        Running::start(muster)
    };
    let id = |number: u8| format!("00000000-0000-7000-8000-{number:012}");
    // As --follow requests them.
    let few = list("5");
    let request = answer(&listener, &[1, 2], 1);
    assert!(
        request.starts_with("GET /api/muster/v1/events?limit=5 "),
        "{request}"
    );
    assert_eq!([few.line(), few.line()], [id(1), id(2)]);
    // The newest first, by time.
    let many = list("1001");
    let request = answer(&listener, &[2, 3, 1], 1);
    let expected = "GET /api/muster/v1/events?limit=1000&before=ffffffff-ffff-ffff-ffff-ffffffffffff ";
    assert!(request.starts_with(expected), "{request}");
    assert_eq!([many.line(), many.line(), many.line()], [id(1), id(2), id(3)]);
    for mut running in [few, many] {
        assert_eq!(running.child.wait().unwrap().code(), Some(0));
    }
}
