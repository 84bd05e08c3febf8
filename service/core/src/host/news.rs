//! Events about hosts. Names, severities and facts follow events.tsv; the wording is ours.

use muster_api::event::{Category, Severity};
use muster_api::host::HostStatus;
use muster_api::time::Timestamp;
use serde_json::Map;

use super::{Host, hostname};
use crate::event::{MAX_MESSAGE, NewEvent};
use crate::text::cut;

fn about(host: &Host, name: &'static str, severity: Severity, message: &str, now: Timestamp) -> NewEvent {
    NewEvent {
        name: name.into(),
        severity,
        category: Category::User,
        message: cut(message, MAX_MESSAGE).to_owned(),
        props: Map::new(),
        host_id: Some(host.id),
        infra_env_id: Some(host.infra_env_id),
        cluster_id: host.cluster_id,
        at: now,
    }
}

/// A host registered for the first time.
pub fn host_registration_succeeded(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {} registered", hostname::display(host));
    about(host, "host_registration_succeeded", Severity::Info, &message, now)
}

/// A host was deleted.
pub fn host_deregistered(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {} was deleted", hostname::display(host));
    about(host, "host_deregistered", Severity::Info, &message, now)
}

/// The boot medium was lost.
pub fn host_media_disconnected(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!(
        "Host {} cannot read its boot medium any more; attach it again",
        hostname::display(host)
    );
    about(host, "host_media_disconnected", Severity::Error, &message, now)
}

/// The status changed; `host` is as it is from now on.
pub fn host_status_updated(host: &Host, from: HostStatus, now: Timestamp) -> NewEvent {
    let to = host.state.status();
    let info = &host.data.status_info;
    let reason = if info.is_empty() {
        String::new()
    } else {
        format!(" ({info})")
    };
    let message = format!(
        "Host {}: from {} to {}{reason}",
        hostname::display(host),
        from.name(),
        to.name()
    );
    about(host, "host_status_updated", status_severity(to), &message, now)
}

/// A check fails now.
pub fn host_validation_failed(
    host: &Host,
    id: &str,
    why: &str,
    used_to_succeed: bool,
    now: Timestamp,
) -> NewEvent {
    let how = if used_to_succeed { "now fails" } else { "fails" };
    let message = format!("Host {}: the check {id} {how}: {why}", hostname::display(host));
    about(host, "host_validation_failed", Severity::Warning, &message, now)
}

/// A check does not fail any more.
pub fn host_validation_fixed(host: &Host, id: &str, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: the check {id} passes now", hostname::display(host));
    about(host, "host_validation_fixed", Severity::Info, &message, now)
}

fn status_severity(status: HostStatus) -> Severity {
    match status {
        HostStatus::Disconnected | HostStatus::Insufficient | HostStatus::InstallingPendingUserAction => {
            Severity::Warning
        }
        HostStatus::Error => Severity::Error,
        HostStatus::Discovering
        | HostStatus::Known
        | HostStatus::Disabled
        | HostStatus::PreparingForInstallation
        | HostStatus::PreparingFailed
        | HostStatus::PreparingSuccessful
        | HostStatus::PendingForInput
        | HostStatus::Installing
        | HostStatus::InstallingInProgress
        | HostStatus::ResettingPendingUserAction
        | HostStatus::Installed
        | HostStatus::Resetting
        | HostStatus::AddedToExistingCluster
        | HostStatus::Cancelled
        | HostStatus::Binding
        | HostStatus::Unbinding
        | HostStatus::UnbindingPendingUserAction
        | HostStatus::KnownUnbound
        | HostStatus::DisconnectedUnbound
        | HostStatus::InsufficientUnbound
        | HostStatus::DisabledUnbound
        | HostStatus::DiscoveringUnbound
        | HostStatus::Reclaiming
        | HostStatus::ReclaimingRebooting => Severity::Info,
    }
}
