//! Custom resources: how fast hosts become Agents and what it costs, how soon an approval shows, how long a
//! table takes; on the built-in Kubernetes API and on a real one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use muster_api::BASE_PATH;
use muster_tests::artifacts;
use muster_tests::condition::await_condition;
use muster_tests::database::postgres::Postgres;
use muster_tests::hosts::fleet::{Run, fleet};
use muster_tests::http::HttpClient;
use muster_tests::kube::{ControlPlane, Kubectl};
use muster_tests::process::{command, run};
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{Service, Settings};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::table::{self, row};
use crate::usage::{cpu_seconds, resident_mb};
use crate::wire::percentile;

const HOSTS: u32 = 1000;
/// Approvals that are timed, one after the other.
const APPROVALS: usize = 50;
/// Tables that are timed.
const TABLES: usize = 11;
const NAMESPACE: &str = "bench";
/// Far above any expected duration.
const LIMIT: Duration = Duration::from_secs(600);

/// Media types that `kubectl get` accepts.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// A service, the Kubernetes API that it uses, its database, and the resources of all of them.
struct World {
    service: Service,
    plane: Option<ControlPlane>,
    database: Option<Arc<Postgres>>,
    kubectl: Kubectl,
    http: HttpClient,
}

/// CPU seconds over a period of time.
#[derive(Clone, Copy)]
struct Cost {
    service: f64,
    api: f64,
    database: f64,
}

impl World {
    fn start(real_api: bool, postgres: bool) -> Self {
        let mut settings = Settings::on_address("127.0.0.1");
        let database = postgres.then(Postgres::shared);
        if let Some(cluster) = &database {
            settings = settings.database(&cluster.create_database());
        }
        let plane = real_api.then(|| {
            let plane = ControlPlane::start();
            let kinds = run(command(artifacts::muster_program()).args(["crds", "--all"]));
            plane.kubectl().run_with(&["apply", "-f", "-"], &kinds);
            plane.kubectl().await_kinds();
            plane
        });
        if let Some(plane) = &plane {
            settings = settings.kubeconfig(&plane.kubeconfig());
        }
        let service = settings.start();
        let kubectl = service.kubectl();
        let http = match &plane {
            Some(plane) => {
                let authority = std::fs::read(plane.authority()).expect("the lab wrote its authority");
                HttpClient::trusting(&plane.url(), &authority).with_token(plane.token())
            }
            None => kubectl.http(),
        };
        Self {
            service,
            plane,
            database,
            kubectl: kubectl.namespace(NAMESPACE),
            http,
        }
    }

    /// Makes an InfraEnv; returns its id.
    fn infra_env(&self) -> Result<String> {
        self.kubectl.run(&["create", "namespace", NAMESPACE]);
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
            "stringData": {".dockerconfigjson": PULL_SECRET},
        });
        let infra_env = json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": "fleet"}, "spec": {"pullSecretRef": {"name": "pull-secret"}},
        });
        self.kubectl.apply(&[secret, infra_env]);
        self.kubectl.run(&[
            "wait",
            "--for=condition=ImageCreated",
            "infraenv/fleet",
            "--timeout=90s",
        ]);
        let path = format!("{BASE_PATH}/infra-envs");
        let (_, text) = self.service.client().request("GET", &path, None)?;
        let all: Value = serde_json::from_str(&text)?;
        let id = all[0]["id"].as_str().context("REST has no InfraEnv")?;
        Ok(id.to_owned())
    }

    fn used(&self) -> Cost {
        let api = self.plane.as_ref().map_or(0.0, |plane| {
            cpu_seconds(plane.server_id()) + cpu_seconds(plane.etcd_id())
        });
        let database = self.database.as_ref();
        Cost {
            service: cpu_seconds(self.service.id()),
            api,
            database: database.map_or(0.0, |database| cpu_seconds(database.id())),
        }
    }

    fn cost<T>(&self, work: impl FnOnce() -> T) -> (T, Cost) {
        let before = self.used();
        let result = work();
        let after = self.used();
        let cost = Cost {
            service: after.service - before.service,
            api: after.api - before.api,
            database: after.database - before.database,
        };
        (result, cost)
    }

    /// The usual number of hosts, all at once; another seed gives other hosts.
    fn fleet(&self, infra_env: &str, seed: &str) -> Run {
        let hosts = HOSTS.to_string();
        let arguments = ["--hosts", &hosts, "--register-rate", "0", "--until-inventory"];
        let place = ["--skip-states", "--infra-env-id", infra_env, "--seed", seed];
        fleet(&self.service, &[arguments, place].concat())
    }
}

/// Prints one column a Kubernetes API.
pub fn measure() -> Result<()> {
    // Each service ends before the next one begins.
    let sqlite = figures(&World::start(false, false))?;
    let postgres = figures(&World::start(false, true))?;
    let real = figures(&World::start(true, true))?;
    let mut rows = vec![row([
        "",
        "built-in, SQLite",
        "built-in, PostgreSQL",
        "real, PostgreSQL",
        "another implementation, real",
        "aim, built-in / real",
    ])];
    for (at, (name, theirs, aim)) in ROWS.into_iter().enumerate() {
        rows.push(row([name, &sqlite[at], &postgres[at], &real[at], theirs, aim]));
    }
    let title = format!(
        "{HOSTS} hosts become Agents; hosts, service, Kubernetes API and database share this machine"
    );
    table::print(&title, &rows);
    Ok(())
}

