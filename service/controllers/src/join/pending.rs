//! Lists the certificate requests of a cluster that are not approved here, with the reasons, for answers of REST: pure.

use muster_operations::bridge::PendingCsr;

use super::assess::Assessment;
use super::csr::{Csr, Decision, Sort};
use super::view::View;
use super::words;

/// The kind of the object that warnings about requests are about.
const KIND: &str = "CertificateSigningRequest";

/// True for a request that belongs to no host that is joining, and is no node's renewal, which its cluster handles.
pub fn is_foreign(csr: &Csr, view: &View, hostnames: &[String]) -> bool {
    let is_members = hostnames
        .iter()
        .any(|name| csr.is_for(name) || csr.is_nearly_for(name));
    let is_nodes_own = view.nodes().any(|node| csr.is_by(&node.name));
    csr.decision == Decision::Pending && !is_members && !is_nodes_own
}

/// The requests that stay pending. `hostnames`: those of the hosts that are joining; `assessed`: their next actions.
pub fn pending(view: &View, hostnames: &[String], assessed: &[&Assessment]) -> Vec<PendingCsr> {
    let is_approved = |csr: &Csr| {
        let mut approved = assessed.iter().flat_map(|assessment| &assessment.approve);
        approved.any(|(name, _)| *name == csr.name)
    };
    let warned = |csr: &Csr| {
        let mut warnings = assessed.iter().flat_map(|assessment| &assessment.warnings);
        let found = warnings.find(|warning| warning.about.0 == KIND && warning.about.1 == csr.name);
        found.map(|warning| warning.note.clone())
    };
    let held = |csr: &Csr| {
        let mut held = assessed.iter().flat_map(|assessment| &assessment.held);
        held.find(|(name, _)| *name == csr.name)
            .map(|(_, why)| why.clone())
    };
    let open = view
        .csrs()
        .filter(|csr| csr.decision == Decision::Pending && !is_approved(csr));
    let open = open.filter_map(|csr| {
        let reason = if is_foreign(csr, view, hostnames) {
            words::foreign(csr, hostnames).note
        } else if let Some(note) = warned(csr).or_else(|| held(csr)) {
            note
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
}
