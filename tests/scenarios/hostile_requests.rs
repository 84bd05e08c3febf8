//! Requests that no client library would send, to every path of the description: each is answered, none with
//! a 5xx, and the service is well afterwards. What whole machines send is in `hostile_input`, what made-up
//! clients send in `description`.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::database::{Database, Served, host_id, infra_env, known_host, on_each_database};
use crate::raw_http::{read_to_end, status_of};
use muster_tests::http::TIMEOUT;

on_each_database!(
    every_method_on_every_path_is_known_or_405_with_those_that_are,
    headers_that_come_twice_are_answered,
    two_lengths_of_one_body_make_no_second_request,
    strange_paths_and_queries_are_answered,
    values_of_every_wrong_type_in_every_field_are_answered,
);

const METHODS: [&str; 11] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get",
];

/// A service with a host, and every operation that it describes.
struct World {
    service: Served,
    document: Value,
    infra_env: String,
}

/// An operation with ids in its path: of what is there, or of nothing where it would go.
struct Operation<'a> {
    method: String,
    path: String,
    described: &'a Value,
}

impl World {
    fn on(database: Database) -> Self {
        let service = database.serve();
        let client = service.http();
        let infra_env = infra_env(&client);
        known_host(&client, &infra_env, 1);
        let document = client
            .request("GET", "/api/assisted-install/v2/openapi", None)
            .expect(200)
            .json();
        Self {
            service,
            document,
            infra_env,
        }
    }

    /// Every described path with ids in it, and what is described of it.
    fn paths(&self) -> Vec<(String, &Value)> {
        let id = self.infra_env.trim_start_matches("/infra-envs/");
        let paths = self.document["paths"]
            .as_object()
            .expect("the description has paths");
        let filled = paths.iter().map(|(path, item)| {
            let mut filled = path
                .replace("{infra_env_id}", id)
                .replace("{host_id}", &host_id(1));
            while let Some((start, rest)) = filled.clone().split_once('{') {
                let (_, end) = rest.split_once('}').expect("a parameter ends");
                filled = format!("{start}{}{end}", host_id(77));
            }
            (filled, item)
        });
        filled.collect()
    }

    fn operations(&self) -> Vec<Operation<'_>> {
        let mut found = Vec::new();
        for (path, item) in self.paths() {
            for (method, described) in item.as_object().expect("a path has operations") {
                found.push(Operation {
                    method: method.to_uppercase(),
                    // What is deleted would be missed by the next question.
                    path: if method == "delete" {
                        path.replace(&host_id(1), &host_id(66))
                    } else {
                        path.clone()
                    },
                    described,
                });
            }
        }
        assert!(found.len() >= 20, "{} operations", found.len());
        found
    }

    /// Sends these bytes and returns the whole answer, which must be one, and not 5xx.
    #[track_caller]
    fn send(&self, what: &str, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.service.port())).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        // It may be refused before all of it is sent.
        let _ = stream.write_all(bytes);
        let answer = read_to_end(&mut stream);
        let asked: String = String::from_utf8_lossy(bytes).chars().take(300).collect();
        let status = status_of(&answer);
        assert!(
            (200..500).contains(&status),
            "{what}: {status}\n{answer}\n---- asked ----\n{asked}"
        );
        answer
    }

    /// A request with a JSON body, or none.
    #[track_caller]
    fn ask(&self, what: &str, method: &str, target: &str, more_headers: &str, body: Option<&[u8]>) -> String {
        let mut request =
            format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more_headers}");
        if let Some(body) = body {
            request += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        request += "\r\n";
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        self.send(what, &bytes)
    }

    /// The service is alive and has lost nothing.
    #[track_caller]
    fn is_well(&self) {
        let client = self.service.http();
        client.request("GET", "/health", None).expect(200);
        client
            .get(&format!("{}/hosts/{}/instructions", self.infra_env, host_id(1)))
            .expect(200);
        let log = self.service.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

/// True when an `Allow` header has that method.
fn lists(allow: &str, method: &str) -> bool {
    allow.split(',').any(|one| one.trim() == method)
}

fn every_method_on_every_path_is_known_or_405_with_those_that_are(database: Database) {
    let world = World::on(database);
    for (path, item) in world.paths() {
        let described = |method: &str| {
            let name = if method == "HEAD" {
                "get"
            } else {
                &method.to_lowercase()
            };
            method.chars().all(|c| c.is_ascii_uppercase()) && item.get(name).is_some()
        };
        for method in METHODS.into_iter().filter(|method| !described(method)) {
            // To CONNECT, a path is no target: HTTP refuses it before there is a request.
            let answer = world.ask("a method", method, &path, "", Some(b"{}"));
            let status = status_of(&answer);
            assert!(
                status == 405 || method == "CONNECT" && status == 400,
                "{method} {path}: {answer}"
            );
            if status == 405 {
                let allow = answer
                    .lines()
                    .find_map(|line| {
                        line.to_ascii_lowercase()
                            .strip_prefix("allow: ")
                            .map(str::to_uppercase)
                    })
                    .unwrap_or_else(|| panic!("{method} {path}: no Allow in {answer}"));
                for known in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                    assert_eq!(
                        lists(&allow, known),
                        described(known),
                        "{path}: {known} in {allow:?}"
                    );
                }
            }
        }
    }
    world.is_well();
}