const ROWS: [(&str, &str, &str); 14] = [
    ("Agents with inventory, per second", "2.6", "200 / 40"),
    ("until all have one, s", "378", "5 / 25"),
    ("  CPU s of the service, per 1,000 Agents", "180", ""),
    ("  CPU s of API server and etcd, per 1,000 Agents", "", ""),
    ("  CPU s of the database, per 1,000 Agents", "", ""),
    ("  writes per Agent", "", "/ 3"),
    ("approved to RequirementsMet, median, ms", "", ""),
    ("  p99, ms", "", "1000"),
    ("  longest, ms", "", "1000"),
    ("the same while 1,000 others arrive, median, ms", "", ""),
    ("  p99, ms", "", "1000"),
    ("  longest, ms", "", "1000"),
    ("1,000 Agents as a table, ms (500 at a time, ms)", "", "300"),
    ("memory of the service at the end, MB", "", ""),
];

fn figures(world: &World) -> Result<Vec<String>> {
    let infra_env = world.infra_env()?;
    let agents = Agents::default();
    // Ends with the API server.
    std::thread::spawn({
        let (agents, http) = (agents.clone(), world.http.clone());
        move || agents.follow(&http)
    });
    await_condition("the watch to begin", LIMIT, || {
        if agents.seen().is_watching {
            Ok(())
        } else {
            Err("not yet".to_owned())
        }
    });
    with_agents(world, &infra_env, &agents)
}

fn with_agents(world: &World, infra_env: &str, agents: &Agents) -> Result<Vec<String>> {
    let began = Instant::now();
    let (run, cost) = world.cost(|| {
        let run = world.fleet(infra_env, "1");
        agents.await_inventories(HOSTS);
        // Until here, and further writes of them.
        agents.await_calm();
        run
    });
    ensure!(
        run.count("/inventories/taken") == u64::from(HOSTS),
        "not all hosts are known: {}",
        run.text()
    );
    let (last, writes) = agents.figures();
    let seconds = (last - began).as_secs_f64();
    let thousands = f64::from(HOSTS) / 1000.0;
    let names = agents.names();
    ensure!(
        names.len() >= 2 * APPROVALS,
        "only {} wait for approval",
        names.len()
    );
    let (idle_names, busy_names) = names[..2 * APPROVALS].split_at(APPROVALS);
    let idle = approvals(world, agents, idle_names)?;
    let tables = (tables(world, HOSTS as usize)?, tables(world, 500)?);
    let busy = std::thread::scope(|scope| {
        let others = scope.spawn(|| world.fleet(infra_env, "2"));
        agents.await_more(HOSTS + 20);
        let busy = approvals(world, agents, busy_names);
        let arrived = agents.seen().by_name.len();
        println!("({arrived} Agents were there after the last of the busy approvals)");
        others.join().expect("the fleet runs to its end");
        busy
    })?;
    agents.await_inventories(2 * HOSTS);
    let one = |value: f64, digits: usize| format!("{value:.digits$}");
    let mut figures = vec![
        one(f64::from(HOSTS) / seconds, 0),
        one(seconds, 1),
        one(cost.service / thousands, 1),
        world
            .plane
            .as_ref()
            .map_or("-".to_owned(), |_| one(cost.api / thousands, 1)),
        world
            .database
            .as_ref()
            .map_or("-".to_owned(), |_| one(cost.database / thousands, 1)),
        one(writes, 2),
    ];
    for times in [&idle, &busy] {
        figures.extend([50, 99, 100].map(|percent| one(percentile(times, percent), 0)));
    }
    figures.push(format!("{:.0} ({:.0})", tables.0, tables.1));
    figures.push(one(resident_mb(world.service.id()), 0));
    Ok(figures)
}

fn agent(name: &str) -> String {
    format!("/apis/agent-install.openshift.io/v1beta1/namespaces/{NAMESPACE}/agents/{name}")
}

