//! Many agents at once, some of which misbehave (`muster-fleet`): the service contains them, and other hosts
//! are not affected.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use muster_tests::artifacts::fleet_program;
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, infra_env, on_postgres};
use muster_tests::hosts::fleet::{Fleet, Run, fleet};
use muster_tests::http::HttpClient;
use muster_tests::service::Settings;
use serde_json::Value;

on_postgres!(each_fault_is_contained_and_affects_no_other_host);

/// The hosts of an InfraEnv, as the service shows them.
#[track_caller]
fn hosts(client: &HttpClient, infra_env: &str) -> Vec<Value> {
    let list = client.get(&format!("{infra_env}/hosts")).expect(200).json();
    list.as_array().unwrap().clone()
}

fn by_status(hosts: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for host in hosts {
        *counts
            .entry(host["status"].as_str().unwrap_or("none").to_owned())
            .or_default() += 1;
    }
    counts
}

fn id(infra_env: &str) -> &str {
    infra_env.trim_start_matches("/infra-envs/")
}

/// Requests of agents without a fault succeeded, as the protocol requires.
#[track_caller]
fn good_agents_met_nothing_bad(run: &Run) {
    for (operation, ending, count) in run.endings() {
        let good = match operation.as_str() {
            "register" => "201",
            "reply" | "logs" => "204",
            _ => "200",
        };
        // Responses to logs depend on the cluster, which these hosts do not have.
        assert!(
            ending == good || operation == "logs",
            "{count} times {operation} ended with {ending}: {}",
            run.text()
        );
    }
}

/// Asserts that the attempts of a fault had only these outcomes.
#[track_caller]
fn all_ended(run: &Run, fault: &str, allowed: &[&str]) {
    let met = run.met(fault);
    assert!(!met.is_empty(), "{fault} did nothing: {}", run.text());
    for (what, ending, count) in met {
        assert!(
            allowed.contains(&ending.as_str()),
            "{fault}: {what}: {count} times {ending}; {allowed:?} are right"
        );
    }
}

pub fn each_fault_is_contained_and_affects_no_other_host(database: Database) {
    let service = database.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let arguments = [
        "--hosts",
        "50",
        "--register-rate",
        "0",
        "--poll-interval",
        "500ms",
        // However busy this computer is: slow hosts are awaited.
        "--until-inventory",
        "--duration",
        "10s",
        "--fault",
        "silent=5%",
        "--fault",
        "slow=5%",
        "--fault",
        "duplicate-id=2",
        "--fault",
        "replayed-reply=5%",
        "--fault",
        "hostile-inventory=7",
        "--fault",
        "foreign-reply=5%",
        "--fault",
        "long-log=2%",
        "--infra-env-id",
    ];
    let run = fleet(&service, &[&arguments[..], &[id(&infra_env)]].concat());

    good_agents_met_nothing_bad(&run);
    assert_eq!(run.count("/registrations/count"), 50);
    // All valid inventories.
    assert_eq!(run.count("/inventories/taken"), 43, "{}", run.text());

    // The harmless form of strange texts is kept; everything else is refused by name.
    for (what, ending, count) in run.met("hostile-inventory") {
        let strange_texts = what.contains("control characters");
        // The service does not read the rest of a body that is too large, so its sender may only see the connection
        // end.
        let too_large = what.contains("12 MiB");
        assert!(
            match ending.as_str() {
                "400" => !too_large,
                "204" => strange_texts,
                "413" => too_large,
                ending => too_large && ending.starts_with("no answer"),
            },
            "{what}: {count} times {ending}"
        );
    }
    let kinds: Vec<String> = run
        .met("hostile-inventory")
        .into_iter()
        .map(|(what, ..)| what)
        .collect();
    assert!(kinds.len() >= 7, "{kinds:?}");
    all_ended(&run, "foreign-reply", &["404"]);
    all_ended(&run, "replayed-reply", &["204"]);
    all_ended(&run, "slow", &["204"]);
    // The service does not read the rest of a refused body, so its sender may only see the connection end.
    all_ended(
        &run,
        "long-log",
        &[
            "400",
            "401",
            "403",
            "404",
            "409",
            "413",
            "no answer: connection reset",
            "no answer: the connection ended",
        ],
    );

    let seen = hosts(&client, &infra_env);
    // Two machines claim an id of another. They are either one record with it, or got ids of their own.
    assert!((48..=50).contains(&seen.len()), "{} hosts", seen.len());
    let states = by_status(&seen);
    let validated =
        states.get("known-unbound").unwrap_or(&0) + states.get("insufficient-unbound").unwrap_or(&0);
    assert!(validated >= seen.len() - 7, "{states:?}");
    assert!(states.get("known-unbound").unwrap_or(&0) >= &30, "{states:?}");
    for host in &seen {
        let text = host.to_string();
        assert!(
            !text.contains("\\u0000") && !text.contains("\\u001b") && !text.contains('\u{202e}'),
            "harmful characters are passed on: {text}"
        );
    }
    let other = muster_tests::database::infra_env(&client);
    assert!(hosts(&client, &other).is_empty(), "a host in a foreign InfraEnv");
    client.request("GET", "/health", None).expect(200);
    let panics = service.log().matches("panicked").count();
    assert_eq!(panics, 0, "the service panicked");
}