fn headers_that_come_twice_are_answered(database: Database) {
    let world = World::on(database);
    for operation in world.operations() {
        let body = operation.described.get("requestBody").map(|_| &b"{}"[..]);
        for twice in [
            "Host: y\r\n",
            "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
            "Content-Length: 2\r\nContent-Length: 2\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            "Authorization: a\r\nAuthorization: b\r\n",
            "X-Secret-Key: a\r\nX-Secret-Key: b\r\n",
            "Image-Token: a\r\nImage-Token: \r\n",
            "discovery_agent_version: a\r\ndiscovery_agent_version: b\r\n",
            "X-Request-ID: a\r\nX-Request-ID: b\r\n",
            "Accept: application/json\r\nAccept: application/octet-stream\r\n",
            "Accept-Encoding: gzip\r\nAccept-Encoding: \r\n",
            "If-Modified-Since: never\r\nIf-Modified-Since: Sat, 21 Nov 2026 14:00:00 GMT\r\n",
            "Range: bytes=0-1\r\nRange: bytes=5-\r\n",
            "Expect: 100-continue\r\nExpect: 200-ok\r\n",
            "Accept: \u{fffd}\r\nX-Secret-Key: \u{fffd}\r\n",
        ] {
            world.ask(twice, &operation.method, &operation.path, twice, body);
        }
    }
    world.is_well();
}

/// RFC 9112, 6.3: chunks count, and the connection ends, for a proxy in front may have counted otherwise.
fn two_lengths_of_one_body_make_no_second_request(database: Database) {
    let world = World::on(database);
    let (length, chunked) = ("Content-Length: 4\r\n", "Transfer-Encoding: chunked\r\n");
    for lengths in [format!("{length}{chunked}"), format!("{chunked}{length}")] {
        let request = format!(
            "GET /health HTTP/1.1\r\nHost: x\r\n{lengths}\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: y\r\n\r\n"
        );
        let answers = world.send(&lengths, request.as_bytes());
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{lengths}: {answers}");
    }
    world.is_well();
}

