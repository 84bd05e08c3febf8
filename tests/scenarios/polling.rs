//! Hosts that poll, hosts that fall silent, and what that costs the database.

use std::time::{Duration, Instant};

use muster_tests::condition::{assert_throughout, await_condition};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::database::{
    Database, Served, host_id, infra_env, inventory, known_host, on_each_database, register, reply,
};
use muster_tests::http::HttpClient;

on_each_database!(
    an_idle_hosts_polls_write_nothing,
    idle_hosts_of_a_cluster_that_reply_cost_what_others_cost,
    a_silent_host_is_disconnected_and_a_poll_brings_it_back,
    a_restart_disconnects_no_client,
    a_clock_that_is_set_either_way_loses_no_host,
);

/// Without a write for so long, what was caused before is done: longer than the three seconds that an Agent's first status may wait.
const QUIET: Duration = Duration::from_secs(5);

/// A number that `/metrics` reports.
fn metric(client: &HttpClient, name: &str) -> u64 {
    let text = client.request("GET", "/metrics", None).expect(200).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing in {text}"))
        .parse()
        .unwrap()
}

/// The time of a host whose clock is right: one that stands still would move away from the service's, and that is written.
fn seconds() -> i64 {
    chrono::Utc::now().timestamp()
}

/// The statements that the database driver has sent for the service so far, each by its beginning.
/// (`sqlx::query` logs them, any client, so none is forgotten.)
fn statements(service: &Served) -> Vec<String> {
    let log = service.log();
    let sent = log.lines().filter(|line| line.contains("sqlx::query"));
    let summaries = sent.filter_map(|line| line.split_once("summary=\"")?.1.split('"').next());
    summaries.map(|summary| summary.trim().to_owned()).collect()
}

/// Waits until the outbox is empty and nothing was written for a while: Agents are written after it.
fn await_rest(service: &Served, client: &HttpClient) {
    let mut last = (Instant::now(), 0);
    await_condition(
        "the outbox to be empty and nothing to be written",
        Duration::from_secs(60),
        || match service.query("SELECT count(*) FROM outbox").as_str() {
            "0" => {
                let writes = metric(client, "muster_database_writes_total");
                if writes != last.1 {
                    last = (Instant::now(), writes);
                }
                if last.0.elapsed() >= QUIET {
                    return Ok(());
                }
                Err(format!("{writes} writes"))
            }
            waiting => Err(format!("{waiting} entries")),
        },
    );
}

fn an_idle_hosts_polls_write_nothing(database: Database) {
    let service =
        database.serve_with(|settings| settings.argument("--log").argument("info,sqlx::query=debug"));
    let client = service.http();
    let infra_env = infra_env(&client);
    let hosts: Vec<String> = (1..=10).map(|n| known_host(&client, &infra_env, n)).collect();
    await_rest(&service, &client);
    let revision = || -> u64 {
        service
            .query("SELECT revision FROM kube_revision")
            .parse()
            .unwrap()
    };
    let began = Instant::now();
    let objects = revision();
    let writes = metric(&client, "muster_database_writes_total");
    let before = statements(&service).len();
    for _ in 0..10 {
        for host in &hosts {
            client
                .get(&format!("{host}/instructions?timestamp={}", seconds()))
                .expect(200);
        }
    }
    let wrote = metric(&client, "muster_database_writes_total") - writes;
    let sent = statements(&service).split_off(before);
    let changing: Vec<&String> = sent
        .iter()
        .filter(|statement| !statement.starts_with("SELECT"))
        .collect();
    println!(
        "100 polls: {wrote} write transactions, {} statements, not SELECT: {changing:?}",
        sent.len()
    );
    // The batched flush comes every 30 s, so at most once in the time that 100 polls take, and a beat every 10 s.
    assert!(
        wrote <= 4,
        "100 polls of idle hosts made {wrote} write transactions"
    );
    // Of the objects only the leader's lease, where there can be several replicas: every two seconds.
    let (objects, renewals) = (revision() - objects, began.elapsed().as_secs() / 2 + 1);
    assert!(
        objects <= renewals,
        "100 polls of idle hosts changed {objects} objects"
    );
    // The driver logs the first words of each, and of all writes the batched check-in, the service's own beat and the lease are allowed.
    let allowed = [
        "BEGIN",
        "COMMIT",
        "UPDATE hosts SET checked_in_at",
        "INSERT INTO replicas",
        "INSERT INTO kube_versions",
        "INSERT INTO kube_objects",
        "UPDATE kube_revision",
    ];
    let written: Vec<&&String> = changing
        .iter()
        .filter(|statement| !allowed.iter().any(|allowed| statement.starts_with(allowed)))
        .collect();
    assert!(
        written.is_empty(),
        "100 polls of idle hosts changed something: {written:?}"
    );
    // Each host is read a few times at most, and then known.
    let reads = sent
        .iter()
        .filter(|statement| statement.starts_with("SELECT"))
        .count();
    assert!(
        reads < 80,
        "100 polls of 10 idle hosts asked the database {reads} times"
    );

    // The counting counts: a change is seen by both.
    let before = statements(&service).len();
    client
        .patch(&hosts[0], &json!({"host_name": "renamed"}))
        .expect(201);
    assert!(metric(&client, "muster_database_writes_total") > writes + wrote);
    await_condition(
        "the change to be among the statements",
        Duration::from_secs(10),
        || {
            let sent = statements(&service).split_off(before);
            let changed = sent.iter().any(|statement| {
                statement.starts_with("UPDATE hosts") && !statement.contains("checked_in_at")
            });
            if changed { Ok(()) } else { Err(format!("{sent:?}")) }
        },
    );

    let seen = client.get(&hosts[1]).expect(200).json();
    assert!(
        seen["checked_in_at"].as_str().unwrap() > seen["updated_at"].as_str().unwrap(),
        "a poll shows at once: {seen}"
    );
}

