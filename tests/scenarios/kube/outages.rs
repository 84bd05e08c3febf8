//! The custom-resource bridge loses nothing through faults: crashes at any time, a Kubernetes API or a database that is
//! unavailable, a leader that is killed. The hosts are simulated over REST.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use muster_api::BASE_PATH;
use muster_api::ids::HostId;
use muster_tests::condition::await_condition;
use muster_tests::database::postgres::Postgres;
use muster_tests::kube::Kubectl;
use muster_tests::service::Settings;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use muster_tests::database::{host_id, inventory, known_host, reply};
use muster_tests::kube::world::{SOON, World, await_agreement, await_leader_status, is};
use muster_tests::kube::{Api, KubeServed, control_plane, on_each_api};

on_each_api!(
    a_kill_between_a_host_and_its_agent_leaves_both_agreeing,
    a_database_that_is_away_loses_nothing,
);

/// Kills of one scenario.
const ROUNDS: usize = 8;
/// Further kills until one has occurred between a host and its Agent.
const MORE_ROUNDS: usize = 24;
/// Threads that simulate hosts.
const PLAYERS: usize = 3;

fn settings() -> Settings {
    Settings::on_address("127.0.0.1")
}

/// Requests answered with success before a kill.
#[derive(Debug, Default)]
struct Promised {
    /// Hosts that reported this often.
    reports: BTreeMap<u64, u64>,
    /// Names that Agents were given when they were approved.
    approved: BTreeMap<String, String>,
    /// Hosts that were deleted, over REST or as Agents.
    deleted: BTreeSet<String>,
}

/// One of the writers on both sides, until the service is killed.
struct Writers<'a> {
    world: &'a World,
    path: &'a str,
    next: &'a AtomicU64,
    stop: &'a AtomicBool,
    promised: &'a Mutex<Promised>,
}

fn a_kill_between_a_host_and_its_agent_leaves_both_agreeing(api: Api) {
    let mut world = World::on(api);
    let path = world.infra_env(&json!({}));
    known_host(&world.client(), &path, 0);
    world.await_agreement(&path);
    let (next, promised) = (AtomicU64::new(1), Mutex::new(Promised::default()));
    let mut behind = 0;
    // The built-in API cannot be read while the service is stopped.
    let shown = |behind: usize| api == Api::BuiltIn || behind > 0;
    for round in 0..ROUNDS + MORE_ROUNDS {
        if round >= ROUNDS && shown(behind) {
            break;
        }
        let stop = AtomicBool::new(false);
        let chance = u64::from(HostId::random().0.as_bytes()[0]);
        let id = world.service.id();
        let enough = next.load(Ordering::Relaxed) + 6 + chance % 8;
        std::thread::scope(|scope| {
            for _ in 0..PLAYERS {
                scope.spawn(|| writers(&world, &path, &next, &stop, &promised).play_hosts());
            }
            scope.spawn(|| writers(&world, &path, &next, &stop, &promised).administrate());
            await_condition("enough hosts to be played", SOON, || {
                let played = next.load(Ordering::Relaxed);
                if played >= enough {
                    Ok(())
                } else {
                    Err(format!("{played} of {enough}"))
                }
            });
            // Some thousandths of a second later, at another point of the work each time.
            let at = Instant::now() + Duration::from_micros(chance * 100);
            while Instant::now() < at {
                std::hint::spin_loop();
            }
            let id = nix::unistd::Pid::from_raw(id.cast_signed());
            nix::sys::signal::kill(id, Signal::SIGKILL).unwrap();
            stop.store(true, Ordering::Relaxed);
        });
        // Waits for its end.
        world.service.kill();
        let stale = if api == Api::Real {
            behind_of(&world.kubectl, &promised)
        } else {
            0
        };
        behind += stale;
        world.service.start_again();
        let agents = world.await_agreement(&path);
        check(&agents, &promised.lock().unwrap());
        println!(
            "round {round}: {} Agents, {stale} seen to be behind their hosts at the kill",
            agents.len()
        );
    }
    assert!(
        shown(behind),
        "no kill came between a host and its Agent: nothing was shown"
    );
}

fn writers<'a>(
    world: &'a World,
    path: &'a str,
    next: &'a AtomicU64,
    stop: &'a AtomicBool,
    promised: &'a Mutex<Promised>,
) -> Writers<'a> {
    Writers {
        world,
        path,
        next,
        stop,
        promised,
    }
}

