//! `muster` commands against a service, and their output on errors, as far as `service/tests/command_line` has no
//! golden file for it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use muster_tests::artifacts::muster_program;
use muster_tests::condition::await_condition;
use muster_tests::database::{Database, known_host};
use muster_tests::http::HttpClient;
use muster_tests::process::ports::ReservedPort;
use muster_tests::process::{Program, command};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{SERVE_ON_FREE_PORTS, Settings};

/// Only reached by a program that hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `muster` without the variables of our environment that it would read.
fn muster(arguments: &[&str], token: Option<&str>) -> Output {
    let mut command = Command::new(muster_program());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MUSTER_")) {
        command.env_remove(name);
    }
    if let Some(token) = token {
        command.env("MUSTER_TOKEN", token);
    }
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn succeeds(arguments: &[&str], token: Option<&str>) -> String {
    let output = muster(arguments, token);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn fails(arguments: &[&str], token: Option<&str>, texts: &[&str]) {
    let output = muster(arguments, token);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} succeeds");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?}: errors belong on standard error"
    );
    for word in texts {
        assert!(
            printed.contains(word),
            "{arguments:?} does not say {word:?}: {printed}"
        );
    }
    assert!(
        !printed.contains("panicked") && !printed.contains("RUST_BACKTRACE"),
        "{printed}"
    );
}

#[test]
fn an_infra_env_is_made_of_files_and_a_watching_terminal_sees_its_machine_come() {
    let service = Database::Sqlite.serve_with(Settings::auth_local);
    let url = format!("http://127.0.0.1:{}", service.port());
    let operator = service.token(None);
    let token = Some(operator.as_str());
    let folder = tempfile::tempdir().unwrap();
    let (secret, key) = (
        folder.path().join("pull-secret.json"),
        folder.path().join("key.pub"),
    );
    fs::write(&secret, format!("{PULL_SECRET}\n")).unwrap();
    fs::write(
        &key,
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b\n",
    )
    .unwrap();
    let create = [
        "infra-env",
        "create",
        "--url",
        &url,
        "--name",
        "from the command line",
        "--pull-secret",
        secret.to_str().unwrap(),
        "--ssh-key",
        key.to_str().unwrap(),
        "--ntp-sources",
        "192.0.2.1",
        "--proxy",
        "http://proxy.test:3128",
        "--openshift-version",
        "4.20",
    ];
    let printed = succeeds(&create, token);
    let value = |name: &str| {
        printed
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|rest| rest.trim().to_owned())
            .unwrap_or_else(|| panic!("{printed}"))
    };
    let (id, iso, script) = (value("infra-env"), value("iso"), value("ipxe"));
    assert!(
        iso.ends_with("/discovery.iso") && script.ends_with("/boot.ipxe"),
        "{printed}"
    );
    let made = service
        .http()
        .with("Authorization", &operator)
        .get(&format!("/infra-envs/{id}"))
        .expect(200)
        .json();
    assert_eq!(made["pull_secret_set"], true);
    assert_eq!(made["additional_ntp_sources"], "192.0.2.1");
    assert_eq!(made["proxy"]["https_proxy"], "http://proxy.test:3128");
    assert!(made["ssh_authorized_key"].as_str().unwrap().ends_with("a@b"));

    let mut watch = command(muster_program());
    watch
        .args(["hosts", "--watch", "--url", &url])
        .env("MUSTER_TOKEN", &operator);
    let mut watch = Program::start(
        "muster hosts --watch",
        &mut watch,
        &folder.path().join("watch.log"),
    );
    watch.await_output("LAST SEEN", LIMIT);
    let agent = service.token(Some(&id));
    known_host(
        &service.http().with("X-Secret-Key", &agent),
        &format!("/infra-envs/{id}"),
        1,
    );
    watch.await_output("host-1 .* from the command line .* known-unbound", LIMIT);
    fails(
        &["infra-env", "delete", "--url", &url, "no-id"],
        token,
        &["no-id"],
    );
}

