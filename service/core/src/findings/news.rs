//! Events about findings, under names of our own.

use muster_api::event::{Category, Severity};
use muster_api::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::event::{MAX_MESSAGE, NewEvent};
use crate::host::{Finding, Host, hostname};
use crate::text::cut;

/// Everything that is worth telling about the way from the findings `old` to those that `host` has now.
pub fn told(old: &[Finding], host: &Host, now: Timestamp) -> Vec<NewEvent> {
    let (appeared, gone) = super::changed(old, &host.data.findings);
    let appeared = appeared
        .into_iter()
        .map(|finding| host_finding_appeared(host, finding, now));
    let gone = gone
        .into_iter()
        .map(|finding| host_finding_gone(host, finding, now));
    appeared.chain(gone).collect()
}

/// A finding is new, or names other hosts than before.
pub fn host_finding_appeared(host: &Host, finding: &Finding, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: {}", hostname::display(host), finding.message);
    about(
        host,
        "muster_host_finding_appeared",
        Severity::Warning,
        &message,
        finding,
        now,
    )
}

/// What was found is so no more.
pub fn host_finding_gone(host: &Host, finding: &Finding, now: Timestamp) -> NewEvent {
    let subject = if finding.about.is_empty() {
        finding.kind.clone()
    } else {
        format!("{} ({})", finding.kind, finding.about)
    };
    let message = format!(
        "Host {}: {subject} is not found any more",
        hostname::display(host)
    );
    about(
        host,
        "muster_host_finding_gone",
        Severity::Info,
        &message,
        finding,
        now,
    )
}

fn about(
    host: &Host,
    name: &'static str,
    severity: Severity,
    message: &str,
    finding: &Finding,
    now: Timestamp,
) -> NewEvent {
    let props = [
        ("kind", json!(finding.kind)),
        ("about", json!(finding.about)),
        ("others", json!(finding.others)),
    ];
    let props: Map<String, Value> = props
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect();
    NewEvent {
        name: name.into(),
        severity,
        category: Category::User,
        message: cut(message, MAX_MESSAGE).to_owned(),
        props,
        host_id: Some(host.id),
        infra_env_id: Some(host.infra_env_id),
        cluster_id: host.cluster_id,
        at: now,
    }
}
