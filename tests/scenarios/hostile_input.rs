//! Broken and hostile machines are refused clearly, and all others are served as before.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use muster_api::BASE_PATH;
use serde_json::{Value, json};

use crate::database::{
    Database, Served, infra_env, inventory, known_host, on_each_database, register, reply,
};
use crate::raw_http::{connect, read_to_end, status_of};
use muster_tests::http::{Answer, HttpClient};
use muster_tests::process::resident;

on_each_database!(
    inventories_without_measure_are_refused_by_name,
    bodies_without_measure_are_refused,
    texts_come_out_harmless,
    requests_that_are_no_requests_harm_no_other_client,
    replies_for_foreign_hosts_change_nothing,
);

/// A service with a hostile machine and a good one.
struct World {
    service: Served,
    client: HttpClient,
    infra_env: String,
    hostile: String,
    good: String,
}

impl World {
    fn on(database: Database) -> Self {
        let service = database.serve();
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

    /// The service is alive and the good machine is served, quickly.
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

    fn post(&self, body: &Value) -> Answer {
        self.client.post(&format!("{}/instructions", self.hostile), body)
    }
}

fn inventories_without_measure_are_refused_by_name(database: Database) {
    let world = World::on(database);
    let many = |key: &str, count: usize| {
        let mut large = inventory(666);
        let one = large[key][0].take();
        large[key] = Value::Array(vec![one; count]);
        large
    };
    let mut long_text = inventory(666);
    long_text["cpu"]["model_name"] = json!("x".repeat(1 << 20));
    let mut many_flags = inventory(666);
    many_flags["cpu"]["flags"] = json!(vec!["f"; 100_000]);
    for (what, inventory, named) in [
        (
            "15,000 disks",
            json!({"disks": vec![json!({"name": "sda"}); 15_000]}),
            "disks",
        ),
        (
            "5,000 network cards",
            json!({"interfaces": vec![json!({"name": "eth0"}); 5000]}),
            "interfaces",
        ),
        ("2,001 whole disks", many("disks", 2001), "disks"),
        (
            "1,025 whole network cards",
            many("interfaces", 1025),
            "interfaces",
        ),
        ("10,000 routes", many("routes", 10_000), "routes"),
        ("a text of 1 MiB", long_text, "model_name"),
        ("100,000 CPU flags", many_flags, "flags"),
    ] {
        let refused = world.post(&reply("inventory", &inventory));
        assert_eq!(refused.status, 400, "{what}: {}", refused.text());
        let message = refused.error_message();
        assert!(message.contains(named), "{what}: {message}");
        world.is_well();
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let in_text =
        json!({"step_type": "inventory", "exit_code": 0, "output": format!("{{\"disks\":{deep}}}")});
    let message = world.post(&in_text).expect(400).error_message();
    assert!(message.contains("nesting"), "{message}");
    let path = format!("{BASE_PATH}{}/instructions", world.hostile);
    let message = world
        .client
        .request("POST", &path, Some(deep.as_bytes()))
        .expect(400)
        .error_message();
    assert!(!message.is_empty() && message.len() < 1000, "{message}");
    let in_field = format!("{{\"step_type\":\"inventory\",\"output\":{deep}}}");
    world
        .client
        .request("POST", &path, Some(in_field.as_bytes()))
        .expect(400)
        .error_message();
    world.is_well();

    // As many as fit are no offence: a real machine may be this large.
    let mut large = many("disks", 500);
    large["interfaces"] = many("interfaces", 200)["interfaces"].take();
    for (n, disk) in large["disks"].as_array_mut().unwrap().iter_mut().enumerate() {
        disk["id"] = json!(format!("/dev/disk/by-id/{n}"));
        disk["name"] = json!(format!("sd{n}"));
    }
    world.post(&reply("inventory", &large)).expect(204);
    assert_eq!(
        world.client.get(&world.hostile).expect(200).json()["status"],
        "known-unbound"
    );
    world.is_well();
}

/// Sends while it listens: the service answers before it has read everything.
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

fn bodies_without_measure_are_refused(database: Database) {
    let world = World::on(database);
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

/// Writes this text into every text of a document.
fn fill(value: &mut Value, text: &str) {
    match value {
        Value::String(old) => *old = text.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(map) => map.values_mut().for_each(|item| fill(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn texts_come_out_harmless(database: Database) {
    let world = World::on(database);
    for text in [
        "\u{0}",
        "a\u{0}b",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "<script>alert(1)</script>",
        "'; DROP TABLE hosts; --",
        "\u{202e}txt.exe",
        "${jndi:ldap://x}",
        "../../../etc/passwd",
        "%s%n%x",
        "\r\nSet-Cookie: a=b",
        "𝕳𝖔𝖘𝖙",
        "",
    ] {
        let mut strange = inventory(666);
        fill(&mut strange, text);
        let answer = world.post(&reply("inventory", &strange));
        assert!(
            answer.status == 204 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        let sources = json!({"ntp_sources": [{"source_name": text, "source_state": "synced"}]});
        let answer = world.post(&reply("ntp-synchronizer", &sources));
        assert!(
            answer.status == 204 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        let name = world
            .client
            .patch(&world.hostile, &json!({"host_name": text}))
            .expect(400)
            .error_message();
        assert!(name.len() < 1000, "{name}");
        let again = json!({"host_id": crate::database::host_id(666), "discovery_agent_version": text});
        let answer = world.client.post(&format!("{}/hosts", world.infra_env), &again);
        assert!(
            answer.status == 201 || answer.status == 400,
            "{text:?}: {} {}",
            answer.status,
            answer.text()
        );
        world.post(&reply("inventory", &strange));

        let stored = world.client.get(&world.hostile).expect(200);
        let inventory = &stored.json()["inventory"];
        if let Some(text) = inventory.as_str() {
            let inventory: Value = serde_json::from_str(text).unwrap();
            let hostname = inventory["hostname"].as_str().unwrap_or_default();
            assert!(!hostname.chars().any(char::is_control), "{hostname:?}");
        }
        let events = world.client.get("/events?limit=-1").expect(200).json();
        for event in events.as_array().unwrap() {
            let message = event["message"].as_str().unwrap();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
        let table = world.service.muster(&[
            "hosts",
            "--url",
            &format!("http://127.0.0.1:{}", world.service.port()),
        ]);
        assert!(!table.chars().any(|c| c.is_control() && c != '\n'), "{table:?}");
        assert_eq!(
            table.lines().count(),
            3,
            "two hosts, two lines and a heading: {table}"
        );
        world.is_well();
    }
    let log = world.service.log();
    assert!(
        !log.chars().any(|c| c.is_control() && c != '\n'),
        "the log holds control characters"
    );
}

fn requests_that_are_no_requests_harm_no_other_client(database: Database) {
    let world = World::on(database);
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
    let many_headers: String = (0..2000).map(|n| format!("X-Flood-{n}: {n}\r\n")).collect();
    let long_header = format!("X-Long: {}\r\n", "y".repeat(2 << 20));
    for (what, bytes) in [
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
            "a zero byte",
            format!("{head}X-Zero: \0\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        ),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        (
            "a packed body",
            format!("{head}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\u{1f}\u{b}").into_bytes(),
        ),
    ] {
        let answer = ask(&bytes);
        let status = if answer.is_empty() { 0 } else { status_of(&answer) };
        println!("{what}: {status}");
        // Without an answer the connection is closed, which is an answer to noise.
        assert!(status == 0 || (400..500).contains(&status), "{what}: {answer}");
        world.is_well();
    }
    let text = format!("{head}Content-Length: 6\r\n\r\n\u{7f}\u{1}{{}}").into_bytes();
    let mut not_utf8 = text;
    not_utf8.extend([0xff, 0xfe]);
    assert_eq!(status_of(&ask(&not_utf8)), 400);

    // Many who send nothing more after their first bytes, while others are served.
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

fn replies_for_foreign_hosts_change_nothing(database: Database) {
    let world = World::on(database);
    let other = infra_env(&world.client);
    let before = world.client.get(&world.good).expect(200).json();
    // The good machine's id in an InfraEnv where it is not.
    let misplaced = world.good.replace(&world.infra_env, &other);
    for step in ["inventory", "ntp-synchronizer"] {
        let output = if step == "inventory" {
            inventory(9)
        } else {
            json!({"ntp_sources": []})
        };
        let message = world
            .client
            .post(&format!("{misplaced}/instructions"), &reply(step, &output))
            .expect(404)
            .error_message();
        assert!(message.contains("not found"), "{message}");
    }
    world.client.get(&format!("{misplaced}/instructions")).expect(404);
    assert_eq!(
        world.client.get(&format!("{other}/hosts")).expect(200).json(),
        json!([])
    );
    let mut after = world.client.get(&world.good).expect(200).json();
    after["checked_in_at"] = before["checked_in_at"].clone();
    assert_eq!(after, before);
    world.is_well();
}