#[test]
fn mistakes_are_reported_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let broken = folder.path().join("broken.json");
    fs::write(&broken, "no JSON").unwrap();
    let unused = ReservedPort::reserve();
    let down = format!("http://127.0.0.1:{}", unused.number());
    fails(&["hosts", "--url", &down], None, &["no answer", &down, "--url"]);
    fails(
        &["token", "--operator", "--data-dir", missing],
        None,
        &[missing, "--data-dir"],
    );
    fails(&["token", "--data-dir", missing], None, &["--operator"]);
    fails(
        &["token", "--operator", "--database-url", "mysql://x/y"],
        None,
        &["sqlite://", "postgres://"],
    );
    assert!(
        !Path::new(missing).exists(),
        "asking for a token makes no database"
    );
    let wrong = "postgres://nobody:a-password@127.0.0.1:1/none?sslmode=nonsense";
    let output = muster(&["token", "--operator", "--database-url", wrong], None);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && !printed.contains("a-password"),
        "{printed}"
    );

    let data_dir = folder.path().join("data").display().to_string();
    let serve = |more: &[&str], texts: &[&str]| {
        let mut arguments = SERVE_ON_FREE_PORTS.to_vec();
        arguments.extend(["--data-dir", &data_dir]);
        arguments.extend(more);
        fails(&arguments, None, texts);
    };
    serve(&["--public-url", "ftp://x"], &["--public-url", "http://"]);
    serve(&["--database-url", "mysql://x/y"], &["sqlite://", "postgres://"]);
    serve(&["--auth-key", missing], &["--auth-key", missing]);
    serve(
        &["--auth-key", broken.to_str().unwrap()],
        &["--auth-key", "openssl"],
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    fails(
        &["serve", "--data-dir", &data_dir, "--listen", &taken],
        None,
        &["--listen", &taken],
    );
    let below_a_file = format!("{}/data", broken.display());
    fails(
        &[
            "serve",
            "--data-dir",
            &below_a_file,
            "--listen",
            "127.0.0.1:0",
            "--boot-listen",
            "127.0.0.1:0",
            "--kube-listen",
            "127.0.0.1:0",
        ],
        None,
        &["--data-dir", &below_a_file],
    );
}

/// The port of a service that was started on port 0.
fn port_in(line: &str) -> u16 {
    line.rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn beyond_loopback_a_service_asks_for_tokens_unless_configured_otherwise() {
    let elsewhere = ["--public-url", "http://192.0.2.1:8090"];
    for (address, more, asks) in [
        ("0.0.0.0:0", &elsewhere[..], true),
        (
            "[::]:0",
            &["--insecure-http", "--public-url", "http://192.0.2.1:8090"][..],
            true,
        ),
        (
            "0.0.0.0:0",
            &["--auth", "none", "--public-url", "http://192.0.2.1:8090"][..],
            false,
        ),
        // A proxy on this machine forwards to this address.
        ("127.0.0.1:0", &elsewhere[..], true),
        ("127.0.0.1:0", &[][..], false),
        ("127.0.0.1:0", &["--auth", "local"][..], true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut serve = command(muster_program());
        serve.args([
            "serve",
            "--listen",
            address,
            "--boot-listen",
            "127.0.0.1:0",
            "--kube-listen",
            "127.0.0.1:0",
        ]);
        serve.arg("--data-dir").arg(folder.path().join("data")).args(more);
        let mut service = Program::start("muster serve", &mut serve, &folder.path().join("log"));
        let port = port_in(&service.await_output("listening on (http://\\S+)", LIMIT));
        service.await_output("Next, in another terminal", LIMIT);
        service.await_output("(muster hosts)", LIMIT);
        let text = service.transcript().text();
        assert_eq!(
            text.contains("muster token create --operator --expires 30d"),
            asks,
            "{address} {more:?}: {text}"
        );
        // The simulator is in the same folder, and needs neither a token nor another address.
        let simulated =
            format!("muster-fleet --hosts 20 --infra-env simulated --url http://127.0.0.1:{port} ");
        let is_for_here = address.starts_with("127.0.0.1") && !asks;
        assert_eq!(
            text.contains(&simulated),
            is_for_here,
            "{address} {more:?}: {text}"
        );
        let client = HttpClient::new(&format!("http://127.0.0.1:{port}"));
        await_condition("the service to answer", LIMIT, || {
            client
                .try_request("GET", "/health", None)
                .map(drop)
                .map_err(|error| error.to_string())
        });
        client.get("/infra-envs").expect(if asks { 401 } else { 200 });
    }
}
