//! `muster` commands against a service, and what they say when something is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use muster_tests::artifacts::muster_program;
use muster_tests::condition::await_condition;
use muster_tests::ports::ReservedPort;
use muster_tests::process::{Program, command};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{SERVE_ON_FREE_PORTS, Settings};

use crate::database::{Database, known_host, on_each_database};
use muster_tests::http::HttpClient;

on_each_database!(
    infra_envs_and_hosts_are_shown_and_made_by_commands,
    mistakes_are_reported_with_what_to_do
);

/// Runs `muster` with nothing of our environment that it would read.
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

fn infra_envs_and_hosts_are_shown_and_made_by_commands(database: Database) {
    let service = database.serve_with(Settings::auth_local);
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
    assert_eq!(made["additional_ntp_sources"], "192.0.2.1");
    assert_eq!(made["proxy"]["https_proxy"], "http://proxy.test:3128");
    assert!(made["ssh_authorized_key"].as_str().unwrap().ends_with("a@b"));

    let list = succeeds(&["infra-env", "list", "--url", &url], token);
    assert!(
        list.starts_with("NAME") && list.contains("from the command line") && list.contains(&id),
        "{list}"
    );
    let empty = succeeds(&["hosts", "--url", &url], token);
    assert_eq!(
        empty.split_whitespace().collect::<Vec<_>>(),
        [
            "NAME", "INFRAENV", "STATE", "CPU", "MEMORY", "DISK", "SERIAL", "ADDRESS", "CLUSTER", "LAST",
            "SEEN", "WHY"
        ]
    );

    // A watching terminal sees the machine come.
    let mut watch = command(muster_program());
    watch
        .args(["hosts", "--watch", "--url", &url])
        .env("MUSTER_TOKEN", &operator);
    let mut watch = Program::start(
        "muster hosts --watch",
        &mut watch,
        &folder.path().join("watch.log"),
    );
    watch.await_output("LAST SEEN", Duration::from_secs(20));
    let agent = service.token(Some(&id));
    let host = known_host(
        &service.http().with("X-Secret-Key", &agent),
        &format!("/infra-envs/{id}"),
        1,
    );
    watch.await_output(
        "host-1 .* from the command line .* known-unbound",
        Duration::from_secs(20),
    );
    let wide = ["hosts", "--url", &url, "--infra-env", &id, "-o", "wide"];
    let table = succeeds(&wide, token);
    let row = table.lines().nth(1).unwrap();
    for cell in [
        "host-1",
        host.rsplit('/').next().unwrap(),
        "from the command line",
        "known-unbound",
        "s ago",
    ] {
        assert!(row.contains(cell), "{table}");
    }

    // On its way into a cluster it has no inventory, and the name that came with that.
    let import = [
        "cluster",
        "import",
        "--url",
        &url,
        "--name",
        "prod",
        "--domain",
        "example.com",
    ];
    succeeds(&import, token);
    succeeds(
        &["host", "bind", "--url", &url, "host-1", "--cluster", "prod"],
        token,
    );
    let moving = succeeds(&["hosts", "--url", &url], token);
    let row = moving.lines().nth(1).unwrap();
    assert!(
        row.starts_with("host-1 ") && row.contains(" binding "),
        "{moving}"
    );
    let history = succeeds(&["host", "history", "--url", &url, "host-1"], token);
    assert!(
        history.contains("Host host-1 was bound to the cluster prod"),
        "{history}"
    );

    fails(
        &["infra-env", "delete", "--url", &url, &id],
        token,
        &["400", "the InfraEnv from the command line still has 1 host"],
    );
    service
        .http()
        .with("Authorization", &operator)
        .delete(&host)
        .expect(204);
    succeeds(&["infra-env", "delete", "--url", &url, &id], token);
    fails(
        &["infra-env", "delete", "--url", &url, &id],
        token,
        &["does not exist", &id],
    );
}

fn mistakes_are_reported_with_what_to_do(database: Database) {
    let service = database.serve_with(Settings::auth_local);
    let url = format!("http://127.0.0.1:{}", service.port());
    let token = service.token(None);
    let token = Some(token.as_str());
    let unused = ReservedPort::reserve();
    let down = format!("http://127.0.0.1:{}", unused.number());
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let broken = folder.path().join("broken.json");
    fs::write(&broken, "no JSON").unwrap();

    fails(&["hosts", "--url", &down], token, &["no answer", &down, "--url"]);
    fails(&["hosts", "--url", &url], None, &["401"]);
    fails(&["hosts", "--url", &url], Some("wrong"), &["401", "malformed"]);
    fails(&["hosts", "--url", "no url"], token, &["no url"]);
    fails(
        &[
            "infra-env",
            "create",
            "--url",
            &url,
            "--name",
            "x",
            "--pull-secret",
            missing,
        ],
        token,
        &["--pull-secret", missing, "No such file"],
    );
    fails(
        &[
            "infra-env",
            "create",
            "--url",
            &url,
            "--name",
            "x",
            "--pull-secret",
            broken.to_str().unwrap(),
        ],
        token,
        &["400", "pull_secret"],
    );
    fails(
        &["infra-env", "delete", "--url", &url, "no-id"],
        token,
        &["no-id"],
    );
    fails(
        &["hosts", "--url", &url, "--ca", missing],
        token,
        &["--ca", missing],
    );
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
    serve(&["--drain-timeout", "long"], &["--drain-timeout", "30"]);
    let taken = format!("127.0.0.1:{}", service.port());
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
        // A proxy on this machine leads here.
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
        let port = port_in(&service.await_output("listening on (http://\\S+)", Duration::from_secs(30)));
        service.await_output("Next, in another terminal", Duration::from_secs(30));
        service.await_output("(muster hosts)", Duration::from_secs(30));
        let text = service.transcript().text();
        assert_eq!(
            text.contains("muster token create --operator"),
            asks,
            "{address} {more:?}: {text}"
        );
        let client = HttpClient::new(&format!("http://127.0.0.1:{port}"));
        await_condition("the service to answer", Duration::from_secs(20), || {
            client
                .try_request("GET", "/health", None)
                .map(drop)
                .map_err(|error| error.to_string())
        });
        client.get("/infra-envs").expect(if asks { 401 } else { 200 });
    }
}
