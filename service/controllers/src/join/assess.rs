//! Decides the next actions for a host while its node joins a cluster. Source: docs/protocol/install-flow.md#10.
//!
//! Pure: the inputs are the host, its cluster's Nodes and requests, and the time; the outputs are approvals, changes of the Node, the next
//! stage and what the host still waits for.

mod holder;

use std::collections::BTreeMap;

use chrono::Duration;
use muster_api::host::{HostKind, HostStage};
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_controller::references;
use muster_controller::times::timestamp;
use muster_core::record::{Host, HostData, HostState};
use muster_core::rules::{addresses, hostname, stages};
use muster_resources::ApprovedCsr;
use muster_resources::hypershift::InPlaceUpgrade;
use muster_workload::node::{Hold, NodeFacts, Readiness, of_host};
use muster_workload::node_settings::NodeSettings;

use super::awaited::{Awaited, Warning};
use super::csr::{Csr, Decision, Identity, NodeNames, Sort};
use super::view::View;
use super::words;

/// Time from the Node's creation in which its kubelet requests a serving certificate, if it is configured to: measured, seconds.
const SERVING_WAIT: Duration = Duration::seconds(30);

/// Difference that the cluster's clock may have to this service's.
const CLOCK_DIFFERENCE: Duration = Duration::seconds(60);

/// Facts about a host that are not in its record.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Approvals that its Agent's status names.
    pub approved: Vec<ApprovedCsr>,
    /// True when Cluster API waits for the provider id, and this service sets it.
    pub sets_provider_id: bool,
    /// Labels and taints that the Node gets from its NodePool.
    pub settings: Option<NodeSettings>,
    /// The upgrade in place of its Machine, which deletes the Node of the former system.
    pub upgrade: Option<InPlaceUpgrade>,
}

/// A request that another client approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    pub name: String,
    pub sort: Sort,
    pub at: Timestamp,
}

/// A change of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeChange {
    pub node: String,
    pub provider_id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub settings: Option<NodeSettings>,
}

/// The next actions for a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    /// Requests to approve.
    pub approve: Vec<(String, Sort)>,
    /// Requests that a Node holds which goes by itself, each with the reason.
    pub held: Vec<(String, String)>,
    /// Requests to record.
    pub track: Vec<Tracked>,
    pub node: Option<NodeChange>,
    /// The stage that is reached, with its detail. It is sent after the actions above.
    pub stage: Option<(HostStage, String)>,
    /// The wait of the host, and what a user can do.
    pub waits: Option<Awaited>,
    pub warnings: Vec<Warning>,
    /// Time at which the host must be assessed again even if nothing changes.
    pub again: Option<Timestamp>,
}

/// True while the cluster must be watched for the node of a host like this.
pub fn is_joining(state: &HostState, data: &HostData, cluster: Option<ClusterId>) -> bool {
    let is_late = data
        .progress
        .as_ref()
        .is_some_and(|progress| stages::is_late(progress.stage) && progress.stage != HostStage::Done);
    let is_installing = matches!(
        state,
        HostState::InstallingInProgress | HostState::InstallingPendingUserAction { .. }
    );
    data.kind == HostKind::AddToExistingClusterHost && cluster.is_some() && is_installing && is_late
}

/// The provider id of a host's node. Source: docs/protocol/capi-agent-provider.md#2 step 11.
pub fn provider_id(host: &Host) -> String {
    references::provider_id(&host.id.to_string())
}

/// Name and addresses of a host, as of the request to install it. Installations by earlier versions have none of that time.
pub fn identity(host: &Host) -> Identity {
    let interfaces = host.inventory.iter().flat_map(|inventory| &inventory.interfaces);
    let reported = || interfaces.flat_map(addresses::networks_of).map(|net| net.addr());
    Identity {
        hostname: hostname::effective(host).unwrap_or_default().to_owned(),
        addresses: match &host.data.installed_as {
            Some(kept) => kept.addresses.clone(),
            None => reported().collect(),
        },
    }
}

/// Assesses a host that is joining.
pub fn assess(host: &Host, known: &Known, view: &View, now: Timestamp) -> Assessment {
    let Some(progress) = &host.data.progress else {
        return Assessment::default();
    };
    let case = Case::new(
        host,
        known,
        view,
        (progress.stage, progress.stage_started_at),
        now,
    );
    let mut next = Assessment::default();
    let requests = case.decide_requests(&mut next);
    case.report_other_names(&mut next);
    match case.joined {
        Some(node) => case.joined(node, &requests, &mut next, now),
        None => case.not_joined(&requests, &mut next),
    }
    // Not before: it is nothing that the host waits for.
    next.warnings.extend(case.claims());
    next
}

