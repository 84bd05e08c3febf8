//! The API over TLS; boot artifacts stay on plain HTTP, and nothing else is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use muster_api::BASE_PATH;
use muster_tests::artifacts::{live_image, muster_program};
use muster_tests::condition::await_condition;
use muster_tests::process::ports::ReservedPort;
use muster_tests::process::{Program, command};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::SERVE_ON_FREE_PORTS;
use serde_json::json;
use tempfile::TempDir;

use muster_tests::database::{infra_env, known_host};
use muster_tests::http::HttpClient;
use muster_tests::http::raw::{connect, read_to_end};

/// A throw-away certificate for 127.0.0.1.
struct Identity {
    folder: TempDir,
    pem: String,
}

impl Identity {
    fn new() -> Self {
        let made =
            rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pem = made.cert.pem();
        fs::write(folder.path().join("cert.pem"), &pem).unwrap();
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { folder, pem }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A client that trusts only this certificate.
    fn client(&self, port: u16) -> HttpClient {
        HttpClient::trusting(&format!("https://127.0.0.1:{port}"), self.pem.as_bytes())
    }

    /// Starts a service with it; returns its two ports.
    fn serve(&self, more: &[&str]) -> (Program, u16, u16) {
        let mut serve = command(muster_program());
        serve.args(SERVE_ON_FREE_PORTS);
        serve.arg("--data-dir").arg(self.path("data"));
        serve
            .arg("--tls-cert")
            .arg(self.path("cert.pem"))
            .arg("--tls-key")
            .arg(self.path("key.pem"));
        serve.arg("--live-image").arg(live_image()).args(more);
        let mut service = Program::start("muster serve", &mut serve, &self.path("log"));
        let mut port = |pattern: &str| -> u16 {
            service
                .await_output(pattern, Duration::from_secs(30))
                .parse()
                .unwrap()
        };
        let (api, boot) = (
            port("listening on https://127.0.0.1:(\\d+)"),
            port("boot artifacts on http://127.0.0.1:(\\d+)"),
        );
        service.await_output("(muster hosts)", Duration::from_secs(30));
        (service, api, boot)
    }
}

#[test]
fn the_api_speaks_tls_and_the_boot_listener_serves_boot_artifacts_alone() {
    let identity = Identity::new();
    let (_service, port, boot_port) = identity.serve(&[]);
    let client = identity.client(port);
    let path = infra_env(&client);
    let host = known_host(&client, &path, 1);
    assert_eq!(client.get(&host).expect(200).json()["status"], "known-unbound");

    // Plain HTTP is refused.
    let plain = read_to_end(&mut connect(
        port,
        b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ));
    assert!(!plain.contains(" 200 "), "{plain}");
    // So is a client that does not trust the certificate.
    let table = |ca: &[&str]| {
        let mut hosts = Command::new(muster_program());
        hosts
            .args(["hosts", "--url", &format!("https://127.0.0.1:{port}")])
            .args(ca);
        hosts.stdin(Stdio::null()).output().unwrap()
    };
    assert!(!table(&[]).status.success());
    let shown = table(&["--ca", identity.path("cert.pem").to_str().unwrap()]);
    assert!(
        String::from_utf8_lossy(&shown.stdout).contains("known-unbound"),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );

    // Machines get the certificate, and addresses on the plain listener for files that firmware loads.
    let ignition = client
        .get(&format!("{path}/downloads/files?file_name=discovery.ign"))
        .expect(200)
        .text();
    assert!(ignition.contains("/etc/muster/config.json"), "{ignition}");
    let iso = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let iso = iso["url"].as_str().unwrap();
    assert!(
        iso.starts_with(&format!("http://127.0.0.1:{boot_port}/boot/")),
        "{iso}"
    );
    let script = client
        .get(&format!("{path}/downloads/files-presigned?file_name=ipxe-script"))
        .expect(200)
        .json();
    let script = script["url"].as_str().unwrap();
    assert!(
        script.starts_with(&format!("http://127.0.0.1:{boot_port}/")),
        "{script}"
    );

    let boot = HttpClient::new(&format!("http://127.0.0.1:{boot_port}"));
    let below = |url: &str| {
        url[url.find(&format!(":{boot_port}/")).unwrap() + 1 + boot_port.to_string().len()..].to_owned()
    };
    boot.request("HEAD", &below(iso), None).expect(200);
    let text = boot.request("GET", &below(script), None).expect(200).text();
    assert!(text.starts_with("#!ipxe") && !text.contains("https://"), "{text}");
    for (method, path) in [
        ("GET", "/infra-envs".to_owned()),
        ("POST", "/infra-envs".to_owned()),
        ("GET", path.clone()),
        ("GET", format!("{path}/hosts")),
        ("POST", format!("{path}/hosts")),
        ("GET", host.clone()),
        ("GET", format!("{host}/instructions")),
        ("GET", "/events".to_owned()),
        ("GET", format!("{path}/downloads/image-url")),
        (
            "GET",
            format!("{path}/downloads/files-presigned?file_name=ipxe-script"),
        ),
        ("GET", format!("{path}/downloads/files?file_name=discovery.ign")),
        (
            "GET",
            format!("{path}/downloads/files?file_name=static-network-config"),
        ),
        (
            "GET",
            format!("{path}/downloads/files?file_name=discovery.ign&file_name=ipxe-script"),
        ),
        (
            "GET",
            format!("{path}/downloads/files?file_name=ipxe-script&file_name=discovery.ign"),
        ),
        ("GET", "/openapi".to_owned()),
    ] {
        let body = json!({"name": "x", "pull_secret": PULL_SECRET}).to_string();
        let body = (method == "POST").then_some(body.as_bytes());
        let answer = boot.request(method, &format!("{BASE_PATH}{path}"), body);
        assert!(
            [400, 404, 405].contains(&answer.status),
            "{method} {path} on the boot listener: {} {}",
            answer.status,
            answer.text()
        );
        assert!(
            !answer.text().contains("storage"),
            "{method} {path} gives the ignition over plain HTTP"
        );
    }
    for path in ["/metrics", "/ready", "/api/assisted-install/openapi"] {
        boot.request("GET", path, None).expect(404);
    }
}

/// A service on every address, which needs only a public URL, and the port of its API.
fn serve_everywhere(data: &Path, more: &[&str]) -> (Program, u16) {
    let mut serve = command(muster_program());
    serve.args([
        "serve",
        "--boot-listen",
        "127.0.0.1:0",
        "--kube-listen",
        "127.0.0.1:0",
    ]);
    serve.args(["--listen", "0.0.0.0:0", "--auth", "none"]);
    serve.arg("--data-dir").arg(data).args(more);
    let mut service = Program::start("muster serve", &mut serve, &data.with_extension("log"));
    let port = service.await_output("listening on https://[0-9.]+:(\\d+)", Duration::from_secs(30));
    service.await_output("(muster hosts)", Duration::from_secs(30));
    (service, port.parse().unwrap())
}

#[test]
fn beyond_loopback_the_api_speaks_tls_by_an_authority_that_outlives_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let more = ["--public-url", "https://muster.lab.test:8090"];
    let (service, port) = serve_everywhere(&data, &more);
    let authority = fs::read(data.join("muster-ca.crt")).unwrap();
    let client = HttpClient::trusting(&format!("https://127.0.0.1:{port}"), &authority);
    let path = infra_env(&client);
    let ignition = client
        .get(&format!("{path}/downloads/files?file_name=discovery.ign"))
        .expect(200)
        .text();
    let (_, config) = ignition.split_once("base64,").unwrap();
    let config = BASE64_STANDARD.decode(config.split('"').next().unwrap()).unwrap();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    assert_eq!(config["service_url"], "https://muster.lab.test:8090", "{config}");
    assert_eq!(config["ca_certificates"].as_str().unwrap().as_bytes(), authority);

