//! Keys and tokens across restarts, and two services on one PostgreSQL.

use std::sync::mpsc::channel;

use chrono::{DateTime, Utc};
use muster_tests::artifacts::fleet_program;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::postgres::Postgres;
use muster_tests::database::{Database, infra_env, inventory, known_host, on_each_database, register, reply};
use muster_tests::http::HttpClient;
use muster_tests::process::{Program, command};
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};

on_each_database!(a_restart_keeps_tokens_valid);

fn a_restart_keeps_tokens_valid(database: Database) {
    let mut service = database.serve_with(Settings::auth_local);
    let (operator, path) = {
        let token = service.token(None);
        let path = infra_env(&service.http().with("Authorization", &token));
        (token, path)
    };
    let agent = service.token(Some(&path));
    for kill in [false, true] {
        if kill {
            service.kill();
        } else {
            service.terminate();
        }
        service.start_again();
        assert_ne!(service.token(None), operator, "each has an id of its own");
        assert_eq!(service.token(Some(&path)), agent);
        service
            .http()
            .with("Authorization", &operator)
            .get(&path)
            .expect(200);
        known_host(&service.http().with("X-Secret-Key", &agent), &path, 1);
    }
    // Another installation has another key.
    let other = database.serve_with(Settings::auth_local);
    let message = other
        .http()
        .with("Authorization", &operator)
        .get("/infra-envs")
        .expect(401)
        .error_message();
    assert!(
        message.contains("signature") && !message.contains(&operator),
        "{message}"
    );
}

#[test]
fn a_key_from_a_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let make = [
        "ecparam",
        "-name",
        "prime256v1",
        "-genkey",
        "-noout",
        "-out",
        key.to_str().unwrap(),
    ];
    muster_tests::process::run(std::process::Command::new("openssl").args(make));
    // The operator's token needs the same key, so tokens are required with it.
    let service = Database::Sqlite
        .serve_with(|settings| settings.argument("--auth-key").argument(key.to_str().unwrap()));
    let mut arguments = vec![
        "token".to_owned(),
        "--operator".into(),
        "--auth-key".into(),
        key.display().to_string(),
    ];
    arguments.extend(service.token_arguments());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let with_file = service.muster(&arguments);
    let without = service.token(None);
    assert_ne!(
        with_file.trim(),
        without,
        "the file's key is another than the database's"
    );
}

#[test]
fn two_services_on_one_database_share_keys_and_hosts() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let settings = || {
        Settings::on_address("127.0.0.1")
            .without_live_image()
            .auth_local()
            .database(&url)
    };
    // Both start with the empty database at once. The thread that starts a service has to live as long as it.
    std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        let (sender, receiver) = channel();
        scope.spawn(move || {
            let two = settings().start();
            sender.send(two.http()).unwrap();
            let _ = wait.recv();
        });
        let one = settings().start();
        let two = receiver.recv().unwrap();
        let token = one.muster(&["token", "--operator", "--database-url", &url]);
        let operator = one.http().with("Authorization", token.trim());
        share(&operator, &two.with("Authorization", token.trim()));

        let path = infra_env(&operator);
        let id = path.trim_start_matches("/infra-envs/");
        let agent = one.muster(&["token", "--infra-env", id, "--database-url", &url]);
        token_dies(&operator, &two.with("X-Secret-Key", agent.trim()), &path);
        drop(done);
    });
}

