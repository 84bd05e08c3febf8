//! Words the waits of a joining host. No text changes between assessments unless its content does.

use muster_workload::node::{Hold, NodeFacts, Readiness, SILENCE};

use super::awaited::{Awaited, Warning};
use super::csr::Csr;

fn awaited(what: impl Into<String>, todo: impl Into<String>) -> Awaited {
    Awaited {
        what: what.into(),
        todo: todo.into(),
    }
}

/// Detail of the stage `Done`.
pub fn ready(node: &str) -> String {
    format!("The node {node} is ready")
}

pub fn not_ready(node: &NodeFacts) -> Awaited {
    let why = match (node.readiness, node.why.is_empty()) {
        (Readiness::Ready, _) | (_, true) => String::new(),
        (Readiness::NotReady, false) => format!(" ({})", shortened(&node.why)),
        (Readiness::Silent, false) => " (its kubelet is silent)".to_owned(),
    };
    awaited(
        format!(
            "The node {} has joined, and its readiness is awaited{why}",
            node.name
        ),
        format!("See `kubectl describe node {}` in the cluster.", node.name),
    )
}

pub fn nothing_yet(hostname: &str, near: Option<&str>) -> Awaited {
    if let Some(near) = near {
        return awaited(
            format!("The node {hostname} is awaited in the cluster, which has one called {near}"),
            "The two names must be the same: if that node is this machine, take it out of the cluster and set the Agent's spec.hostname to the name that the machine gives itself.",
        );
    }
    awaited(
        format!(
            "The node {hostname} is awaited in the cluster; its kubelet has not requested a certificate yet"
        ),
        "If it takes longer than the machine needs to boot, look at its console: whether it boots from its disk, reaches the cluster's API, and has the name that the Agent shows.",
    )
}

pub fn certified(hostname: &str) -> Awaited {
    awaited(
        format!("The kubelet of {hostname} has its certificate, and its Node is awaited"),
        "If it does not come, look at the kubelet's log on the machine.",
    )
}

pub fn old_node(node: &NodeFacts) -> Awaited {
    awaited(
        format!(
            "The cluster has a Node {} from before this installation, and the machine's own is awaited",
            node.name
        ),
        format!(
            "If the old one is of no use any more: `kubectl delete node {}` in the cluster.",
            node.name
        ),
    )
}

/// The name of a host is held by a Node.
pub fn held(node: &NodeFacts, hold: Hold) -> Awaited {
    let name = &node.name;
    if let Hold::Silent { .. } = hold {
        return awaited(
            format!(
                "The certificate of {name} is approved when the Node of that name in the cluster has been silent for {} minutes",
                SILENCE.num_minutes()
            ),
            format!(
                "It is at once if that Node is of no use any more and is deleted: `kubectl delete node {name}` in the cluster."
            ),
        );
    }
    if let Hold::Former { .. } = hold {
        return awaited(
            format!(
                "The certificate of {name} is approved when the Node of its former system is deleted, which its upgrade in place does once that Node's kubelet counts as silent"
            ),
            format!(
                "The condition Updating of its Machine shows why it is still there; `kubectl delete node {name}` in the cluster does the same."
            ),
        );
    }
    awaited(
        format!(
            "The certificate of {name} is not approved here: the cluster has a Node of that name, {}",
            hold_words(hold)
        ),
        format!(
            "If that Node is of no use any more, delete it: `kubectl delete node {name}` in the cluster. Else give this host another name (the Agent's spec.hostname) and install it again."
        ),
    )
}

fn hold_words(hold: Hold) -> &'static str {
    match hold {
        Hold::AnotherMachines => "which is another machine",
        Hold::Lives => "whose kubelet still reports",
        Hold::Silent { .. } => "which has not been silent for long",
        Hold::ControlPlane => "which is one of its control plane",
        Hold::Former { .. } => "which is that of its former system",
    }
}

pub fn name_held(csr: &Csr, node: &NodeFacts, hold: Hold) -> Warning {
    let awaited = held(node, hold);
    let note = format!(
        "The client certificate request {} waits. {}",
        csr.name,
        awaited.text()
    );
    about_request(csr, "NodeNameInUse", note)
}

pub fn request_refused(name: &str, why: &str) -> Awaited {
    awaited(
        format!(
            "The certificate request {name} is not approved here: {}",
            shortened(why)
        ),
        approve_by_hand(name),
    )
}

pub fn other_name_asked(note: &str) -> Awaited {
    awaited(note.trim_end_matches('.'), "")
}

