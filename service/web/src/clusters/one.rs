//! One cluster: its hosts by role, state and stage, what keeps them, requests of its nodes, its node pools.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::host::HostStatus;
use muster_api::ids::ClusterId;
use muster_api::node_pools::{Controllers, NodePools};
use muster_api::search::{FoundHost, FoundHosts};
use muster_api::troubles::{PendingRequest, Troubles};

use super::{PoolRow, node_pools};
use crate::hosts::{self, Wait, mood, stage};
use crate::html::{Frame, answer, hosts_with};
use crate::rest::{Path, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Hosts that are read, the most that REST returns at once.
const READ: usize = 1000;

/// Hosts that are named in each list.
const NAMED: usize = 50;

#[derive(Template)]
#[template(path = "cluster.html")]
struct ClusterPage {
    frame: Frame,
    id: ClusterId,
    name: String,
    facts: Vec<(&'static str, String)>,
    hosts: String,
    hosts_address: String,
    groups: Vec<Group>,
    blockers: Vec<Blocker>,
    more_blockers: usize,
    installing: Vec<Installing>,
    more_installing: usize,
    requests: Vec<Request>,
    /// True if there are more requests than were read.
    has_more_requests: bool,
    /// True if the controllers, which alone have the requests, are in another replica.
    is_elsewhere: bool,
    pools: Vec<PoolRow>,
    /// What is wrong with node pools, where the service has a Kubernetes API; empty: nothing.
    pools_note: String,
    /// False if only a part of its hosts was read.
    is_whole: bool,
    read: usize,
    at: String,
    /// The place in the stream of changes.
    revision: String,
}

/// Hosts by the values of one kind.
struct Group {
    heading: &'static str,
    bars: Vec<Bar>,
}

/// Hosts with one value.
struct Bar {
    value: String,
    hosts: usize,
    of: usize,
    address: String,
}

/// A host that does not go on without help.
struct Blocker {
    address: String,
    name: String,
    why: String,
    /// True if its logs may show the reason.
    has_failed: bool,
}

/// A host that is being installed.
struct Installing {
    address: String,
    name: String,
    stage: String,
    percentage: u8,
}

/// A certificate signing request.
struct Request {
    name: String,
    node: String,
    kind: String,
    since: String,
    since_at: String,
    reason: String,
}

pub async fn show(visitor: Visitor, Path(id): Path<ClusterId>) -> Result<Response, Refusal> {
    let frame = frame(&visitor).await?;
    let cluster: Cluster = visitor.get(&format!("/clusters/{id}")).await?;
    let query = format!("cluster:{id}");
    let found = visitor.hosts(&query, READ, "role,state").await?;
    let troubles: Troubles = visitor
        .get(&format!("{MUSTER_PATH}/troubles?cluster={id}"))
        .await?;
    let pools = node_pools(&visitor).await?.unwrap_or_default();
    Ok(answer(&page(frame, &cluster, found, &troubles, &pools)))
}

fn page(
    frame: Frame,
    cluster: &Cluster,
    found: FoundHosts,
    troubles: &Troubles,
    pools: &NodePools,
) -> ClusterPage {
    let (id, now) = (cluster.id, found.at.as_str());
    let query = format!("cluster:{id}");
    let blockers: Vec<Blocker> = found
        .hosts
        .iter()
        .filter_map(|host| Blocker::of(host, now))
        .collect();
    let installing: Vec<Installing> = found.hosts.iter().filter_map(Installing::of).collect();
    let requests = troubles.certificate_requests.iter();
    let own_pools = pools.node_pools.iter().filter(|pool| pool.cluster_id == Some(id));
    ClusterPage {
        id,
        name: cluster.name.clone(),
        facts: facts(cluster),
        hosts: words::count(found.total, "host"),
        hosts_address: hosts_with(&query),
        groups: groups(&query, &found),
        more_blockers: blockers.len().saturating_sub(NAMED),
        blockers: blockers.into_iter().take(NAMED).collect(),
        more_installing: installing.len().saturating_sub(NAMED),
        installing: installing.into_iter().take(NAMED).collect(),
        requests: requests.map(|request| Request::of(request, now)).collect(),
        has_more_requests: troubles.certificate_requests.len() < troubles.certificate_requests_total,
        is_elsewhere: pools.controllers == Controllers::Elsewhere,
        pools: own_pools.map(PoolRow::of).collect(),
        pools_note: pools_note(pools),
        is_whole: found.hosts.len() >= found.total,
        read: found.hosts.len(),
        at: found.at.clone(),
        revision: found.revision,
        frame,
    }
}

fn pools_note(pools: &NodePools) -> String {
    match (pools.controllers, pools.more) {
        (Controllers::Off, _) => String::new(),
        (Controllers::Here | Controllers::Elsewhere, true) if pools.note.is_empty() => {
            "there are more than are read at once: kubectl get nodepools -A".to_owned()
        }
        (Controllers::Here | Controllers::Elsewhere, _) => pools.note.clone(),
    }
}

/// Nothing that is unknown.
fn facts(cluster: &Cluster) -> Vec<(&'static str, String)> {
    let all = [
        ("Version", &cluster.openshift_version),
        ("API", &cluster.api_vip_dns_name),
        ("Its own id", &cluster.openshift_cluster_id),
    ];
    let known = all.into_iter().filter(|(_, value)| !value.is_empty());
    known.map(|(name, value)| (name, value.clone())).collect()
}

/// The hosts by role and state, counted by REST, and by stage, of those that were read.
fn groups(query: &str, found: &FoundHosts) -> Vec<Group> {
    let counted = |heading: &'static str, key: &str| {
        let facet = found.facets.iter().find(|facet| facet.key == key);
        let values = facet.map(|facet| facet.values.as_slice()).unwrap_or_default();
        let bars = values.iter().map(|one| Bar {
            value: one.value.clone(),
            hosts: one.hosts,
            of: found.total,
            address: hosts_with(&format!("{query} {}", one.term)),
        });
        Group {
            heading,
            bars: bars.collect(),
        }
    };
    let mut stages = BTreeMap::<&str, usize>::new();
    for stage in found.hosts.iter().filter_map(|host| host.stage) {
        *stages.entry(stage.name()).or_default() += 1;
    }
    let stages = stages.into_iter().map(|(name, hosts)| {
        let word = name.to_lowercase().replace(' ', "-");
        Bar {
            value: name.to_owned(),
            hosts,
            of: found.hosts.len(),
            address: hosts_with(&format!("{query} stage:{word}")),
        }
    });
    let by_stage = Group {
        heading: "By stage of the installation",
        bars: stages.collect(),
    };
    let groups = [counted("By role", "role"), counted("By state", "state"), by_stage];
    groups
        .into_iter()
        .filter(|group| !group.bars.is_empty())
        .collect()
}

impl Blocker {
    fn of(host: &FoundHost, now: &str) -> Option<Self> {
        let overdue = Wait::of(host, now).filter(|wait| wait.is_overdue);
        let why = match overdue {
            Some(wait) => format!(
                "waits for {}, due {}. {}",
                wait.what,
                wait.until.unwrap_or_default(),
                wait.what_to_do
            ),
            None if mood(host.status) == "bad" => host.reason.clone(),
            None => return None,
        };
        Some(Self {
            address: hosts::address(host.infra_env_id, host.id),
            name: host.name.clone(),
            why,
            has_failed: host.status == HostStatus::Error,
        })
    }
}

impl Installing {
    fn of(host: &FoundHost) -> Option<Self> {
        let is_installing = matches!(
            host.status,
            HostStatus::PreparingForInstallation
                | HostStatus::Installing
                | HostStatus::InstallingInProgress
                | HostStatus::InstallingPendingUserAction
        );
        let text = stage(host);
        is_installing.then(|| Self {
            address: hosts::address(host.infra_env_id, host.id),
            name: host.name.clone(),
            stage: match text.is_empty() {
                true => host.status.name().to_owned(),
                false => text,
            },
            percentage: host.percentage,
        })
    }
}

impl Request {
    fn of(request: &PendingRequest, now: &str) -> Self {
        let since_at = request.since.clone().unwrap_or_default();
        Self {
            name: request.name.clone(),
            node: request.node.clone(),
            kind: request.kind.clone(),
            since: words::relative(&since_at, now),
            since_at,
            reason: request.reason.clone(),
        }
    }
}