fn idle_hosts_of_a_cluster_that_reply_cost_what_others_cost(database: Database) {
    const HOSTS: u64 = 10;
    let service = database.serve_with(muster_tests::service::Settings::auth_local);
    let operator = service.http().with_token(&service.token(None));
    let imported = json!({"name": "day2", "api_vip_dnsname": "api.day2.example.test", "openshift_cluster_id": host_id(99)});
    let cluster = operator.post("/clusters/import", &imported).expect(201).json();
    let pool =
        json!({"name": "hw", "pull_secret": muster_tests::rest::PULL_SECRET, "cluster_id": cluster["id"]});
    let pool = operator.post("/infra-envs", &pool).expect(201).json();
    let infra_env = format!("/infra-envs/{}", pool["id"].as_str().unwrap());
    let agent = service
        .http()
        .with("X-Secret-Key", &service.token(Some(&infra_env)));
    let hosts: Vec<String> = (1..=HOSTS)
        .map(|n| {
            let host = register(&agent, &infra_env, n);
            agent
                .post(
                    &format!("{host}/instructions"),
                    &reply("inventory", &inventory(n)),
                )
                .expect(204);
            host
        })
        .collect();
    // Everybody reaches everybody; only the times differ from report to report.
    let report = |of: u64, round: u64| {
        let remote = |n: u64| {
            json!({"host_id": host_id(n), "l2_connectivity": [], "mtu_report": [], "l3_connectivity": [
                {"remote_ip_address": format!("198.51.100.{n}"), "successful": true,
                 "average_rtt_ms": 0.2 + 0.05 * f64::from(u8::try_from((n + of + round) % 7).unwrap())}]})
        };
        let others: Vec<Value> = (1..=HOSTS).filter(|n| *n != of).map(remote).collect();
        reply("connectivity-check", &json!({"remote_hosts": others}))
    };
    let all_report = |round: u64| {
        for (host, n) in hosts.iter().zip(1..) {
            agent
                .post(&format!("{host}/instructions"), &report(n, round))
                .expect(204);
        }
    };
    let all_poll = || {
        for host in &hosts {
            agent
                .get(&format!("{host}/instructions?timestamp={}", seconds()))
                .expect(200);
        }
    };
    // The first poll tells the host's time. A host that has told none is written by the report after it, for a validation waits for it.
    all_poll();
    all_report(0);
    all_poll();
    await_rest(&service, &operator);
    all_poll();
    let number = |name: &str| metric(&operator, name);
    let writes = number("muster_database_writes_total");
    for round in 1..=10 {
        all_report(round);
        all_poll();
    }
    let wrote = number("muster_database_writes_total") - writes;
    // The batched flush of check-ins comes every 30 s.
    assert!(
        wrote <= 1,
        "100 polls and 100 replies that tell nothing new made {wrote} write transactions"
    );
    let reads = number("muster_database_reads_total");
    for _ in 0..10 {
        all_poll();
    }
    let read = number("muster_database_reads_total") - reads;
    assert!(
        read < 60,
        "100 polls of hosts of a cluster read the database {read} times"
    );
}

fn status(client: &HttpClient, host: &str) -> Value {
    client.get(host).expect(200).json()["status"].clone()
}

#[track_caller]
fn await_status(client: &HttpClient, host: &str, wanted: &str) {
    await_condition(&format!("{host} to be {wanted}"), Duration::from_secs(30), || {
        let found = status(client, host);
        if found == wanted {
            Ok(())
        } else {
            Err(found.to_string())
        }
    });
}

