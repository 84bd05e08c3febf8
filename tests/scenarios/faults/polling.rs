//! Hosts that poll, hosts that become silent, and their cost for the database.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{
    Database, Served, host_id, infra_env, inventory, known_host, on_each_database, register, reply,
};
use muster_tests::http::HttpClient;
use muster_tests::service::Settings;
use muster_tests::service::clock::Clock;
use serde_json::{Value, json};

on_each_database!(
    an_idle_hosts_polls_write_nothing,
    idle_hosts_of_a_cluster_that_reply_cost_what_others_cost,
    a_silent_host_is_disconnected_and_a_poll_brings_it_back,
    a_restart_disconnects_no_client,
    a_clock_that_is_set_either_way_loses_no_host,
);

/// Time without a write after which all earlier effects are done: longer than the three seconds that an Agent's first
/// status may wait.
const QUIET: Duration = Duration::from_secs(5);

/// Measured polls of each host.
const POLLS: usize = 10;

/// Most reads of a host until it is known: one for changes by other writers meanwhile.
const READS: usize = 3;

/// The beginnings of statements that are written without a poll, or for all polls of half a minute together: check-ins,
/// the replica's beat, its lease.
const BACKGROUND: [&str; 9] = [
    "BEGIN",
    "COMMIT",
    CHECK_INS,
    "INSERT INTO replicas",
    "INSERT INTO deaf_times",
    "DELETE FROM deaf_times",
    "INSERT INTO kube_versions",
    "INSERT INTO kube_objects",
    "UPDATE kube_revision",
];

const CHECK_INS: &str = "UPDATE hosts SET checked_in_at";

/// The time of a host with a correct clock: a clock that stands still would differ more and more from the service's,
/// and that is written.
fn seconds() -> i64 {
    Utc::now().timestamp()
}

fn with_statements(settings: Settings) -> Settings {
    settings.argument("--log").argument("info,sqlx::query=debug")
}

/// The statements that the database driver has sent for the service so far, without the first `before`. (`sqlx::query`
/// logs them for any client, so none is missing.)
fn statements(service: &Served, before: usize) -> Vec<String> {
    let log = service.log();
    let sent = log
        .lines()
        .filter(|line| line.contains("sqlx::query"))
        .skip(before);
    sent.map(|line| {
        let of = |field: &str| Some(line.split_once(field)?.1.split('"').next()?.replace("\\n", " "));
        // The driver logs the first words, and longer statements in full.
        let whole = of("db.statement=\"").filter(|text| !text.is_empty());
        let words = whole.or_else(|| of("summary=\"")).unwrap_or_default();
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    })
    .collect()
}

/// Statements that change something, except background writes.
fn changes(statements: &[String]) -> Vec<&String> {
    let changing = statements
        .iter()
        .filter(|statement| !statement.starts_with("SELECT"));
    changing
        .filter(|statement| !BACKGROUND.iter().any(|begin| statement.starts_with(begin)))
        .collect()
}

/// Statements that read hosts or their context; the search for due hosts is not among them.
fn reads(statements: &[String]) -> Vec<&String> {
    let is_read = |statement: &&String| {
        let (columns, table) = statement.split_once(" FROM ").unwrap_or_default();
        let tables = ["hosts", "host_", "infra_envs", "clusters"];
        let is_one = tables.iter().any(|one| table.starts_with(one));
        columns.starts_with("SELECT") && is_one && !columns.ends_with("due_at")
    };
    statements.iter().filter(is_read).collect()
}