/// A change through one of two services is seen through the other.
fn share(first: &HttpClient, second: &HttpClient) {
    let path = infra_env(first);
    let host = register(first, &path, 1);
    second.get(&path).expect(200);
    assert_eq!(
        second.get(&host).expect(200).json()["status"],
        "discovering-unbound"
    );
    // The machine continues with the other one.
    second
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(1)),
        )
        .expect(204);
    assert_eq!(first.get(&host).expect(200).json()["status"], "known-unbound");
    second
        .patch(&host, &json!({"host_name": "by-the-second"}))
        .expect(201);
    assert_eq!(
        first.get(&host).expect(200).json()["requested_hostname"],
        "by-the-second"
    );

    // Both change the same host at once: every change is made, none gets lost.
    std::thread::scope(|scope| {
        for (client, field, name) in [
            (first, "machine_config_pool_name", "pool"),
            (second, "host_name", "name"),
        ] {
            let host = &host;
            scope.spawn(move || {
                for n in 0..20 {
                    client
                        .patch(host, &json!({field: format!("{name}-{n}")}))
                        .expect(201);
                }
            });
        }
    });
    let found = first.get(&host).expect(200).json();
    assert_eq!(
        (&found["machine_config_pool_name"], &found["requested_hostname"]),
        (&json!("pool-19"), &json!("name-19"))
    );

    // A change of the InfraEnv is visible to the other replica when its cache entry expires.
    first
        .patch(&path, &json!({"additional_ntp_sources": "192.0.2.9"}))
        .expect(201);
    await_condition("the other service to know the change", LEAST_LIMIT, || {
        let seen = second.get(&path).expect(200).json();
        if seen["additional_ntp_sources"] == "192.0.2.9" {
            Ok(())
        } else {
            Err(seen.to_string())
        }
    });
}

/// The token of an InfraEnv that was deleted through one of two services is refused by the other, though both have used
/// it.
fn token_dies(operator: &HttpClient, agent: &HttpClient, infra_env: &str) {
    let host = known_host(agent, infra_env, 1);
    let steps = format!("{host}/instructions");
    agent.get(&steps).expect(200);
    operator.delete(&host).expect(204);
    operator.delete(infra_env).expect(204);
    let message = await_condition("the other service to refuse the token", LEAST_LIMIT, || {
        let answer = agent.get(&steps);
        match answer.status {
            401 => Ok(answer.error_message()),
            _ => Err(answer.text()),
        }
    });
    assert!(message.contains("no longer exists"), "{message}");
}

/// Hosts of each replica.
const FLEET: u32 = 20;

/// Adds to the tables, as a newer version's migration does.
const NEWER: &str = "
    ALTER TABLE hosts ADD COLUMN newer TEXT NOT NULL DEFAULT 'x';
    ALTER TABLE infra_envs ADD COLUMN newer BIGINT;
    ALTER TABLE events ADD COLUMN newer TEXT;
    CREATE TABLE newer (id TEXT PRIMARY KEY);
    CREATE INDEX newer_hosts ON hosts (newer);
    INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        SELECT 29990101000000, 'adds what is newer', success, checksum, execution_time FROM _sqlx_migrations LIMIT 1;";

/// Agents that poll one replica, and no other.
fn fleet_of(service: &Service, infra_env: &str, seed: &str, log: &std::path::Path) -> Program {
    let mut fleet = command(fleet_program());
    fleet.args(["--url", service.client().base(), "--seed", seed]);
    fleet.args([
        "--hosts",
        &FLEET.to_string(),
        "--register-rate",
        "0",
        "--poll-interval",
        "500ms",
    ]);
    fleet.args(["--duration", "30m", "--skip-states", "--json"]);
    fleet.args(["--infra-env-id", infra_env.trim_start_matches("/infra-envs/")]);
    Program::start("muster-fleet", &mut fleet, log)
}

