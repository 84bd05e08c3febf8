//! With `--secrets-key` no secret is plain in the files of a running service's database.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muster_tests::condition::await_condition;
use muster_tests::database::postgres::Postgres;
use muster_tests::process::{command, output_within};
use serde_json::json;

use crate::world::{LIMIT, World, serve};

const CANARY: &str = "canary-at-rest-7c41";

/// Part of every plain key in the database: PEM of private keys.
const KEY: &str = "PRIVATE KEY-----";

/// Base64 of [`CANARY`], as a Secret has it.
const ENCODED: &str = "Y2FuYXJ5LWF0LXJlc3QtN2M0MQ==";

/// Base64 of `robot:`, which goes before it.
const USER: &str = "cm9ib3Q6";

/// Puts a secret of each kind into the service, by both APIs.
fn plant(world: &World, name: &str) {
    let pull_secret =
        json!({"auths": {"registry.example.com": {"auth": format!("{USER}{ENCODED}")}}}).to_string();
    let infra_env = json!({
        "name": name,
        "pull_secret": pull_secret,
        "ignition_config_override": json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [
            {"path": "/etc/canary", "contents": {"source": format!("data:,{CANARY}")}}
        ]}}).to_string(),
        "proxy": {"http_proxy": format!("http://robot:{CANARY}@proxy.example.com:3128")},
    });
    world.rest().post("/infra-envs", &infra_env).expect(201);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
        "stringData": {"kubeconfig": CANARY, "value": CANARY},
    });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"value": "nothing-to-hide-7c41"},
    });
    world.kubectl().apply(&[secret, map]);
}

fn secret_of(world: &World, name: &str) -> String {
    let read = ["get", "secret", name, "-o", "jsonpath={.data.value}"];
    world.kubectl().run(&read)
}

/// Files of the folder that have one of the texts in them.
fn files_with(folder: &Path, texts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it is listed").path();
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path).expect("it is read");
        for text in texts {
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(format!("{} in {}", text, path.display()));
            }
        }
    }
    found
}

/// Plain secrets in the database's files. The kubeconfig in the same folder is for its owner.
fn plain(data_dir: &Path) -> Vec<String> {
    let mut found = files_with(data_dir, &[CANARY, ENCODED, KEY]);
    found.retain(|found| found.contains("muster.db"));
    found
}

fn key_file(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    let mut create = command(env!("CARGO_BIN_EXE_muster"));
    create.args(["secrets-key", "create"]).arg(&file);
    let made = output_within(&mut create, b"", LIMIT);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    file
}

/// The error output of a service that does not start.
fn refusal(world: &World, more: &[&str]) -> String {
    let ended = output_within(serve(&world.data_dir()).args(more), b"", Duration::from_secs(60));
    assert!(!ended.status.success());
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

#[test]
fn secrets_are_encrypted_when_they_are_written_and_when_there_is_a_key_at_last() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (key_file(folder.path(), "old"), key_file(folder.path(), "new"));
    let mut world = World::start();
    plant(&world, "before");
    let data_dir = world.data_dir();
    assert!(plain(&data_dir).len() >= 3, "{:?}", plain(&data_dir));

    world.service.kill();
    let mut world = world.start_again_with(&["--secrets-key", &old.display().to_string()]);
    plant(&world, "after");
    await_condition("what was plain to be encrypted and erased", LIMIT, || {
        let found = plain(&data_dir);
        found.is_empty().then_some(()).ok_or(format!("{found:?}"))
    });
    assert!(
        !files_with(&data_dir, &["nothing-to-hide-7c41"]).is_empty(),
        "ConfigMaps stay as they are"
    );
    for name in ["before", "after"] {
        assert_eq!(secret_of(&world, name), ENCODED);
    }
    // A backup has them encrypted.
    let backup = folder.path().join("backup.tar");
    let mut back_up = command(env!("CARGO_BIN_EXE_muster"));
    back_up.args(["backup", "--data-dir"]).arg(&data_dir).arg(&backup);
    assert!(output_within(&mut back_up, b"", LIMIT).status.success());
    let copied = files_with(folder.path(), &[CANARY, ENCODED, KEY]);
    assert!(copied.is_empty(), "{copied:?}");
    let mut create = command(env!("CARGO_BIN_EXE_muster"));
    create
        .args(["token", "create", "--operator", "--data-dir"])
        .arg(&data_dir);
    let locked = output_within(&mut create, b"", LIMIT);
    assert!(
        String::from_utf8_lossy(&locked.stderr).contains("--secrets-key"),
        "{locked:?}"
    );
    create.arg("--secrets-key").arg(&old);
    assert!(output_within(&mut create, b"", LIMIT).status.success());

    world.service.kill();
    let said = refusal(&world, &[]);
    assert!(
        said.contains("encrypted by the key") && said.contains("--secrets-key"),
        "{said}"
    );
    let said = refusal(&world, &["--secrets-key", &new.display().to_string()]);
    assert!(said.contains("holds others only"), "{said}");

    let both = folder.path().join("both");
    let keys = [&new, &old].map(|file| fs::read_to_string(file).unwrap());
    fs::write(&both, keys.concat()).unwrap();
    let mut world = world.start_again_with(&["--secrets-key", &both.display().to_string()]);
    world.service.await_output("only the first key", LIMIT);
    world.service.kill();
    let world = world.start_again_with(&["--secrets-key", &new.display().to_string()]);
    for name in ["before", "after"] {
        assert_eq!(secret_of(&world, name), ENCODED);
    }
    assert!(plain(&data_dir).is_empty());
}

#[test]
fn postgresql_holds_no_secret_either() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path(), "key").display().to_string();
    let plain = || {
        // The whole of each row, of every table.
        let tables = cluster.query(
            &database,
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
        );
        let mut found = Vec::new();
        for table in tables.split_whitespace() {
            for text in [CANARY, ENCODED, KEY] {
                let sql = format!("SELECT COUNT(*) FROM {table} AS it WHERE it::text LIKE '%{text}%'");
                if cluster.query(&database, &sql).trim() != "0" {
                    found.push(format!("{text} in {table}"));
                }
            }
        }
        found
    };
    let mut world = World::start_with(&["--database-url", &url]);
    plant(&world, "before");
    assert!(plain().len() >= 3, "{:?}", plain());
    world.service.kill();
    let world = world.start_again_with(&["--database-url", &url, "--secrets-key", &key]);
    plant(&world, "after");
    await_condition("what was plain to be encrypted", LIMIT, || {
        let found = plain();
        found.is_empty().then_some(()).ok_or(format!("{found:?}"))
    });
    for name in ["before", "after"] {
        assert_eq!(secret_of(&world, name), ENCODED);
    }
}

#[test]
fn a_crash_leaves_no_core_file() {
    let world = World::start();
    let limits = fs::read_to_string(format!("/proc/{}/limits", world.service.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size"));
    let numbers: Vec<&str> = core.unwrap().split_whitespace().skip(4).take(2).collect();
    assert_eq!(numbers, ["0", "0"], "{limits}");
    let unit = include_str!("../../../deploy/debian/muster.service");
    assert!(unit.lines().any(|line| line == "LimitCORE=0"));
}
