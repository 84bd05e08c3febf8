//! Published clients from PyPI, against a service with the live image and machines that respond: from an InfraEnv to a
//! worker of an imported cluster and back. Their requests: docs/protocol/rest-behaviour.md#8.

use std::fs;
use std::time::Duration;

use muster_tests::artifacts::{live_image, project_root};
use muster_tests::process::Program;
use muster_tests::process::python::Environment;
use muster_tests::rest::PULL_SECRET;

use muster_tests::database::{Database, Served};
use muster_tests::hosts::agents::Agents;

/// Time limit of a walk. `aicli wait` polls every five seconds.
const LIMIT: Duration = Duration::from_secs(600);

/// A public key without a private key.
const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b";

/// `aicli`, with the operator's token of a service that requires tokens.
#[test]
fn aicli_discovers_binds_installs_and_gives_back_hosts() {
    let service = Database::Postgres.serve_with(|settings| settings.auth_local().live_image(&live_image()));
    let token = service.token(None);
    follow("by_aicli.py", &service, Some(&token));
}

/// A program that uses the Python SDK, against a service without authentication.
#[test]
fn the_python_sdk_discovers_binds_installs_and_gives_back_hosts() {
    let service = Database::Sqlite.serve_with(|settings| settings.live_image(&live_image()));
    follow("by_sdk.py", &service, None);
}

/// Runs a script of `tests/clients` as a user with a pull secret and an SSH key at home, while machines 1 and
/// 2 boot the image of the InfraEnv `lab` and machine 3 that of `lab-day2_infra-env`.
fn follow(script: &str, service: &Served, token: Option<&str>) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id_ed25519.pub"), format!("{SSH_KEY}\n")).unwrap();
    fs::write(home.path().join("openshift_pull.json"), PULL_SECRET).unwrap();

    let mut operator = service.http();
    let mut walk = Environment::of("clients").program("python", home.path());
    if let Some(token) = token {
        operator = operator.with("Authorization", token);
        walk.env("AI_TOKEN", token);
    }
    walk.env("AI_URL", format!("http://127.0.0.1:{}", service.port()))
        .env("LIVE_IMAGE", live_image())
        .arg(project_root().join("tests/clients").join(script));

    let mut agents = Agents::none();
    agents.boot(&operator, "lab", 1);
    agents.boot(&operator, "lab", 2);
    agents.boot(&operator, "lab-day2_infra-env", 3);
    let mut program = Program::start(script, &mut walk, &home.path().join("walk.log"));
    let status = program.await_exit(LIMIT);
    assert!(status.success(), "{script}: {status}");
    println!("{}", program.transcript().text());
    drop(agents);
}
