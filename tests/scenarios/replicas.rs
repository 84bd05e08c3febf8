//! Keys and tokens across restarts, and two services on one PostgreSQL.

use std::sync::mpsc::channel;
use std::time::Duration;

use muster_tests::condition::await_condition;
use muster_tests::postgres::Postgres;
use muster_tests::service::Settings;
use serde_json::json;

use crate::database::{Database, infra_env, inventory, known_host, on_each_database, register, reply};
use muster_tests::http::HttpClient;

on_each_database!(
    a_restart_keeps_tokens_valid,
    a_key_from_a_file_is_used_and_a_bad_one_is_reported
);

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

fn a_key_from_a_file_is_used_and_a_bad_one_is_reported(database: Database) {
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
    // The operator's token needs the same key, so it is asked for with it.
    let service =
        database.serve_with(|settings| settings.argument("--auth-key").argument(key.to_str().unwrap()));
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
    // Both begin with the empty database at once. The thread that starts a service has to last as long as it.
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
        share(
            &one.http().with("Authorization", token.trim()),
            &two.with("Authorization", token.trim()),
        );
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

    // A change of the InfraEnv is known to the other within seconds (its cache).
    first
        .patch(&path, &json!({"additional_ntp_sources": "192.0.2.9"}))
        .expect(201);
    await_condition(
        "the other service to know the change",
        Duration::from_secs(15),
        || {
            let seen = second.get(&path).expect(200).json();
            if seen["additional_ntp_sources"] == "192.0.2.9" {
                Ok(())
            } else {
                Err(seen.to_string())
            }
        },
    );
}