    // The response to plain HTTP names the fault.
    let plain = read_to_end(&mut connect(port, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
    let (head, body) = plain.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(head.starts_with("HTTP/1.1 400 "), "{plain}");
    assert!(body["message"].as_str().unwrap().contains("https://"), "{plain}");

    drop(service);
    let (_service, port) = serve_everywhere(&data, &more);
    let client = HttpClient::trusting(&format!("https://127.0.0.1:{port}"), &authority);
    client.get(&path).expect(200);
}

#[test]
fn a_renewed_certificate_is_taken_while_the_service_runs() {
    let mut identity = Identity::new();
    let (_service, port, boot_port) = identity.serve(&[]);
    let path = infra_env(&identity.client(port));
    let boot = HttpClient::new(&format!("http://127.0.0.1:{boot_port}"));
    let iso = identity.client(port).get(&format!("{path}/downloads/image-url"));
    let iso = iso.expect(200).json()["url"].as_str().unwrap().to_owned();
    let iso = iso[iso.find("/boot/").unwrap()..].to_owned();
    let tag = || boot.request("HEAD", &iso, None).expect(200).headers["etag"].clone();
    let before = tag();

    // Half of a pair, or an invalid file, changes nothing.
    let old_key = fs::read_to_string(identity.path("key.pem")).unwrap();
    fs::write(identity.path("key.pem"), "nonsense").unwrap();
    let new = Identity::new();
    identity.client(port).get(&path).expect(200);
    fs::write(identity.path("key.pem"), &old_key).unwrap();

    fs::copy(new.path("cert.pem"), identity.path("cert.pem")).unwrap();
    fs::copy(new.path("key.pem"), identity.path("key.pem")).unwrap();
    identity.pem.clone_from(&new.pem);
    await_condition("the new certificate", Duration::from_secs(60), || {
        identity
            .client(port)
            .try_request("GET", "/health", None)
            .map(drop)
    });
    // Images that are downloaded now trust the new one.
    await_condition("images with it", Duration::from_secs(20), || {
        if tag() == before {
            Err("the image of before".to_owned())
        } else {
            Ok(())
        }
    });
}

#[test]
fn health_and_metrics_have_a_listener_of_their_own_where_one_is_asked_for() {
    let identity = Identity::new();
    let status = ReservedPort::reserve();
    let address = format!("127.0.0.1:{}", status.number());
    let (_service, port, _) = identity.serve(&["--status-listen", &address]);
    let own = HttpClient::new(&format!("http://{address}"));
    for path in ["/health", "/ready", "/metrics"] {
        own.request("GET", path, None).expect(200);
    }
    own.request("GET", &format!("{BASE_PATH}/infra-envs"), None)
        .expect(404);
    let api = identity.client(port);
    api.request("GET", "/ready", None).expect(200);
    api.request("GET", "/metrics", None).expect(404);
}

#[test]
fn a_service_without_tokens_answers_no_pages_of_other_names() {
    let identity = Identity::new();
    let (_service, port, _) = identity.serve(&["--auth", "none"]);
    let client = identity.client(port);
    for (header, value) in [("host", "rebound.evil.com"), ("origin", "https://evil.com")] {
        let answer = client.with(header, value).get("/infra-envs").expect(403);
        assert!(answer.text().contains("--auth local"), "{}", answer.text());
    }
}

#[test]
fn bad_certificate_files_are_reported_at_the_start() {
    let identity = Identity::new();
    let other = Identity::new();
    fs::write(identity.path("garbage.pem"), "garbage").unwrap();
    fs::write(identity.path("empty.pem"), "").unwrap();
    let (cert, key) = (identity.path("cert.pem"), identity.path("key.pem"));
    for (cert, key, texts) in [
        (&identity.path("missing.pem"), &key, ["--tls-cert", "missing.pem"]),
        (&cert, &identity.path("missing.pem"), ["--tls-key", "missing.pem"]),
        (&identity.path("garbage.pem"), &key, ["--tls-cert", "garbage.pem"]),
        (&cert, &identity.path("garbage.pem"), ["--tls-key", "garbage.pem"]),
        (&identity.path("empty.pem"), &key, ["--tls-cert", "empty.pem"]),
        (&cert, &other.path("key.pem"), ["--tls-cert", "--tls-key"]),
        (&key, &cert, ["--tls-cert", "--tls-key"]),
    ] {
        let mut serve = Command::new(muster_program());
        serve.args(SERVE_ON_FREE_PORTS);
        serve.arg("--data-dir").arg(identity.path("data"));
        serve
            .arg("--tls-cert")
            .arg(cert)
            .arg("--tls-key")
            .arg(key)
            .stdin(Stdio::null());
        let output = muster_within(serve);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success(),
            "it starts with {} and {}",
            cert.display(),
            key.display()
        );
        for word in texts {
            assert!(
                printed.contains(word),
                "{} and {}: {printed}",
                cert.display(),
                key.display()
            );
        }
        assert!(!printed.contains("panicked"), "{printed}");
    }
    for (alone, other) in [("--tls-cert", "--tls-key"), ("--tls-key", "--tls-cert")] {
        let mut serve = Command::new(muster_program());
        serve.args(["serve", alone]).arg(&cert).stdin(Stdio::null());
        let output = muster_within(serve);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && printed.contains(other), "{printed}");
    }
}

/// The output of a service that should not start. One that does is ended after a while, and fails.
fn muster_within(serve: Command) -> std::process::Output {
    let mut limited = Command::new("timeout");
    limited.arg("20").arg(serve.get_program()).args(serve.get_args());
    limited.stdin(Stdio::null()).output().unwrap()
}