/// Approves Agents one after the other; milliseconds until each one's condition was seen.
fn approvals(world: &World, agents: &Agents, names: &[String]) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for name in names {
        let began = Instant::now();
        let patch = json!({"spec": {"approved": true}}).to_string();
        let client = world.http.with("Content-Type", "application/merge-patch+json");
        let answer = client.request("PATCH", &agent(name), Some(patch.as_bytes()));
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(
            answer.status == 200,
            "{name} is not approved: {} {text}",
            answer.status
        );
        let met = agents.await_requirements_met(name);
        times.push(met.duration_since(began).as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Median milliseconds for all Agents as a table, so many in a request.
fn tables(world: &World, at_a_time: usize) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..TABLES {
        let (mut rows, mut took, mut next) = (0, Duration::ZERO, String::new());
        loop {
            let list = agent("").trim_end_matches('/').to_owned();
            let path = format!("{list}?limit={at_a_time}&continue={next}");
            let answer = world.http.with("Accept", TABLE).request("GET", &path, None);
            took += answer.took;
            let page: Value = serde_json::from_slice(&answer.body)?;
            ensure!(page["kind"] == "Table", "no table: {} {page}", answer.status);
            rows += page["rows"].as_array().map_or(0, Vec::len);
            next = page["metadata"]["continue"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if next.is_empty() {
                break;
            }
        }
        ensure!(rows == HOSTS as usize, "the table has {rows} rows");
        times.push(took.as_secs_f64() * 1e3);
    }
    Ok(percentile(&times, 50))
}

/// State collected from a watch of the Agents.
#[derive(Clone, Default)]
struct Agents(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    is_watching: bool,
    /// Resource version of the last event.
    version: String,
    by_name: HashMap<String, One>,
    with_inventory: u32,
    last_inventory: Option<Instant>,
    last_event: Option<Instant>,
    events: u64,
}

#[derive(Default)]
struct One {
    has_inventory: bool,
    /// Fit, and not approved.
    is_waiting: bool,
    met: Option<Instant>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    status: Option<Status>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

#[derive(Deserialize)]
struct Status {
    inventory: Option<Inventory>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Inventory {
    hostname: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    reason: String,
}

impl Agents {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("no thread panics with the lock")
    }

    /// Watches until the server is gone. A server ends the watch of a client that reads too slowly; like every
    /// client, this one then watches from the last version that it has seen.
    fn follow(&self, http: &HttpClient) {
        let list = agent("").trim_end_matches('/').to_owned();
        // A bookmark ends the initial events.
        let mut from =
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned();
        let watch =
            |from: &str| {
                http.lines(&format!("{list}?watch=1&{from}&timeoutSeconds=3600"), |line| {
                    let event = serde_json::from_slice(line);
                    self.see(event.unwrap_or_else(|error| {
                        panic!("an event: {error}: {}", String::from_utf8_lossy(line))
                    }));
                })
            };
        while watch(&from).is_ok() {
            from = format!("resourceVersion={}", self.seen().version);
        }
    }

    fn see(&self, event: Event) {
        let now = Instant::now();
        let mut seen = self.seen();
        seen.version.clone_from(&event.object.metadata.resource_version);
        if event.kind == "BOOKMARK" {
            seen.is_watching = true;
            return;
        }
        seen.events += 1;
        seen.last_event = Some(now);
        let one = seen.by_name.entry(event.object.metadata.name).or_default();
        let Some(status) = event.object.status else {
            return;
        };
        let waits = |condition: &Condition| condition.reason == "AgentIsNotApproved";
        one.is_waiting = status.conditions.iter().any(waits);
        let is_met =
            |condition: &Condition| condition.kind == "RequirementsMet" && condition.status == "True";
        if one.met.is_none() && status.conditions.iter().any(is_met) {
            one.met = Some(now);
        }
        let reported = status
            .inventory
            .is_some_and(|inventory| inventory.hostname.is_some());
        if reported && !one.has_inventory {
            one.has_inventory = true;
            seen.with_inventory += 1;
            seen.last_inventory = Some(now);
        }
    }

    fn await_inventories(&self, count: u32) {
        await_condition("Agents with inventories", LIMIT, || {
            match self.seen().with_inventory {
                found if found >= count => Ok(()),
                found => Err(format!("{found} of {count}")),
            }
        });
    }

    fn await_more(&self, count: u32) {
        await_condition("more Agents", LIMIT, || match self.seen().by_name.len() {
            found if found >= count as usize => Ok(()),
            found => Err(format!("{found} of {count}")),
        });
    }

    /// Waits until nothing has been written for a second.
    fn await_calm(&self) {
        await_condition("writes of Agents to stop", LIMIT, || {
            let last = self.seen().last_event.map(|last| last.elapsed());
            if last.is_some_and(|last| last > Duration::from_secs(1)) {
                Ok(())
            } else {
                Err(format!("{last:?}"))
            }
        });
    }

    /// The time when the last Agent got its inventory, and the mean number of writes an Agent until now.
    fn figures(&self) -> (Instant, f64) {
        let seen = self.seen();
        #[expect(clippy::cast_precision_loss, reason = "far fewer events than 2^52")]
        let writes = seen.events as f64 / seen.by_name.len() as f64;
        (seen.last_inventory.expect("there are inventories"), writes)
    }

    /// Agents that wait for approval.
    fn names(&self) -> Vec<String> {
        let seen = self.seen();
        let waiting = seen.by_name.iter().filter(|(_, one)| one.is_waiting);
        let mut names: Vec<String> = waiting.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    fn await_requirements_met(&self, name: &str) -> Instant {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(at) = self.seen().by_name.get(name).and_then(|one| one.met) {
                return at;
            }
            assert!(Instant::now() < end, "the Agent {name} does not become ready");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