/// The requests of a host.
#[derive(Default)]
struct Requests {
    /// True if a client certificate was requested.
    asked: bool,
    /// Sorts of certificates that are approved.
    approved: Vec<Sort>,
    /// The wait to report for a request that is not approved here.
    refused: Option<Awaited>,
}

struct Case<'a> {
    host: &'a Host,
    known: &'a Known,
    view: &'a View,
    identity: Identity,
    stage: HostStage,
    stage_started: Timestamp,
    now: Timestamp,
    /// The host's Node, whichever installation it is of.
    found: Option<&'a NodeFacts>,
    /// The host's Node, if it came up after this installation.
    joined: Option<&'a NodeFacts>,
}

impl<'a> Case<'a> {
    fn new(
        host: &'a Host,
        known: &'a Known,
        view: &'a View,
        (stage, stage_started): (HostStage, Timestamp),
        now: Timestamp,
    ) -> Self {
        let identity = identity(host);
        let found = of_host(view.nodes(), &identity.hostname);
        let is_client = |one: &&ApprovedCsr| one.type_ == Sort::Client.name();
        let certified = known
            .approved
            .iter()
            .filter(is_client)
            .filter_map(|one| timestamp(&one.approved_at))
            .any(|at| at >= host.data.registered_at - CLOCK_DIFFERENCE);
        let mut case = Self {
            host,
            known,
            view,
            identity,
            stage,
            stage_started,
            now,
            found,
            joined: None,
        };
        case.joined = found.filter(|node| !node.is_leaving && case.has_joined_as(node, certified));
        case
    }

    fn hostname(&self) -> &str {
        &self.identity.hostname
    }

    /// True for requests since the machine was booted for this installation.
    fn is_of_installation(&self, csr: &Csr) -> bool {
        let from = self.host.data.registered_at - CLOCK_DIFFERENCE;
        csr.created.is_none_or(|created| created >= from)
    }

    fn is_own(&self, csr: &Csr) -> bool {
        csr.is_for(self.hostname()) || self.joined.is_some_and(|node| csr.is_for(&node.name))
    }

    fn is_recorded(&self, csr: &Csr) -> bool {
        self.known.approved.iter().any(|one| one.name == csr.name)
    }

    fn decide_requests(&self, next: &mut Assessment) -> Requests {
        let mut requests = Requests::default();
        for one in &self.known.approved {
            let sort = if one.type_ == Sort::Client.name() {
                Sort::Client
            } else {
                Sort::Serving
            };
            requests.approved.push(sort);
            requests.asked |= sort == Sort::Client;
        }
        let of_others = self
            .joined
            .map(|node| self.view.addresses_of_others(&node.name, self.now))
            .unwrap_or_default();
        let names = self.joined.map(|node| NodeNames {
            name: &node.name,
            addresses: &node.addresses,
            of_others: &of_others,
        });
        let own = self
            .view
            .csrs()
            .filter(|csr| self.is_own(csr) && self.is_of_installation(csr) && !csr.is_renewal());
        for csr in own {
            requests.asked |= csr.sort == Sort::Client;
            match csr.decision {
                Decision::Refused => {}
                Decision::Approved(at) => {
                    if !self.is_recorded(csr) {
                        let (name, sort) = (csr.name.clone(), csr.sort);
                        let at = at.or(csr.created).unwrap_or(self.stage_started);
                        next.track.push(Tracked { name, sort, at });
                    }
                    requests.approved.push(csr.sort);
                }
                // Assessed again when its node has joined.
                Decision::Pending if csr.sort == Sort::Serving && self.joined.is_none() => {}
                Decision::Pending => match csr.check(&self.identity, names, &self.view.own) {
                    Ok(()) => self.approve_unless_held(csr, &mut requests, next),
                    Err(refusal) => {
                        let why = refusal.to_string();
                        next.warnings.push(words::refused(csr, &why));
                        requests.refused = Some(words::request_refused(&csr.name, &why));
                    }
                },
            }
        }
        requests
    }

    fn approve_unless_held(&self, csr: &Csr, requests: &mut Requests, next: &mut Assessment) {
        let holder = (csr.sort == Sort::Client).then(|| self.holder(csr)).flatten();
        let Some((node, hold)) = holder else {
            next.approve.push((csr.name.clone(), csr.sort));
            return;
        };
        let held = words::held(node, hold);
        if let Hold::Silent { until } | Hold::Former { until } = hold {
            next.again = [next.again, until].into_iter().flatten().min();
            next.held.push((csr.name.clone(), held.text()));
        } else {
            next.warnings.push(words::name_held(csr, node, hold));
        }
        requests.refused = Some(held);
    }

