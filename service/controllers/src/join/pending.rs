//! Lists the certificate requests of a cluster that are not approved here, with the reasons, for answers of REST: pure.

use std::collections::{HashMap, HashSet};

use muster_operations::bridge::PendingCsr;

use super::assess::Assessment;
use super::csr::{Csr, Decision, Sort};
use super::view::View;
use super::words;

/// The kind of the object that warnings about requests are about.
const KIND: &str = "CertificateSigningRequest";

/// The names of the hosts that are joining, in lower case: a cluster can have thousands of requests.
pub struct Names {
    whole: HashSet<String>,
    /// Up to the first dot.
    first: HashSet<String>,
}

impl Names {
    pub fn of(hostnames: &[String]) -> Self {
        let whole = hostnames.iter().map(|name| name.to_ascii_lowercase());
        let first = hostnames.iter().map(|name| first_of(name));
        Self {
            whole: whole.filter(|name| !name.is_empty()).collect(),
            first: first.filter(|name| !name.is_empty()).collect(),
        }
    }

    /// True for a request for a node that has the name of a host, or a name with the same first part.
    fn has(&self, csr: &Csr) -> bool {
        self.whole.contains(&csr.node.to_ascii_lowercase()) || self.first.contains(&first_of(&csr.node))
    }
}

fn first_of(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// True for a request that belongs to no host that is joining, and is no node's renewal, which its cluster handles.
pub fn is_foreign(csr: &Csr, view: &View, names: &Names) -> bool {
    csr.decision == Decision::Pending && !names.has(csr) && !view.nodes().any(|node| csr.is_by(&node.name))
}

/// The requests that stay pending. `hostnames`: those of the hosts that are joining; `assessed`: their next actions.
pub fn pending(view: &View, hostnames: &[String], assessed: &[&Assessment]) -> Vec<PendingCsr> {
    let approved = assessed.iter().flat_map(|assessment| &assessment.approve);
    let approved: HashSet<&str> = approved.map(|(name, _)| name.as_str()).collect();
    let warnings = assessed.iter().flat_map(|assessment| &assessment.warnings);
    let warnings = warnings.filter(|warning| warning.about.0 == KIND);
    let mut warned = HashMap::<&str, &str>::new();
    for warning in warnings {
        warned.entry(&warning.about.1).or_insert(&warning.note);
    }
    let names = Names::of(hostnames);
    // A warning about the same request has more detail.
    for (name, why) in assessed.iter().flat_map(|assessment| &assessment.held) {
        warned.entry(name).or_insert(why);
    }
    let open = view
        .csrs()
        .filter(|csr| csr.decision == Decision::Pending && !approved.contains(csr.name.as_str()));
    let open = open.filter_map(|csr| {
        let reason = if is_foreign(csr, view, &names) {
            words::foreign(csr, hostnames).note
        } else if let Some(note) = warned.get(csr.name.as_str()) {
            (*note).to_owned()
        } else if hostnames.iter().any(|name| csr.is_for(name)) {
            words::undecided(csr)
        } else {
            // A renewal.
            return None;
        };
        Some(PendingCsr {
            name: csr.name.clone(),
            node: csr.node.clone(),
            kind: match csr.sort {
                Sort::Client => "client",
                Sort::Serving => "serving",
            },
            since: csr.created,
            reason,
        })
    });
    open.collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;
    use crate::join::awaited::Warning;

    fn csr(name: &str, user: &str) -> CertificateSigningRequest {
        serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": "2026-11-22T08:00:00Z"},
            "spec": {"signerName": "kubernetes.io/kubelet-serving", "username": user, "request": "", "usages": []},
        }))
        .unwrap()
    }

    #[test]
    fn requests_that_stay_pending_have_their_reasons_and_approved_ones_are_not_among_them() {
        let mut view = View::default();
        for (name, user) in [
            ("approved", "system:node:worker-0"),
            ("refused", "system:node:worker-0"),
            ("waiting", "system:node:worker-1"),
            ("foreign", "system:node:stranger"),
            ("held", "system:node:worker-1"),
        ] {
            view.note_csr(Event::Apply(csr(name, user)));
        }
        let assessment = Assessment {
            approve: vec![("approved".to_owned(), Sort::Serving)],
            warnings: vec![Warning {
                key: String::new(),
                reason: "CertificateRequestNotApproved",
                note: "it has a foreign address".to_owned(),
                about: (KIND, "refused".to_owned()),
            }],
            held: vec![("held".to_owned(), "its former Node goes first".to_owned())],
            ..Assessment::default()
        };
        let hostnames = ["worker-0", "worker-1"].map(str::to_owned);
        let found = pending(&view, &hostnames, &[&assessment]);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["foreign", "held", "refused", "waiting"]);
        assert!(
            found[0].reason.contains("no host that is being installed"),
            "{found:?}"
        );
        assert_eq!(found[1].reason, "its former Node goes first");
        assert_eq!(found[2].reason, "it has a foreign address");
        assert!(found[3].reason.contains("joined"), "{found:?}");
        assert_eq!((found[3].node.as_str(), found[3].kind), ("worker-1", "serving"));
        assert!(found[3].since.is_some());
    }

    #[test]
    fn names_are_compared_as_kubelets_write_them_and_few_of_many_are_in_the_reason() {
        let mut view = View::default();
        for (name, node) in [
            ("whole", "Worker-7.example.test"),
            ("short", "worker-7"),
            ("other", "stranger"),
        ] {
            view.note_csr(Event::Apply(csr(name, &format!("system:node:{node}"))));
        }
        let hostnames: Vec<String> = (0..500)
            .map(|number| format!("worker-{number}.example.test"))
            .collect();
        let names = Names::of(&hostnames);
        let foreign: Vec<&str> = view
            .csrs()
            .filter(|csr| is_foreign(csr, &view, &names))
            .map(|csr| csr.name.as_str())
            .collect();
        assert_eq!(foreign, ["other"]);
        let found = pending(&view, &hostnames, &[]);
        let other = found.iter().find(|one| one.name == "other").unwrap();
        assert!(other.reason.ends_with("and 490 more"), "{}", other.reason);
    }
}