/// All hosts of both fleets, and no others, are known to this replica, have reported, and are connected; those that
/// poll it have polled since then.
fn all_are_known(client: &HttpClient, infra_env: &str, since: DateTime<Utc>) -> Result<(), String> {
    let path = format!("{}{infra_env}/hosts", muster_api::BASE_PATH);
    let list = client.try_request("GET", &path, None)?.json();
    let hosts = list.as_array().ok_or_else(|| list.to_string())?;
    let has_reported = |host: &Value| {
        ["known-unbound", "insufficient-unbound"]
            .iter()
            .any(|status| host["status"] == *status)
    };
    let others: Vec<_> = hosts.iter().filter(|host| !has_reported(host)).collect();
    let polled = hosts.iter().filter(|host| {
        let seen = host["checked_in_at"].as_str().map(DateTime::parse_from_rfc3339);
        seen.is_some_and(|seen| seen.is_ok_and(|seen| seen > since))
    });
    let polled = polled.count();
    if hosts.len() == 2 * FLEET as usize && others.is_empty() && polled >= FLEET as usize {
        Ok(())
    } else {
        let statuses: Vec<_> = others.iter().map(|host| &host["status"]).collect();
        let count = hosts.len();
        Err(format!("{count} hosts, of which {statuses:?}; {polled} polled"))
    }
}

#[test]
fn replicas_are_replaced_one_by_one_over_newer_tables_and_no_host_notices() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let name = url.rsplit('/').next().unwrap();
    let settings = || {
        Settings::on_address("127.0.0.1")
            .without_live_image()
            .without_kube_api()
            .database(&url)
    };
    let (mut one, mut two) = (settings().start(), settings().start());
    let path = infra_env(&one.http());
    let logs = tempfile::tempdir().unwrap();
    let _fleets = [
        fleet_of(&one, &path, "1", &logs.path().join("one")),
        fleet_of(&two, &path, "2", &logs.path().join("two")),
    ];
    let known = |service: &Service| {
        let (client, since) = (service.http(), Utc::now());
        await_condition("all hosts to be known", LEAST_LIMIT, || {
            all_are_known(&client, &path, since)
        });
    };
    known(&one);
    known(&two);

    // A newer version runs in parallel to these, and has written a host that they cannot read.
    cluster.query(name, NEWER);
    let stranger = register(&one.http(), &path, 0xffff);
    let id = stranger.rsplit('/').next().unwrap();
    let state = |text: &str| {
        let sql = format!(
            "UPDATE hosts SET state = '{{\"status\": \"{text}\"}}', status = '{text}', version = version + 1 WHERE id = '{id}'"
        );
        cluster.query(name, &sql);
    };
    state("of-a-newer-version");

    for kills in [false, true] {
        for replica in [&mut one, &mut two] {
            if kills {
                replica.kill();
            } else {
                assert!(replica.terminate().success());
            }
            replica.start_again();
            known(replica);
        }
    }
    known(&one);
    // In spite of the newer columns, all check-ins and later deadlines are written.
    let now = Utc::now().timestamp_micros();
    let behind = format!(
        "SELECT count(*) FROM hosts WHERE id <> '{id}' AND (checked_in_at < {now} OR due_at < {now})"
    );
    await_condition(
        "the check-ins of all hosts to be written",
        LEAST_LIMIT,
        || match cluster.query(name, &behind).trim() {
            "0" => Ok(()),
            hosts => Err(format!("those of {hosts} hosts are older")),
        },
    );
    let metrics = one.http().request("GET", "/metrics", None).text();
    assert!(
        metrics.contains("muster_unreadable_rows_total{table=\"hosts\"}"),
        "{metrics}"
    );
    let count = |what: &str| {
        cluster
            .query(name, &format!("SELECT count(*) FROM ({what}) AS found"))
            .trim()
            .to_owned()
    };
    assert_eq!(
        count("SELECT 1 FROM events WHERE message LIKE '%disconnected%'"),
        "0"
    );
    let registered = "SELECT 1 FROM events WHERE name = 'host_registration_succeeded'";
    assert_eq!(count(registered), (2 * FLEET + 1).to_string());
    let twice = "SELECT host_id, name, message FROM events WHERE name IN ('host_status_updated', 'host_registration_succeeded') GROUP BY host_id, name, message HAVING count(*) > 1";
    assert_eq!(count(twice), "0", "{}", cluster.query(name, twice));

    // Written again in a form that all can read.
    state("discovering-unbound");
    for replica in [&one, &two] {
        replica.http().get(&stranger).expect(200);
    }
}