/// As short as hosts are given here to be silent.
const SILENCE: Duration = Duration::from_secs(20);

fn serve_impatiently(database: Database) -> Served {
    let silence = format!("--host-max-disconnection-time={}s", SILENCE.as_secs());
    database.serve_with(|settings| settings.argument(&silence))
}

/// Polls until the other host counts as lost.
fn a_silent_host_is_disconnected_and_a_poll_brings_it_back(database: Database) {
    let service = serve_impatiently(database);
    let client = service.http();
    let infra_env = infra_env(&client);
    let (silent, talking) = (
        known_host(&client, &infra_env, 1),
        known_host(&client, &infra_env, 2),
    );

    let known = Instant::now();
    await_condition("the silent host to be lost", SILENCE * 4, || {
        client.get(&format!("{talking}/instructions")).expect(200);
        let found = status(&client, &silent);
        if found == "disconnected-unbound" {
            Ok(())
        } else {
            Err(found.to_string())
        }
    });
    assert!(known.elapsed() > SILENCE / 2, "{:?}", known.elapsed());
    assert_eq!(status(&client, &talking), "known-unbound");
    let found = client.get(&silent).expect(200).json();
    assert!(!found["status_info"].as_str().unwrap().is_empty(), "{found}");
    let metrics = client.request("GET", "/metrics", None).expect(200).text();
    assert!(
        metrics.contains("muster_hosts{status=\"disconnected-unbound\"} 1"),
        "{metrics}"
    );

    // It is told to report, twice as slowly, and its report brings it back.
    let steps = client.get(&format!("{silent}/instructions")).expect(200).json();
    assert!(
        steps["instructions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|step| step["step_type"] == "inventory"),
        "{steps}"
    );
    await_status(&client, &silent, "known-unbound");
    let events = client
        .get(&format!("/events?host_id={}", host_id(1)))
        .expect(200)
        .json();
    let moves: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"] == "host_status_updated")
        .map(|event| event["message"].as_str().unwrap())
        .collect();
    assert!(
        moves.iter().any(|message| message.contains("disconnected")),
        "{moves:?}"
    );
    assert!(moves.last().unwrap().contains("known"), "{moves:?}");
    let metrics = client.request("GET", "/metrics", None).expect(200).text();
    assert!(
        metrics.contains("muster_hosts{status=\"disconnected-unbound\"} 0"),
        "{metrics}"
    );
}

fn a_restart_disconnects_no_client(database: Database) {
    let mut service = serve_impatiently(database);
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    service.terminate();
    // It is started again later than a host may be silent: the silence was ours.
    let stopped = Instant::now();
    let away = SILENCE + Duration::from_secs(5);
    await_condition("time to pass without the service", away * 2, || {
        if stopped.elapsed() > away {
            Ok(())
        } else {
            Err(format!("{:?}", stopped.elapsed()))
        }
    });
    service.start_again();
    let client = service.http();
    assert_throughout("its connection", SILENCE / 2, || match status(&client, &host) {
        found if found == "known-unbound" => Ok(()),
        found => Err(found.to_string()),
    });
    await_status(&client, &host, "disconnected-unbound");
    client
        .post(&format!("{infra_env}/hosts"), &json!({"host_id": host_id(1)}))
        .expect(201);
    assert_eq!(status(&client, &host), "discovering-unbound");
}

fn a_clock_that_is_set_either_way_loses_no_host(database: Database) {
    let clock = Clock::new();
    let service = database.serve_with(|settings| settings.program(&clock.program()));
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    // An hour forward, and back again: each time no deadline is left that has passed, or that is far away.
    for ahead in [3600, 0] {
        clock.forward(ahead);
        let limit = Duration::from_secs(40);
        await_condition("the deadline to follow the clock", limit, || {
            let now = match database {
                Database::Sqlite => chrono::Utc::now().timestamp() + i64::from(ahead),
                // Its replicas take the server's time.
                Database::Postgres => chrono::Utc::now().timestamp(),
            };
            let (late, far) = (now * 1_000_000, (now + 190) * 1_000_000);
            let wrong = format!("SELECT count(*) FROM hosts WHERE due_at < {late} OR due_at > {far}");
            match service.query(&wrong).as_str() {
                "0" => Ok(()),
                wrong => Err(format!("{wrong} hosts")),
            }
        });
        assert_eq!(status(&client, &host), "known-unbound");
    }
    let events = client
        .get(&format!("/events?host_id={}", host_id(1)))
        .expect(200)
        .text();
    assert!(!events.contains("disconnected"), "{events}");
}
