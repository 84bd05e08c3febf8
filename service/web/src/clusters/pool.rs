//! One node pool: its Machines, and why one of them has its host and no other.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::node_pools::{
    Controllers, MachinePlacement, NamedCandidate, NamespaceQuota, NodePoolDetails, PlacedHost,
};
use url::form_urlencoded::byte_serialize;

use super::{Problem, address, pool_address, wanted};
use crate::hosts::{self, Wait};
use crate::html::{Frame, answer, hosts_with, no_page};
use crate::rest::{Path, Refusal, Visitor};
use crate::sign_in::frame;

#[derive(Template)]
#[template(path = "node_pool.html")]
struct PoolPage {
    frame: Frame,
    /// `NAMESPACE/NAME`.
    title: String,
    /// The reason why something is missing; empty: nothing is.
    note: String,
    /// The place of the controllers, as a sentence; empty: here.
    controllers: &'static str,
    pool: Option<Pool>,
    machines: Vec<Machine>,
    has_more_machines: bool,
    quotas: Vec<Quota>,
    funnel: Option<Funnel>,
    at: String,
    /// The place in the stream of changes.
    revision: String,
}

struct Pool {
    cluster: String,
    /// `None`: there is no cluster yet.
    cluster_address: Option<String>,
    there: i64,
    wanted: String,
    /// The end of the scale.
    most: i64,
    facts: Vec<(&'static str, String)>,
    problems: Vec<Problem>,
}

struct Machine {
    name: String,
    mood: &'static str,
    state: &'static str,
    host: Option<Host>,
    /// The Agent, where its host is not known; empty: none was taken.
    agent: String,
    wait: Option<Wait>,
    problems: Vec<Problem>,
    /// The address of the page with this Machine's funnel; `None`: nothing was decided about it.
    funnel: Option<String>,
}

struct Host {
    address: String,
    name: String,
    status: &'static str,
    mood: &'static str,
    stage: String,
    sleep: String,
}

struct Quota {
    name: String,
    used: i64,
    limit: Option<i64>,
    reserved: i64,
    held: i64,
    waiting: i64,
    problems: Vec<Problem>,
}

/// The hosts that a Machine might have had, step by step.
struct Funnel {
    machine: String,
    considered: usize,
    steps: Vec<Step>,
    /// The host that was taken.
    taken: Option<Host>,
    named: Vec<Named>,
}

struct Step {
    what: String,
    reason: String,
    hosts: usize,
    left: usize,
    /// The list of these hosts; `None`: none of them is known.
    address: Option<String>,
    listed: usize,
}

struct Named {
    /// `None`: the host is not known.
    address: Option<String>,
    name: String,
    message: String,
}

pub async fn show(
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    if !is_name(&namespace) || !is_name(&name) {
        return Ok(no_page());
    }
    let frame = frame(&visitor).await?;
    let path = format!("{MUSTER_PATH}/node-pools/{namespace}/{name}");
    let found: NodePoolDetails = visitor.get(&path).await?;
    let hosts = visitor.hosts("", 1, "").await?;
    let now = hosts.at.as_str();
    let own = pool_address(&namespace, &name);
    let [chosen] = visitor.parameters(["machine"]);
    let funnel = match chosen.is_empty() {
        true => most_interesting(&found.machines),
        false => {
            let named = found.machines.iter().find(|machine| machine.name == chosen);
            let absent = || {
                let reason = format!("the node pool has no Machine {chosen}");
                visitor.refusal(StatusCode::NOT_FOUND, reason)
            };
            Some(named.ok_or_else(absent)?)
        }
    };
    Ok(answer(&PoolPage {
        frame,
        title: format!("{namespace}/{name}"),
        note: found.note.clone(),
        controllers: place(found.controllers),
        pool: Pool::of(&found, now),
        machines: found
            .machines
            .iter()
            .map(|machine| Machine::of(machine, &own, now))
            .collect(),
        has_more_machines: found.more,
        quotas: found.quotas.iter().map(|quota| Quota::of(quota, now)).collect(),
        funnel: funnel.map(Funnel::of),
        at: hosts.at.clone(),
        revision: hosts.revision.clone(),
    }))
}

/// True for texts that the Kubernetes API may have as names: the path of REST takes them as they are.
fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.starts_with(is_plain)
        && text
            .chars()
            .all(|letter| is_plain(letter) || matches!(letter, '-' | '.'))
}