pub fn other_name(requested: &str, hostname: &str) -> String {
    format!(
        "it is for the node {requested:?}, and the host is called {hostname:?}: set the Agent's spec.hostname to the name that the machine gives itself, and install it again"
    )
}

pub fn may_ask_for_serving(node: &NodeFacts) -> Awaited {
    awaited(
        format!(
            "The node {} is ready, and a request for its serving certificate is awaited for a moment, in case that it makes one",
            node.name
        ),
        "",
    )
}

pub fn waits_for_provider_id(node: &NodeFacts, wanted: &str) -> Awaited {
    awaited(
        format!(
            "The node {} has the provider id {:?} instead of {wanted:?}, so that Cluster API does not find it",
            node.name,
            shortened(&node.provider_id)
        ),
        format!(
            "A provider id cannot be changed: delete that Node, and restart the kubelet of the machine, if it is this one. `kubectl delete node {}`",
            node.name
        ),
    )
}

/// The cluster cannot be reached.
pub fn unreachable(cluster: &str, why: &str) -> Awaited {
    awaited(
        format!(
            "The node is awaited in the cluster of {cluster}, which cannot be reached: {}",
            shortened(why)
        ),
        "Certificates are approved and stages go on as soon as it answers.",
    )
}

/// An action in the cluster failed.
pub fn failed(what: &str, why: &str) -> Awaited {
    awaited(
        format!("{what} failed, and is tried again: {}", shortened(why)),
        "",
    )
}

fn about_request(csr: &Csr, reason: &'static str, note: String) -> Warning {
    Warning {
        key: format!("csr {}", csr.uid),
        about: ("CertificateSigningRequest", csr.name.clone()),
        reason,
        note,
    }
}

pub fn refused(csr: &Csr, why: &str) -> Warning {
    let note = format!(
        "The {} certificate request {} is not approved: {}. {}",
        csr.sort.name(),
        csr.name,
        shortened(why),
        approve_by_hand(&csr.name)
    );
    about_request(csr, "CertificateRequestNotApproved", note)
}

pub fn foreign_provider_id(node: &NodeFacts, wanted: &str) -> Warning {
    let awaited = waits_for_provider_id(node, wanted);
    Warning {
        key: format!("provider id {} {}", node.uid, node.provider_id),
        about: ("Node", node.name.clone()),
        reason: "ProviderIDMismatch",
        note: format!("{}. {}", awaited.what, awaited.todo),
    }
}

/// A Node of another name with the host's provider id.
pub fn claimed(node: &NodeFacts, hostname: &str) -> Warning {
    Warning {
        key: format!("claim {} {}", node.uid, node.provider_id),
        about: ("Node", node.name.clone()),
        reason: "ProviderIDClaimed",
        note: format!(
            "The node {0} has the provider id of the host {hostname}, and is not taken for it: its name is another one, and a kubelet may set any provider id. If it is one of before, or nobody knows it: `kubectl delete node {0}` in the cluster.",
            node.name
        ),
    }
}

/// A request of a joining host that is decided later.
pub fn undecided(csr: &Csr) -> String {
    format!(
        "The {} certificate request {} of the node {:?} is decided when that node has joined as the host that is being installed. {}",
        csr.sort.name(),
        csr.name,
        shortened(&csr.node),
        approve_by_hand(&csr.name)
    )
}

/// Most hosts that a text names.
const MOST_HOSTS: usize = 10;

/// A request that is no joining host's; `hosts`: those that are joining.
pub fn foreign(csr: &Csr, hosts: &[String]) -> Warning {
    let (named, others) = hosts.split_at(hosts.len().min(MOST_HOSTS));
    let others = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let note = format!(
        "The {} certificate request {} in the workload cluster, made by {:?}, is for the node {:?}, which is no host that is being installed into it: it is not approved here. {} Hosts that are being installed: {}{others}",
        csr.sort.name(),
        csr.name,
        shortened(&csr.user),
        shortened(&csr.node),
        approve_by_hand(&csr.name),
        named.join(", ")
    );
    about_request(csr, "ForeignCertificateRequest", note)
}

fn approve_by_hand(name: &str) -> String {
    format!("If it is as it should be, approve it in the cluster: `kubectl certificate approve {name}`.")
}

/// Shortens texts of a workload cluster, which may be long.
fn shortened(text: &str) -> &str {
    const LONGEST: usize = 300;
    &text[..text.floor_char_boundary(LONGEST)]
}
