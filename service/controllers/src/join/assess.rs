//! Decides what is to be done for a host whose node is on its way into a cluster. Source: docs/protocol/install-flow.md#10.
//!
//! Pure: the host, its cluster's Nodes and requests, and the time go in; approvals, changes of the Node, the next stage and what
//! is still awaited come out.

use std::collections::BTreeMap;

use chrono::Duration;
use muster_api::host::{HostKind, HostStage};
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::record::{Host, HostData, HostState};
use muster_core::rules::{addresses, hostname, stages};
use muster_resources::ApprovedCsr;

use super::csr::{Csr, Decision, Identity, NodeNames, Sort};
use super::node::{NodeFacts, Readiness, of_host};
use super::times::timestamp;
use super::told::{Awaited, Warning};
use super::view::View;
use super::words;
use crate::node_settings::NodeSettings;

/// Time after the Node's coming in which its kubelet asks for a serving certificate, if it is configured to: measured, seconds.
const SERVING_WAIT: Duration = Duration::seconds(30);

/// Difference that the cluster's clock may have to ours.
const CLOCK_DIFFERENCE: Duration = Duration::seconds(60);

/// What is known of a host beside its record.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Approvals that its Agent's status names.
    pub approved: Vec<ApprovedCsr>,
    /// True when Cluster API waits for the provider id, and it is this service that sets it.
    pub sets_provider_id: bool,
    /// Labels and taints that its Node gets of its NodePool.
    pub settings: Option<NodeSettings>,
}

/// A request that somebody else approved.
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

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    /// To be approved.
    pub approve: Vec<(String, Sort)>,
    /// To be recorded.
    pub track: Vec<Tracked>,
    pub node: Option<NodeChange>,
    /// The stage that is reached, with its detail. It waits for what is above.
    pub stage: Option<(HostStage, String)>,
    /// What is awaited, and what a user can do.
    pub waits: Option<Awaited>,
    pub warnings: Vec<Warning>,
    /// Time at which it must be looked at even if nothing changes.
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
    format!("agent://{}", host.id)
}

/// Name and addresses of a host.
pub fn identity(host: &Host) -> Identity {
    let interfaces = host.inventory.iter().flat_map(|inventory| &inventory.interfaces);
    Identity {
        hostname: hostname::effective(host).unwrap_or_default().to_owned(),
        addresses: interfaces.flat_map(addresses::networks_of).collect(),
    }
}

/// Assesses a host that is joining.
pub fn assess(host: &Host, known: &Known, view: &View, now: Timestamp) -> Assessment {
    let Some(progress) = &host.data.progress else {
        return Assessment::default();
    };
    let case = Case::new(host, known, view, progress.stage, progress.stage_started_at);
    let mut next = Assessment::default();
    let requests = case.decide_requests(&mut next);
    case.report_other_names(&mut next);
    match case.joined {
        Some(node) => case.joined(node, &requests, &mut next, now),
        None => case.not_joined(&requests, &mut next),
    }
    next
}

/// The requests of a host.
#[derive(Default)]
struct Requests {
    /// A client certificate was asked for.
    asked: bool,
    /// Sorts of certificates that are approved.
    approved: Vec<Sort>,
    /// One that waits and is not approved here: its name and why.
    refused: Option<(String, String)>,
}

struct Case<'a> {
    host: &'a Host,
    known: &'a Known,
    view: &'a View,
    identity: Identity,
    stage: HostStage,
    stage_started: Timestamp,
    /// Its Node, whichever installation that is of.
    found: Option<&'a NodeFacts>,
    /// Its Node, which came up after this installation.
    joined: Option<&'a NodeFacts>,
}

impl<'a> Case<'a> {
    fn new(
        host: &'a Host,
        known: &'a Known,
        view: &'a View,
        stage: HostStage,
        stage_started: Timestamp,
    ) -> Self {
        let identity = identity(host);
        let found = of_host(view.nodes(), &provider_id(host), &identity.hostname);
        let is_client = |one: &&ApprovedCsr| one.type_ == Sort::Client.name();
        let certified = known
            .approved
            .iter()
            .filter(is_client)
            .filter_map(|one| timestamp(&one.approved_at))
            .any(|at| at >= host.data.registered_at - CLOCK_DIFFERENCE);
        let joined = found.filter(|node| {
            let is_new = stage == HostStage::Joined || node.is_of_installation(stage_started, certified);
            is_new && !node.is_leaving
        });
        Self {
            host,
            known,
            view,
            identity,
            stage,
            stage_started,
            found,
            joined,
        }
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
            .map(|node| self.view.addresses_of_others(&node.name))
            .unwrap_or_default();
        let names = self.joined.map(|node| NodeNames {
            name: &node.name,
            dns_names: &node.dns_names,
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
                // It is looked at again when its node has joined.
                Decision::Pending if csr.sort == Sort::Serving && self.joined.is_none() => {}
                Decision::Pending => match csr.check(&self.identity, names) {
                    Ok(()) => next.approve.push((csr.name.clone(), csr.sort)),
                    Err(why) => {
                        next.warnings.push(words::refused(csr, &why));
                        requests.refused = Some((csr.name.clone(), why));
                    }
                },
            }
        }
        requests
    }

    /// Requests and Nodes whose names differ from the host's in the part after the first dot.
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

    fn not_joined(&self, requests: &Requests, next: &mut Assessment) {
        let near_node = self.view.nodes().find(|node| {
            let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
            !node.name.eq_ignore_ascii_case(self.hostname()) && first(&node.name) == first(self.hostname())
        });
        let awaited = match (self.found, &requests.refused, next.warnings.first()) {
            (_, Some((name, why)), _) => words::request_refused(name, why),
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
        } else if let Some((name, why)) = &requests.refused {
            next.waits = Some(words::request_refused(name, why));
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