fn place(controllers: Controllers) -> &'static str {
    match controllers {
        Controllers::Here => "",
        Controllers::Elsewhere => "The controllers run in another replica.",
        Controllers::Off => "No controllers run.",
    }
}

/// The Machine whose funnel is shown unless the visitor chooses: the first that waits for a host, else the first that was decided about.
fn most_interesting(machines: &[MachinePlacement]) -> Option<&MachinePlacement> {
    let decided = || machines.iter().filter(|machine| machine.considered > 0);
    decided()
        .find(|machine| machine.agent.is_empty())
        .or_else(|| decided().next())
}

impl Pool {
    fn of(found: &NodePoolDetails, now: &str) -> Option<Self> {
        let pool = found.node_pool.as_ref()?;
        let all = [
            ("Labels that its hosts must have", &pool.selector),
            ("Version", &pool.version),
            ("Namespace of its Machines", &pool.machines_namespace),
        ];
        let known = all.into_iter().filter(|(_, value)| !value.is_empty());
        let of_cluster = found.cluster_problems.iter().map(|one| Problem {
            condition: format!("HostedCluster {}", one.condition),
            ..Problem::of(one, now)
        });
        Some(Self {
            cluster: pool.cluster.clone(),
            cluster_address: pool.cluster_id.map(address),
            there: pool.there,
            wanted: wanted(pool),
            most: pool.most.unwrap_or(pool.wanted).max(pool.there).max(1),
            facts: known.map(|(name, value)| (name, value.clone())).collect(),
            problems: of_cluster
                .chain(pool.problems.iter().map(|one| Problem::of(one, now)))
                .collect(),
        })
    }
}

impl Machine {
    fn of(machine: &MachinePlacement, own: &str, now: &str) -> Self {
        let wait = machine.wait.as_ref().map(|wait| Wait::at(wait, now));
        let is_overdue = wait.as_ref().is_some_and(|wait| wait.is_overdue);
        let (state, mood) = match (machine.deleting, machine.ready, is_overdue) {
            (true, ..) => ("being deleted", "busy"),
            (false, true, _) => ("ready", "good"),
            (false, false, true) => ("overdue", "bad"),
            (false, false, false) => ("waiting", "busy"),
        };
        let chosen: String = byte_serialize(machine.name.as_bytes()).collect();
        Self {
            name: machine.name.clone(),
            mood,
            state,
            host: machine.host.as_ref().map(Host::of),
            agent: machine.agent.clone(),
            wait,
            problems: machine.problems.iter().map(|one| Problem::of(one, now)).collect(),
            funnel: (machine.considered > 0).then(|| format!("{own}?machine={chosen}#funnel")),
        }
    }
}

impl Host {
    fn of(host: &PlacedHost) -> Self {
        Self {
            address: hosts::address(host.infra_env_id, host.id),
            name: host.name.clone(),
            status: host.status.name(),
            mood: hosts::mood(host.status),
            stage: hosts::stage_text(host.stage, host.percentage),
            sleep: host.sleep.clone(),
        }
    }
}

impl Quota {
    fn of(quota: &NamespaceQuota, now: &str) -> Self {
        Self {
            name: format!("{}/{}", quota.namespace, quota.name),
            used: quota.used,
            limit: quota.limit,
            reserved: quota.reserved,
            held: quota.held,
            waiting: quota.waiting,
            problems: quota.problems.iter().map(|one| Problem::of(one, now)).collect(),
        }
    }
}

impl Funnel {
    fn of(machine: &MachinePlacement) -> Self {
        let steps = machine.candidates.iter().map(|step| Step {
            what: step.what.clone(),
            reason: step.reason.clone(),
            hosts: step.hosts,
            left: step.left,
            address: (!step.query.is_empty()).then(|| hosts_with(&step.query)),
            listed: step.listed,
        });
        Self {
            machine: machine.name.clone(),
            considered: machine.considered,
            steps: steps.collect(),
            taken: machine.host.as_ref().map(Host::of),
            named: machine.named.iter().map(Named::of).collect(),
        }
    }
}

impl Named {
    fn of(named: &NamedCandidate) -> Self {
        let ids = named.infra_env_id.zip(named.host_id);
        Self {
            address: ids.map(|(infra_env_id, id)| hosts::address(infra_env_id, id)),
            name: named.name.clone(),
            message: named.message.clone(),
        }
    }
}
