//! Bytes of broken and hostile machines are refused with a reason, and all others are served as before. Valid requests
//! are in `service/rest/tests/routes/hostile_input.rs`, data that a database might refuse in `faults/hostile_texts.rs`.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use muster_api::BASE_PATH;
use muster_tests::database::{Database, Served, infra_env, known_host, register};
use muster_tests::http::HttpClient;
use muster_tests::http::raw::{connect, read_to_end, status_of};
use muster_tests::process::resident;

/// A service with a hostile machine and a good one.
struct World {
    service: Served,
    client: HttpClient,
    infra_env: String,
    hostile: String,
    good: String,
}

impl World {
    fn start() -> Self {
        let service = Database::Sqlite.serve();
        let client = service.http();
        let infra_env = infra_env(&client);
        let (hostile, good) = (
            register(&client, &infra_env, 666),
            known_host(&client, &infra_env, 1),
        );
        Self {
            service,
            client,
            infra_env,
            hostile,
            good,
        }
    }

    /// Checks that the service runs and the good machine is served, quickly.
    #[track_caller]
    fn is_well(&self) {
        self.client.request("GET", "/health", None).expect(200);
        let steps = self
            .client
            .get(&format!("{}/instructions", self.good))
            .expect(200)
            .json();
        assert!(!steps["instructions"].as_array().unwrap().is_empty());
        assert_eq!(
            self.client.get(&self.good).expect(200).json()["status"],
            "known-unbound"
        );
    }
}

/// Sends while it reads: the service responds before it has read everything.
fn post_large(service: &Served, path: &str, length: usize, with_length: bool) -> String {
    let framing = if with_length {
        format!("Content-Length: {length}")
    } else {
        "Transfer-Encoding: chunked".into()
    };
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    let mut stream = connect(service.port(), head.as_bytes());
    let mut sending = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let piece = vec![b'x'; 1 << 20];
        let mut body = |bytes: &[u8]| {
            if with_length {
                sending.write_all(bytes)
            } else {
                write!(sending, "{:x}\r\n", bytes.len())
                    .and_then(|()| sending.write_all(bytes))
                    .and_then(|()| sending.write_all(b"\r\n"))
            }
        };
        let start = br#"{"step_type":"inventory","output":""#;
        // Refused in the middle: then the rest is not read.
        let mut sent = body(start).map(|()| start.len());
        while let Ok(count @ 0..) = sent {
            if count >= length {
                break;
            }
            let next = piece.len().min(length - count);
            sent = body(&piece[..next]).map(|()| count + next);
        }
    });
    let answer = read_to_end(&mut stream);
    drop(stream);
    sender.join().unwrap();
    answer
}

#[test]
fn bodies_without_measure_are_refused() {
    let world = World::start();
    let replies = format!("{BASE_PATH}{}/instructions", world.hostile);
    let registrations = format!("{BASE_PATH}{}/hosts", world.infra_env);
    let before = resident(world.service.id()) / 1024;
    for (path, length) in [
        (&replies, 50 << 20),
        (&registrations, 50 << 20),
        (&registrations, 2 << 20),
        (&replies, 9 << 20),
    ] {
        for with_length in [true, false] {
            let answer = post_large(&world.service, path, length, with_length);
            assert_eq!(status_of(&answer), 413, "{length} bytes to {path}: {answer}");
            assert!(answer.contains("larger"), "{length} bytes to {path}: {answer}");
            world.is_well();
        }
    }
    let grown = (resident(world.service.id()) / 1024).saturating_sub(before);
    println!("memory grew by {grown} KiB");
    assert!(
        grown < 100 << 10,
        "the service keeps {grown} KiB of what it refused"
    );
}

/// Invalid requests, with names; `head` begins one.
fn no_requests(head: &str) -> Vec<(&'static str, Vec<u8>)> {
    let many_headers: String = (0..2000).map(|n| format!("X-Flood-{n}: {n}\r\n")).collect();
    let long_header = format!("X-Long: {}\r\n", "y".repeat(2 << 20));
    vec![
        (
            "2,000 headers",
            format!("{head}{many_headers}Content-Length: 2\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "a header of 2 MiB",
            format!("{head}{long_header}Content-Length: 2\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "a path of 1 MiB",
            format!(
                "GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "a".repeat(1 << 20)
            )
            .into_bytes(),
        ),
        (
            "no HTTP",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
        ),
        (
            "two lengths",
            format!("{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "a negative length",
            format!("{head}Content-Length: -1\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "a wrong chunk",
            format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}").into_bytes(),
        ),
        (
            "a chunk of more bytes than there are",
            format!("{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{{}}").into_bytes(),
        ),
        (
            "a chunk with an extension of 30 kB",
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n2;{}\r\n{{}}\r\n0\r\n\r\n",
                "e".repeat(30_000)
            )
            .into_bytes(),
        ),
        (
            "5,000 trailers",
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{}\r\n",
                "X-Trailer: x\r\n".repeat(5000)
            )
            .into_bytes(),
        ),
        (
            "a length with a sign",
            format!("{head}Content-Length: +2\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "a coding that is none",
            format!("{head}Transfer-Encoding: xchunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n").into_bytes(),
        ),
        (
            "a folded header",
            format!("{head}X-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "white space before the colon",
            format!("{head}Content-Length : 2\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "no host",
            b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n".to_vec(),
        ),
        (
            "two hosts",
            b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n".to_vec(),
        ),
        ("HTTP/0.9", b"GET /health\r\n\r\n".to_vec()),
        (
            "CONNECT to a path",
            b"CONNECT /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec(),
        ),
        (
            "a zero byte",
            format!("{head}X-Zero: \0\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        ),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        (
            "a packed body",
            format!("{head}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\u{1f}\u{b}").into_bytes(),
        ),
    ]
}

#[test]
fn requests_that_are_no_requests_harm_no_other_client() {
    let world = World::start();
    let port = world.service.port();
    let ask = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // It may be refused before all of it is sent.
        let _ = stream.write_all(bytes);
        read_to_end(&mut stream)
    };
    let path = format!("{BASE_PATH}{}/instructions", world.hostile);
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n");
    for (what, bytes) in no_requests(&head) {
        let answer = ask(&bytes);
        let status = if answer.is_empty() { 0 } else { status_of(&answer) };
        println!("{what}: {status}");
        // Without a response the connection is closed, which is a valid reaction to noise.
        assert!(status == 0 || (400..500).contains(&status), "{what}: {answer}");
        world.is_well();
    }
    let text = format!("{head}Content-Length: 6\r\n\r\n\u{7f}\u{1}{{}}").into_bytes();
    let mut not_utf8 = text;
    not_utf8.extend([0xff, 0xfe]);
    assert_eq!(status_of(&ask(&not_utf8)), 400);

    // Many clients that send nothing more after their first bytes, while others are served.
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            connect(
                port,
                format!("{head}Content-Length: 1000\r\n\r\n{{\"a").as_bytes(),
            )
        })
        .collect();
    let idle: Vec<TcpStream> = (0..200).map(|_| connect(port, b"POST /api")).collect();
    for _ in 0..5 {
        world.is_well();
    }
    drop((slow, idle));
    world.is_well();
}
