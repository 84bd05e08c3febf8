//! Requests that no client library would send, to every path of the description: each has a response, none a 5xx, and
//! the service is healthy afterwards. Requests of libraries are in `service/rest/tests/routes/hostile_input.rs`, those
//! of generated clients in `description`.

use std::io::Write;
use std::net::TcpStream;

use muster_tests::database::{Database, Served, host_id, infra_env, known_host};
use muster_tests::http::TIMEOUT;
use muster_tests::http::raw::{read_to_end, status_of};
use muster_tests::service::description::{Description, Operation};

/// A service with a host, and every operation that it describes.
struct World {
    service: Served,
    description: Description,
    infra_env: String,
}

impl World {
    fn start() -> Self {
        let service = Database::Sqlite.serve();
        let client = service.http();
        let infra_env = infra_env(&client);
        known_host(&client, &infra_env, 1);
        Self {
            description: Description::of(&client, &infra_env),
            service,
            infra_env,
        }
    }

    /// Sends these bytes and returns the whole response, which must be exactly one, and not 5xx.
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

    /// Checks that the service runs and has lost nothing.
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

#[test]
fn headers_that_come_twice_are_answered() {
    let world = World::start();
    for operation in world.description.operations() {
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
            // Of a body that does not come the service awaits the rest for seconds: once is enough.
            let announces = twice.starts_with("Content-Length") || twice.starts_with("Transfer-Encoding");
            if announces && operation.path != "/api/assisted-install/v2/clusters" {
                continue;
            }
            world.ask(twice, &operation.method, &operation.path, twice, body);
        }
    }
    world.is_well();
}

/// RFC 9112, 6.3: chunks count, and the connection ends, since a proxy in front may have counted otherwise.
#[test]
fn two_lengths_of_one_body_make_no_second_request() {
    let world = World::start();
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

#[test]
fn strange_paths_and_queries_are_answered() {
    let world = World::start();
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
    for operation in world.description.operations() {
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