#[test]
fn silent_hosts_are_lost_and_no_others() {
    let service =
        Database::Sqlite.serve_with(|settings| settings.argument("--host-max-disconnection-time=20s"));
    let client = service.http();
    let infra_env = infra_env(&client);
    let arguments = [
        "--hosts",
        "30",
        "--register-rate",
        "0",
        "--poll-interval",
        "1s",
        "--fault",
        "silent=10%",
        "--infra-env-id",
        id(&infra_env),
    ];
    let folder = tempfile::tempdir().unwrap();
    let fleet = Fleet::start(
        service.client().base(),
        None,
        &arguments,
        &folder.path().join("fleet.log"),
    );
    await_condition("3 of 30 hosts to be lost", LEAST_LIMIT, || {
        let states = by_status(&hosts(&client, &infra_env));
        let of = |status: &str| states.get(status).copied().unwrap_or(0);
        let validated = of("known-unbound") + of("insufficient-unbound");
        if (validated, of("disconnected-unbound")) == (27, 3) {
            Ok(())
        } else {
            Err(format!("{states:?}"))
        }
    });
    let events = client.get(&format!("/events?infra_env_id={}&limit=-1", id(&infra_env)));
    let events = events.expect(200).json();
    let events = events.as_array().unwrap().iter();
    let told = events.filter(|event| event["message"].as_str().unwrap().contains("disconnected"));
    let lost: BTreeSet<&str> = told.map(|event| event["host_id"].as_str().unwrap()).collect();
    assert_eq!(lost.len(), 3, "{lost:?} were lost, if only for a while");
    let run = fleet.end();
    assert_eq!(run.count("/agents/silent"), 3, "{}", run.text());
    good_agents_met_nothing_bad(&run);
}

#[test]
fn a_fleet_whose_hosts_are_all_deleted_ends_by_itself() {
    let service = Database::Sqlite.serve();
    let client = service.http();
    let infra_env = infra_env(&client);
    let arguments = [
        "--hosts",
        "3",
        "--register-rate",
        "0",
        "--poll-interval",
        "200ms",
        "--infra-env-id",
        id(&infra_env),
    ];
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("fleet.log");
    let fleet = Fleet::start(service.client().base(), None, &arguments, &log);
    await_condition("three hosts", LEAST_LIMIT, || {
        let found = hosts(&client, &infra_env).len();
        (found == 3).then_some(()).ok_or_else(|| found.to_string())
    });
    for host in hosts(&client, &infra_env) {
        let path = format!("{infra_env}/hosts/{}", host["id"].as_str().unwrap());
        client.delete(&path).expect(204);
    }
    let run = fleet.await_end();
    assert_eq!(run.count("/agents/frozen"), 3, "{}", run.text());
}

#[test]
fn agents_learn_their_token_as_machines_do() {
    let service = Database::Sqlite.serve_with(Settings::auth_local);
    let operator = service.token(None);
    let arguments = ["--hosts", "5", "--register-rate", "0", "--until-inventory"];
    let run = fleet(&service, &[&arguments[..], &["--token", &operator]].concat());
    assert_eq!(run.count("/inventories/taken"), 5, "{}", run.text());
    good_agents_met_nothing_bad(&run);

    // Without the operator's token it fails to start, and names the option.
    let refused = Command::new(fleet_program())
        .args(["--url", service.client().base()])
        .args(arguments)
        .env_remove("MUSTER_TOKEN")
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("401") && message.contains("--token"),
        "{message}"
    );

    // With the token of another InfraEnv, its agents are refused and do not retry.
    let own = format!("/infra-envs/{}", run.infra_env_id());
    let client = service
        .http()
        .with("Authorization", &format!("Bearer {operator}"));
    let other = infra_env(&client);
    let wrong = service.token(Some(&other));
    let turned_away = [
        "--hosts",
        "3",
        "--seed",
        "2",
        "--register-rate",
        "0",
        "--duration",
        "2s",
        "--skip-states",
        "--agent-token",
        &wrong,
        "--infra-env-id",
        id(&own),
    ];
    let run = fleet(&service, &turned_away);
    assert_eq!(run.count("/agents/blocked"), 3, "{}", run.text());
    assert_eq!(hosts(&client, &own).len(), 5);
}