impl Writers<'_> {
    /// Registers hosts that report twice; each fifth is deleted.
    fn play_hosts(&self) {
        // Connections of a killed service are not used again.
        let client = self.world.client();
        let send = |method: &str, path: &str, body: Option<Value>, wanted: u16| {
            let body = body.map(|body| body.to_string());
            let answer = client.try_request(method, path, body.as_ref().map(String::as_bytes));
            match answer {
                Ok(answer) if answer.status == wanted => true,
                Ok(answer) => panic!("{}: {} {}", answer.asked, answer.status, answer.text()),
                Err(_) => false,
            }
        };
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            let hosts = format!("{BASE_PATH}{}/hosts", self.path);
            let host = format!("{hosts}/{}", host_id(n));
            let body = json!({"host_id": host_id(n), "discovery_agent_version": "v"});
            if !send("POST", &hosts, Some(body), 201) {
                return;
            }
            for report in 1..=2 {
                let body = reply("inventory", &reported(n, report));
                if !send("POST", &format!("{host}/instructions"), Some(body), 204) {
                    return;
                }
                self.promised.lock().unwrap().reports.insert(n, report);
            }
            if n % 5 == 4 {
                if !send("DELETE", &host, None, 204) {
                    // It may be deleted or not.
                    self.promised.lock().unwrap().reports.remove(&n);
                    return;
                }
                let mut promised = self.promised.lock().unwrap();
                promised.reports.remove(&n);
                promised.deleted.insert(host_id(n));
            }
        }
    }

    /// Approves and names Agents, and deletes one.
    fn administrate(&self) {
        let kubectl = &self.world.kubectl;
        while !self.stop.load(Ordering::Relaxed) {
            // Only this writer changes a host that is not among each fifth and has reported twice.
            let free = {
                let promised = self.promised.lock().unwrap();
                let done = |n: u64| n % 5 != 4 && !promised.approved.contains_key(&host_id(n));
                let mut free = promised
                    .reports
                    .iter()
                    .filter(|(n, reports)| **reports == 2 && done(**n));
                free.next().map(|(n, _)| *n)
            };
            let Some(n) = free else {
                std::thread::yield_now();
                continue;
            };
            let (agent, name) = (host_id(n), format!("named-{n}"));
            if n % 7 == 3 {
                let printed = kubectl.try_run(&["delete", "agent", &agent, "--wait=false"]);
                let mut promised = self.promised.lock().unwrap();
                if printed.succeeded {
                    promised.deleted.insert(agent.clone());
                }
                // Without a response, it may be deleted or not.
                promised.reports.remove(&n);
                continue;
            }
            let patch = json!({"spec": {"approved": true, "hostname": name}}).to_string();
            let printed = kubectl.try_run(&["patch", "agent", &agent, "--type", "merge", "-p", &patch]);
            if printed.succeeded {
                self.promised.lock().unwrap().approved.insert(agent, name);
            }
        }
    }
}

/// The inventory that the host number `n` reports for the first or second time.
fn reported(n: u64, report: u64) -> Value {
    let mut inventory = inventory(n);
    inventory["bmc_address"] = json!(format!("192.0.2.{report}"));
    inventory
}