    /// Reports requests and Nodes with names that differ from the host's in the part after the first dot.
    fn report_other_names(&self, next: &mut Assessment) {
        if self.joined.is_some() {
            return;
        }
        let near = self
            .view
            .csrs()
            .filter(|csr| csr.decision == Decision::Pending && csr.is_nearly_for(self.hostname()));
        for csr in near {
            let why = words::other_name(&csr.node, self.hostname());
            next.warnings.push(words::refused(csr, &why));
        }
    }

    /// Nodes of other names with the host's provider id.
    fn claims(&self) -> impl Iterator<Item = Warning> {
        let claims = self.view.nodes().filter(|node| {
            self.is_own_node(node) && !node.name.eq_ignore_ascii_case(self.hostname()) && !node.is_leaving
        });
        claims.map(|node| words::claimed(node, self.hostname()))
    }

    fn not_joined(&self, requests: &Requests, next: &mut Assessment) {
        let near_node = self.view.nodes().find(|node| {
            let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
            let is_near = first(&node.name) == first(self.hostname()) || self.is_own_node(node);
            !node.name.eq_ignore_ascii_case(self.hostname()) && is_near
        });
        let awaited = match (self.found, &requests.refused, next.warnings.first()) {
            (_, Some(refused), _) => refused.clone(),
            (_, None, Some(warning)) => words::other_name_asked(&warning.note),
            (Some(node), None, None) => words::old_node(node),
            (None, None, None) if requests.approved.contains(&Sort::Client) => {
                words::certified(self.hostname())
            }
            (None, None, None) => {
                words::nothing_yet(self.hostname(), near_node.map(|node| node.name.as_str()))
            }
        };
        if requests.asked && self.comes_before(HostStage::Configuring) {
            next.stage = Some((HostStage::Configuring, awaited.what.clone()));
        }
        next.waits = Some(awaited);
    }

    fn joined(&self, node: &NodeFacts, requests: &Requests, next: &mut Assessment, now: Timestamp) {
        let provider_id = provider_id(self.host);
        let foreign_id =
            self.known.sets_provider_id && !node.provider_id.is_empty() && node.provider_id != provider_id;
        let missing = self.known.sets_provider_id && node.provider_id.is_empty();
        let settings = self.known.settings.as_ref();
        let is_ours = |key: &str| !settings.is_some_and(|settings| settings.decide(key));
        let labels: BTreeMap<String, String> = self
            .host
            .data
            .node_labels
            .iter()
            .filter(|(key, value)| is_ours(key) && node.labels.get(key) != Some(value))
            .cloned()
            .collect();
        let settings = settings.filter(|settings| !settings.are_on(&node.labels, &node.taints));
        if missing || !labels.is_empty() || settings.is_some() {
            next.node = Some(NodeChange {
                node: node.name.clone(),
                provider_id: missing.then_some(provider_id.clone()),
                labels,
                settings: settings.cloned(),
            });
        }
        if foreign_id {
            next.warnings.push(words::foreign_provider_id(node, &provider_id));
        }
        if self.comes_before(HostStage::Joined) {
            let awaited = words::not_ready(node);
            next.stage = Some((HostStage::Joined, awaited.what.clone()));
            next.waits = Some(awaited);
            return;
        }
        let serving_until = self.stage_started + SERVING_WAIT;
        let has_serving = requests.approved.contains(&Sort::Serving);
        if foreign_id {
            next.waits = Some(words::waits_for_provider_id(node, &provider_id));
        } else if let Some(refused) = &requests.refused {
            next.waits = Some(refused.clone());
        } else if node.readiness != Readiness::Ready {
            next.waits = Some(words::not_ready(node));
        } else if !has_serving && next.approve.is_empty() && now < serving_until {
            next.waits = Some(words::may_ask_for_serving(node));
            next.again = Some(serving_until);
        } else if next.approve.is_empty() {
            next.stage = Some((HostStage::Done, words::ready(&node.name)));
        }
    }

    fn comes_before(&self, stage: HostStage) -> bool {
        let order = [
            HostStage::Rebooting,
            HostStage::WaitingForIgnition,
            HostStage::Configuring,
            HostStage::Joined,
            HostStage::Done,
        ];
        let position = |wanted| order.iter().position(|one| *one == wanted);
        position(self.stage) < position(stage)
    }
}

#[cfg(test)]
mod tests;