fn strange_paths_and_queries_are_answered(database: Database) {
    let world = World::on(database);
    let long_value = format!("?file_name={}", "a".repeat(50_000));
    let many_pairs = format!("?{}", "severities=info&".repeat(3000));
    let huge = format!("?x={}", "%41".repeat(400_000));
    let many_ids = format!("?host_ids={}", vec![host_id(1); 1500].join(","));
    let queries = [
        "?",
        "?%",
        "?%zz=%zz",
        "?a=%ff%fe",
        "?host_ids=%00",
        "?=",
        "?&&&&",
        "?=&=",
        "?a[]=1&a[]=2",
        "?a=1?b=2",
        "?file_name=discovery.ign&file_name=ipxe-script",
        "?limit=99999999999999999999999",
        "?limit=-9223372036854775808",
        "?offset=9223372036854775807",
        "?timestamp=-9223372036854775808",
        "?timestamp=1e9",
        "?order=",
        "?cluster_id=",
        "?infra_env_id=%2e%2e",
        "?mac=%0d%0aSet-Cookie:%20a",
        "?message=%25%5f%5c'\"",
        "?a=+%20+",
        "?a=b;c=d",
        &long_value,
        &many_pairs,
        &huge,
        &many_ids,
    ];
    for operation in world.operations() {
        let Operation {
            method,
            path,
            described,
        } = operation;
        let body = described.get("requestBody").map(|_| &b"{}"[..]);
        for query in queries {
            world.ask("a query", &method, &format!("{path}{query}"), "", body);
        }
        let (folder, last) = path.rsplit_once('/').expect("paths have slashes");
        for strange in [
            format!("{path}/"),
            format!("{path}//"),
            format!("{path}%00"),
            format!("{path}%"),
            format!("{path}%zz"),
            format!("{path}%ff%fe"),
            format!("{path}%2f..%2f.."),
            format!("{path}/../../../etc/passwd"),
            format!("{folder}/%2e%2e/{last}"),
            format!("{folder}/\u{fffd}/{last}"),
            format!("{folder}//.//{last}"),
            format!("{folder}/{{host_id}}"),
            format!("{folder}/{}", "%41".repeat(2000)),
            format!("http://elsewhere.example{path}"),
            format!("//elsewhere.example{path}"),
            path.to_uppercase(),
            path.replace('-', "%2D"),
            format!("{path}#fragment"),
        ] {
            world.ask("a path", &method, &strange, "", body);
        }
    }
    world.is_well();
}

/// Values that few fields accept: one of each JSON type, and the extremes of each.
fn wrong_values() -> Vec<String> {
    let texts = json!([
        "\u{0}",
        "\u{feff}",
        "😀",
        "a\r\nb: c",
        "../..",
        "%s",
        "",
        "9".repeat(5000)
    ]);
    let mut values: Vec<String> = texts
        .as_array()
        .expect("a list")
        .iter()
        .map(Value::to_string)
        .collect();
    values.extend(
        [
            "null",
            "true",
            "-1",
            "0",
            "1.5",
            "1e400",
            "-1e-400",
            "18446744073709551616",
            "-9223372036854775809",
            "[]",
            "[null]",
            "[[]]",
            "[{}]",
            "{}",
            r#"{"a":{}}"#,
            r#""\ud800""#,
            r#""\x""#,
            "NaN",
            "'x'",
            "",
        ]
        .map(str::to_owned),
    );
    values.push("[".repeat(500) + &"]".repeat(500));
    values
}

fn values_of_every_wrong_type_in_every_field_are_answered(database: Database) {
    let world = World::on(database);
    let values = wrong_values();
    let mut fields_seen = 0;
    for operation in world.operations() {
        let Some(described) = operation.described.get("requestBody") else {
            continue;
        };
        let Operation { method, path, .. } = &operation;
        for value in &values {
            world.ask("a body", method, path, "", Some(value.as_bytes()));
        }
        for odd in [
            &b"\xef\xbb\xbf{}"[..],
            b"{}\x00",
            b"\xff\xff",
            b"{\"a\":1}{\"a\":2}",
            b"{\"a\":1,\"a\":2}",
            b"{\"\\u0000\":1}",
            b"{,}",
            b"{\"a\"",
            b"//\n{}",
        ] {
            world.ask("odd JSON", method, path, "", Some(odd));
        }
        for field in fields(&world.document, described) {
            fields_seen += 1;
            for value in &values {
                let body = format!("{{{}:{value}}}", json!(field));
                world.ask("a field", method, path, "", Some(body.as_bytes()));
                let twice = format!("{{{0}:{value},{0}:{value}}}", json!(field));
                world.ask("a field twice", method, path, "", Some(twice.as_bytes()));
            }
        }
    }
    assert!(fields_seen > 20, "{fields_seen} fields");
    world.is_well();
}

/// The names of the fields of a described body.
fn fields(document: &Value, body: &Value) -> Vec<String> {
    let mut schema = &body["content"]["application/json"]["schema"];
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference
            .strip_prefix('#')
            .expect("references stay in the document");
        schema = document.pointer(pointer).expect("references lead somewhere");
    }
    let properties = schema["properties"].as_object();
    properties.map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
}