/// Number of hosts with newer reports than their Agents show.
fn behind_of(kubectl: &Kubectl, promised: &Mutex<Promised>) -> usize {
    let agents = kubectl.get(&["agents"]);
    let shown: BTreeMap<&str, &Value> = agents["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (agent["metadata"]["name"].as_str().unwrap(), agent))
        .collect();
    let promised = promised.lock().unwrap();
    let late = promised.reports.iter().filter(|(n, report)| {
        let agent = shown.get(host_id(**n).as_str());
        let address = agent.map(|agent| &agent["status"]["inventory"]["bmcAddress"]);
        address.is_none_or(|address| *address != format!("192.0.2.{report}"))
    });
    late.count()
}

fn check(agents: &BTreeMap<String, Value>, promised: &Promised) {
    for (n, report) in &promised.reports {
        let id = host_id(*n);
        let agent = agents.get(&id).unwrap_or_else(|| panic!("host {n} is lost"));
        let shown = agent["status"]["inventory"]["bmcAddress"]
            .as_str()
            .unwrap_or_default();
        // A second report may have been accepted without a response.
        assert!(
            (*report..=2).any(|report| shown == format!("192.0.2.{report}")),
            "report {report} of host {n} is lost: {shown}"
        );
    }
    for (id, name) in &promised.approved {
        assert_eq!(
            agents[id]["spec"]["approved"], true,
            "the approval of {id} is lost"
        );
        assert_eq!(agents[id]["spec"]["hostname"], name.as_str());
    }
    for id in &promised.deleted {
        assert!(!agents.contains_key(id), "the host {id} was deleted and is back");
    }
}

#[test]
fn an_api_server_that_is_away_or_silent_loses_nothing() {
    let mut world = World::on(Api::Real);
    let path = world.infra_env(&json!({}));
    let client = world.client();
    await_leader_status(&client, "leading");
    known_host(&client, &path, 1);
    known_host(&client, &path, 2);
    world.await_agreement(&path);
    let image = client
        .get(&format!("{path}/downloads/image-url"))
        .expect(200)
        .json();
    let image = world.service.reachable(image["url"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();

    world.service.plane().unwrap().kill_server();
    println!("killed: {}", await_leader_status(&client, "no answer since"));
    known_host(&client, &path, 3);
    client.delete(&format!("{path}/hosts/{}", host_id(2))).expect(204);
    let report = reply("inventory", &reported(1, 2));
    let instructions = format!("{path}/hosts/{}/instructions", host_id(1));
    client.post(&instructions, &report).expect(204);
    let file = folder.path().join("discovery.iso");
    let length = world.service.client().download(&image, &file).unwrap();
    assert!(length > 1 << 20, "{length}");
    world.service.plane().unwrap().start_server_again();
    let agents = world.await_agreement(&path);
    assert_eq!(agents.keys().collect::<Vec<_>>(), [&host_id(1), &host_id(3)]);
    await_leader_status(&client, "leading");

    // Connections that accept everything without a response.
    world.service.plane().unwrap().signal_server(Signal::SIGSTOP);
    println!("stopped: {}", await_leader_status(&client, "no answer since"));
    known_host(&client, &path, 4);
    client.delete(&format!("{path}/hosts/{}", host_id(3))).expect(204);
    world.service.plane().unwrap().signal_server(Signal::SIGCONT);
    let agents = world.await_agreement(&path);
    assert_eq!(agents.keys().collect::<Vec<_>>(), [&host_id(1), &host_id(4)]);
    await_leader_status(&client, "leading");
    world.patch_agent(&host_id(4), &json!({"approved": true}));
    world.await_agent(&host_id(4), "RequirementsMet", "True", "AgentIsReady");
}

fn a_database_that_is_away_loses_nothing(api: Api) {
    let mut cluster = Postgres::start();
    let url = cluster.create_database();
    let world = World::of(api.serve_on(&url, settings()));
    let path = world.infra_env(&json!({}));
    let client = world.client();
    known_host(&client, &path, 1);
    known_host(&client, &path, 2);
    world.await_agreement(&path);
    let ready = |status: u16| {
        await_condition("/ready", SOON, || {
            let answer = client.request("GET", "/ready", None);
            if answer.status == status {
                Ok(answer.json())
            } else {
                Err(answer.text())
            }
        })
    };

    cluster.stop();
    println!("without database: {}", ready(503));
    let patch = r#"{"spec":{"approved":true,"hostname":"worker-1"}}"#;
    let printed = world.kubectl.try_run(&[
        "--request-timeout=5s",
        "patch",
        "agent",
        &host_id(1),
        "--type",
        "merge",
        "-p",
        patch,
    ]);
    // The built-in API is in the database.
    assert_eq!(
        printed.succeeded,
        api == Api::Real,
        "{}{}",
        printed.out,
        printed.err
    );
    cluster.start_again();
    ready(200);
    if api == Api::BuiltIn {
        let edit = json!({"approved": true, "hostname": "worker-1"});
        world.patch_agent(&host_id(1), &edit);
    }
    world.await_agent(&host_id(1), "RequirementsMet", "True", "AgentIsReady");
    known_host(&client, &path, 3);
    client.delete(&format!("{path}/hosts/{}", host_id(2))).expect(204);
    let agents = world.await_agreement(&path);
    assert_eq!(agents.keys().collect::<Vec<_>>(), [&host_id(1), &host_id(3)]);
    let host = client
        .get(&format!("{path}/hosts/{}", host_id(1)))
        .expect(200)
        .json();
    assert_eq!(host["requested_hostname"], "worker-1");
    await_leader_status(&client, "leading");
}

#[test]
fn when_the_leader_of_two_replicas_is_killed_the_other_goes_on() {
    let cluster = Postgres::shared();
    let url = cluster.create_database();
    let plane = control_plane();
    let settings = || settings().database(&url).kubeconfig(&plane.service_kubeconfig());
    let mut first = settings().start();
    let first_client = first.http();
    await_leader_status(&first_client, "leading");
    let second = settings().start();
    let client = second.http();
    println!("the second says: {}", await_leader_status(&client, "leads"));
    let world = World::of(KubeServed::on_real(second, plane));
    let path = world.infra_env(&json!({}));
    // Hosts register with the replica that does not lead; the leader makes their Agents.
    for n in 1..=3 {
        known_host(&client, &path, n);
    }
    await_agreement(&first_client, &world.kubectl, &path);

    first.kill();
    known_host(&client, &path, 4);
    client.delete(&format!("{path}/hosts/{}", host_id(1))).expect(204);
    world.patch_agent(&host_id(2), &json!({"approved": true}));
    await_leader_status(&client, "leading");
    let agents = world.await_agreement(&path);
    assert!(!agents.contains_key(&host_id(1)));
    assert!(is(
        &agents[&host_id(2)],
        "RequirementsMet",
        "True",
        "AgentIsReady"
    ));

    // The killed one comes back and follows.
    first.start_again();
    await_leader_status(&first.http(), "leads");
    known_host(&first.http(), &path, 5);
    assert!(world.await_agreement(&path).contains_key(&host_id(5)));
}