/// Waits until the outbox is empty and nothing was written for a while: Agents are written after it.
fn await_rest(service: &Served) {
    let mut last = (Instant::now(), 0);
    await_condition(
        "the outbox to be empty and nothing to be written",
        LEAST_LIMIT,
        || match service.query("SELECT count(*) FROM outbox").as_str() {
            "0" => {
                let writes = changes(&statements(service, 0)).len();
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

/// Asserts that the statements change nothing for a poll, and read each of so many hosts a few times at most.
#[track_caller]
fn cost_nothing(what: &str, sent: &[String], hosts: usize) {
    let changes = changes(sent);
    assert!(changes.is_empty(), "{what} changed something: {changes:#?}");
    // They are written twice a minute: with a write for each poll there would be more.
    let check_ins = sent.iter().filter(|statement| statement.starts_with(CHECK_INS));
    assert!(check_ins.count() < POLLS, "{what} were written: {sent:#?}");
    let reads = reads(sent);
    println!("{what}: {} statements, {} reads", sent.len(), reads.len());
    assert!(
        reads.len() <= hosts * READS,
        "{what} read what is known: {reads:#?}"
    );
}

fn an_idle_hosts_polls_write_nothing(database: Database) {
    let service = database.serve_with(with_statements);
    let client = service.http();
    let infra_env = infra_env(&client);
    let hosts: Vec<String> = (1..=10).map(|n| known_host(&client, &infra_env, n)).collect();
    await_rest(&service);
    let revision = service.query("SELECT revision FROM kube_revision");
    let before = statements(&service, 0).len();
    for _ in 0..POLLS {
        for host in &hosts {
            client
                .get(&format!("{host}/instructions?timestamp={}", seconds()))
                .expect(200);
        }
    }
    cost_nothing(
        "100 polls of idle hosts",
        &statements(&service, before),
        hosts.len(),
    );
    // Of the objects only the leader's lease is written, if there can be several replicas.
    let changed = format!("SELECT DISTINCT resource FROM kube_versions WHERE revision > {revision}");
    let changed = service.query(&changed);
    assert!(
        ["", "leases.coordination.k8s.io"].contains(&changed.as_str()),
        "100 polls of idle hosts changed {changed}"
    );

    // A check of the counting: it includes a change, and a read of a host that is not cached any more.
    let before = statements(&service, 0).len();
    client
        .patch(&hosts[0], &json!({"host_name": "renamed"}))
        .expect(201);
    await_condition("the change to be among the statements", LEAST_LIMIT, || {
        let sent = statements(&service, before);
        let is_changed = changes(&sent)
            .iter()
            .any(|statement| statement.starts_with("UPDATE hosts"));
        if is_changed && !reads(&sent).is_empty() {
            Ok(())
        } else {
            Err(format!("{sent:#?}"))
        }
    });

    let seen = client.get(&hosts[1]).expect(200).json();
    assert!(
        seen["checked_in_at"].as_str().unwrap() > seen["updated_at"].as_str().unwrap(),
        "a poll shows at once: {seen}"
    );
}

fn idle_hosts_of_a_cluster_that_reply_cost_what_others_cost(database: Database) {
    const HOSTS: u64 = 10;
    let service = database.serve_with(|settings| with_statements(settings.auth_local()));
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
    // All hosts reach each other; only the times differ from report to report.
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
    // The first poll reports the host's time. Without a time the host is written by the report after it, since a
    // validation waits for it.
    all_poll();
    all_report(0);
    all_poll();
    await_rest(&service);
    all_poll();
    let before = statements(&service, 0).len();
    (0..POLLS).for_each(|_| all_poll());
    let polls = "100 polls of hosts of a cluster";
    cost_nothing(polls, &statements(&service, before), hosts.len());
    let before = statements(&service, 0).len();
    (1..=10).for_each(all_report);
    let sent = statements(&service, before);
    let changes = changes(&sent);
    assert!(
        changes.is_empty(),
        "100 replies that tell nothing new changed something: {changes:#?}"
    );
}

fn status(client: &HttpClient, host: &str) -> Value {
    client.get(host).expect(200).json()["status"].clone()
}

#[track_caller]
fn await_status(client: &HttpClient, host: &str, wanted: &str) {
    await_condition(&format!("{host} to be {wanted}"), LEAST_LIMIT, || {
        let found = status(client, host);
        if found == wanted {
            Ok(())
        } else {
            Err(found.to_string())
        }
    });
}

/// The shortest configurable silence.
const SILENCE: TimeDelta = TimeDelta::seconds(10);

fn serve_impatiently(database: Database) -> Served {
    let silence = format!("--host-max-disconnection-time={}s", SILENCE.num_seconds());
    database.serve_with(|settings| settings.argument(&silence))
}

/// A time of a host as REST shows it.
#[track_caller]
fn time(host: &Value, member: &str) -> DateTime<Utc> {
    let shown = host[member].as_str().unwrap();
    DateTime::parse_from_rfc3339(shown).unwrap().to_utc()
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
    let poll = |host: &str| client.get(&format!("{host}/instructions")).expect(200).json();
    let metrics_say = |lost: &str| {
        let metrics = client.request("GET", "/metrics", None).expect(200).text();
        let is_said = metrics.contains(&format!(
            "muster_hosts{{status=\"disconnected-unbound\"}} {lost}\n"
        ));
        is_said.then_some(()).ok_or(metrics)
    };

    await_condition("the silent host to be lost", LEAST_LIMIT, || {
        poll(&talking);
        let found = status(&client, &silent);
        if found == "disconnected-unbound" {
            metrics_say("1")
        } else {
            Err(found.to_string())
        }
    });
    assert_eq!(status(&client, &talking), "known-unbound");
    let found = client.get(&silent).expect(200).json();
    let heard_until = time(&found, "checked_in_at");
    assert!(
        time(&found, "status_updated_at") - heard_until >= SILENCE,
        "too early: {found}"
    );
    assert!(!found["status_info"].as_str().unwrap().is_empty(), "{found}");

    // It is instructed to report, with twice the interval, and its report brings it back.
    let steps = poll(&silent);
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
    await_condition("the metrics to say that none is lost", LEAST_LIMIT, || {
        poll(&silent);
        poll(&talking);
        metrics_say("0")
    });
}

fn a_restart_disconnects_no_client(database: Database) {
    let mut service = serve_impatiently(database);
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    service.terminate();
    // The service is started again later than a host may be silent: the silence is due to the service.
    let heard_until = Utc::now();
    let away = SILENCE + TimeDelta::seconds(2);
    await_condition("time to pass without the service", LEAST_LIMIT, || {
        let passed = Utc::now() - heard_until;
        if passed > away {
            Ok(())
        } else {
            Err(passed.to_string())
        }
    });
    let started = Utc::now();
    service.start_again();
    let client = service.http();
    await_status(&client, &host, "disconnected-unbound");
    let found = client.get(&host).expect(200).json();
    assert!(
        time(&found, "status_updated_at") - started >= SILENCE,
        "lost for the silence of the service: {found}"
    );
    client
        .post(&format!("{infra_env}/hosts"), &json!({"host_id": host_id(1)}))
        .expect(201);
    assert_eq!(status(&client, &host), "discovering-unbound");
}

fn a_clock_that_is_set_either_way_loses_no_host(database: Database) {
    let clock = Clock::start();
    let service = database.serve_with(|settings| settings.program(&clock.program()));
    let client = service.http();
    let infra_env = infra_env(&client);
    let host = known_host(&client, &infra_env, 1);
    // An hour forward, and back again: each time no deadline is in the past or far in the future.
    for ahead in [3600, 0] {
        clock.forward(ahead);
        await_condition("the deadline to follow the clock", LEAST_LIMIT, || {
            let now = match database {
                Database::Sqlite => Utc::now().timestamp() + i64::from(ahead),
                // Its replicas use the server's time.
                Database::Postgres => Utc::now().timestamp(),
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
