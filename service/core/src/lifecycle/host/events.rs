//! Events about hosts. Names, severities and facts follow docs/protocol/events.tsv; the wording is ours.

use muster_api::event::{Category, Severity};
use muster_api::host::{HostFinding, HostStatus};
use muster_api::ids::HostId;
use muster_api::steps::{
    ContainerImageAvailability, ContainerImageAvailabilityResult, DiskSpeedCheckResponse,
};
use muster_api::time::Timestamp;
use serde_json::{Map, Value};

use super::event::HostEvent;
use super::step::Refused;
use crate::record::{Host, HostState, InfraEnv, MAX_MESSAGE, NewEvent, Phase, RebootOutcome};
use crate::rules::findings::WAITING;
use crate::rules::{hostname, stages};
use crate::text::cut;

pub(super) fn about(
    host: &Host,
    name: &'static str,
    severity: Severity,
    message: &str,
    now: Timestamp,
) -> NewEvent {
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

/// The event about the end of a request: the name and the message of the one that is so, a failure with its reason.
pub(super) fn of_end(
    host: &Host,
    outcome: &RebootOutcome,
    done: (&'static str, String),
    failed: (&'static str, String),
    now: Timestamp,
) -> NewEvent {
    match outcome {
        RebootOutcome::Done => about(host, done.0, Severity::Info, &done.1, now),
        RebootOutcome::Failed(why) => {
            let message = format!("{}: {why}", failed.1);
            about(host, failed.0, Severity::Warning, &message, now)
        }
    }
}

/// A host registered for the first time.
pub fn host_registration_succeeded(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {} registered", hostname::display(host));
    about(host, "host_registration_succeeded", Severity::Info, &message, now)
}

/// A host was deleted.
pub fn host_deregistered(host: &Host, now: Timestamp) -> NewEvent {
    let left = match host.state.phase() {
        Phase::Installing if stages::has_agent(&host.data) => {
            " in the middle of its installation: what is on its disk may be half a system"
        }
        _ if host.state == HostState::AddedToExistingCluster || host.state.phase() == Phase::Installing => {
            "; the machine goes on as a node until somebody boots it into the discovery image"
        }
        _ => {
            "; a machine that is still on registers again by itself within minutes, as a new host without its name and disk"
        }
    };
    let dirty = host.data.cleaning.is_some() || host.data.written_disks.iter().any(|disk| disk.is_written);
    let dirty = if dirty {
        ". The disks that it was installed to are not erased: what clusters left is on them"
    } else {
        ""
    };
    let message = format!("Host {} was deleted{left}{dirty}", hostname::display(host));
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

/// A step failed on the host, and the reply does not name it.
pub(super) fn muster_step_failed(host: &Host, exit_code: i64, reason: &str, now: Timestamp) -> NewEvent {
    let reason = match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let message = format!(
        "Host {}: a step could not be run (exit code {exit_code}){reason}",
        hostname::display(host)
    );
    about(host, "muster_step_failed", Severity::Warning, &message, now)
}

/// A check fails now. The text quotes its id, as elsewhere: users search for it.
pub fn host_validation_failed(
    host: &Host,
    id: &str,
    why: &str,
    used_to_succeed: bool,
    now: Timestamp,
) -> NewEvent {
    let how = if used_to_succeed { "now fails" } else { "fails" };
    let message = format!("Host {}: validation '{id}' {how}: {why}", hostname::display(host));
    about(host, "host_validation_failed", Severity::Warning, &message, now)
}

/// A check does not fail any more.
pub fn host_validation_fixed(host: &Host, id: &str, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: validation '{id}' is now fixed", hostname::display(host));
    about(host, "host_validation_fixed", Severity::Info, &message, now)
}

/// A user bound the host to a cluster. The event holds the cluster's id and its name.
pub fn host_bind_succeeded(host: &Host, cluster: &str, now: Timestamp) -> NewEvent {
    let message = format!(
        "Host {} was bound to the cluster {cluster}",
        hostname::display(host)
    );
    about(host, "host_bind_succeeded", Severity::Info, &message, now)
}

/// A user unbound the host from its cluster.
pub fn host_unbind_succeeded(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {} was taken out of its cluster", hostname::display(host));
    about(host, "host_unbind_succeeded", Severity::Info, &message, now)
}

/// A user, or the host's Agent, changed settings; `changes`: as in `role: auto-assign -> worker`.
pub(super) fn muster_host_changed(host: &Host, changes: &str, now: Timestamp) -> NewEvent {
    let message = format!("Host {} was changed: {changes}", hostname::display(host));
    about(host, "muster_host_changed", Severity::Info, &message, now)
}

/// The Agent of a host decides about it; `why` is the end of a sentence that begins with the host.
pub fn muster_agent_decides(host: &Host, why: &str, now: Timestamp) -> NewEvent {
    let message = format!("Host {} {why}", hostname::display(host));
    about(host, "muster_agent_decides", Severity::Info, &message, now)
}

/// Its Agent was approved, or the approval withdrawn; `host` is the state afterwards.
pub(super) fn host_approved_updated(host: &Host, now: Timestamp) -> NewEvent {
    let approved = if host.data.approved {
        "approved"
    } else {
        "not approved any more"
    };
    let message = format!("Host {} is {approved}", hostname::display(host));
    about(host, "host_approved_updated", Severity::Info, &message, now)
}

/// A user requested the installation of the host.
pub fn host_installation_started(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("The installation of host {} begins", hostname::display(host));
    about(host, "host_installation_started", Severity::Info, &message, now)
}

/// Progress of the installation.
pub fn host_install_progress_updated(host: &Host, now: Timestamp) -> NewEvent {
    let (stage, info) = host
        .data
        .progress
        .as_ref()
        .map_or(("", ""), |progress| (progress.stage.name(), &progress.info));
    let detail = if info.is_empty() {
        stage.to_owned()
    } else {
        format!("{stage}: {info}")
    };
    progress_event(host, &detail, now)
}

/// The host reported that its installation failed.
pub(super) fn host_install_failed(host: &Host, detail: &str, now: Timestamp) -> NewEvent {
    progress_event(host, detail, now)
}

fn progress_event(host: &Host, detail: &str, now: Timestamp) -> NewEvent {
    let message = format!("Host {} installs: {detail}", hostname::display(host));
    about(
        host,
        "host_install_progress_updated",
        Severity::Info,
        &message,
        now,
    )
}

/// The installation was cancelled.
pub fn host_installation_cancelled(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!(
        "The installation of host {} was cancelled",
        hostname::display(host)
    );
    about(host, "host_installation_cancelled", Severity::Info, &message, now)
}

/// The host was reset.
pub fn host_installation_reset(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {} was reset", hostname::display(host));
    about(host, "host_installation_reset", Severity::Info, &message, now)
}

/// A disk that holds an old system is formatted or, if a user wants that, left unchanged.
pub fn quick_disk_format(host: &Host, disk_id: &str, skipped: bool, now: Timestamp) -> NewEvent {
    let (name, what) = if skipped {
        ("quick_disk_format_skipped", "is left as it is")
    } else {
        ("quick_disk_format_performed", "is formatted")
    };
    let mut disks = host.inventory.iter().flat_map(|inventory| &inventory.disks);
    let disk = disks.find(|disk| disk.id == disk_id);
    let disk_name = disk.map_or("", |disk| &disk.name);
    let message = format!(
        "Host {}: the disk {disk_name} ({disk_id}), which holds something bootable, {what}",
        hostname::display(host)
    );
    about(host, name, Severity::Info, &message, now)
}

/// The service suggests another role.
pub fn host_role_updated(host: &Host, now: Timestamp) -> NewEvent {
    let role = host.data.suggested_role.name();
    let message = format!("Host {}: the role {role} is suggested", hostname::display(host));
    about(host, "host_role_updated", Severity::Info, &message, now)
}

/// The first outcome for an image.
pub fn image_status_updated(host: &Host, image: &ContainerImageAvailability, now: Timestamp) -> NewEvent {
    let result = match image.result {
        Some(ContainerImageAvailabilityResult::Success) => "can be had",
        Some(ContainerImageAvailabilityResult::Failure) => "cannot be had",
        None => "was not tried",
    };
    let details = if image.size_bytes > 0.0 {
        format!(
            " ({:.2} s, {:.0} bytes, {:.2} MB/s)",
            image.time, image.size_bytes, image.download_rate
        )
    } else {
        String::new()
    };
    let message = format!(
        "Host {}: the image {} {result}{details}",
        hostname::display(host),
        image.name
    );
    about(host, "image_status_updated", Severity::Info, &message, now)
}

/// A disk is slower than it should be. It does not fail the host.
pub fn disk_speed_slower_than_supported(
    host: &Host,
    measured: &DiskSpeedCheckResponse,
    limit_ms: i64,
    now: Timestamp,
) -> NewEvent {
    let message = format!(
        "Host {}: a synchronous write to the disk {} takes {} ms, and {limit_ms} ms are supported; a control plane on it would be slow",
        hostname::display(host),
        measured.path,
        measured.io_sync_duration
    );
    about(
        host,
        "disk_speed_slower_than_supported",
        Severity::Warning,
        &message,
        now,
    )
}

/// A user set arguments for coreos-installer.
pub fn host_installer_args_applied(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: installer arguments were set", hostname::display(host));
    about(host, "host_installer_args_applied", Severity::Info, &message, now)
}

/// A user set or removed an ignition override; never bound to a cluster on the wire.
pub fn host_discovery_ignition_config_applied(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: its ignition override was set", hostname::display(host));
    NewEvent {
        cluster_id: None,
        ..about(
            host,
            "host_discovery_ignition_config_applied",
            Severity::Info,
            &message,
            now,
        )
    }
}

/// Logs were uploaded.
pub fn host_logs_uploaded(host: &Host, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: its logs were uploaded", hostname::display(host));
    about(host, "host_logs_uploaded", Severity::Info, &message, now)
}

/// An upgrade of the agent was requested. At most one an hour is worth storing (docs/protocol/events.tsv).
pub fn upgrade_agent_started(host: &Host, image: &str, now: Timestamp) -> NewEvent {
    let message = format!(
        "Host {}: its agent is upgraded to {image}",
        hostname::display(host)
    );
    about(host, "upgrade_agent_started", Severity::Info, &message, now)
}

/// The upgrade succeeded.
pub fn upgrade_agent_finished(host: &Host, image: &str, now: Timestamp) -> NewEvent {
    let message = format!(
        "Host {}: its agent has downloaded {image}",
        hostname::display(host)
    );
    about(host, "upgrade_agent_finished", Severity::Info, &message, now)
}

/// The upgrade failed. `reason`: of our agents, else empty.
pub fn upgrade_agent_failed(host: &Host, image: &str, reason: &str, now: Timestamp) -> NewEvent {
    let host_name = hostname::display(host);
    let message = if reason.is_empty() {
        format!("Host {host_name}: its agent could not download {image}")
    } else {
        format!("Host {host_name}: its agent stays as it is and does not become {image}: {reason}")
    };
    about(host, "upgrade_agent_failed", Severity::Error, &message, now)
}

/// A finding appeared; not part of the protocol.
pub fn finding_appeared(host: &Host, finding: &HostFinding, now: Timestamp) -> NewEvent {
    let message = format!("Host {}: {}", hostname::display(host), finding.message);
    let severity = if finding.kind == WAITING {
        Severity::Info
    } else {
        Severity::Warning
    };
    with_finding(
        about(host, "muster_finding_appeared", severity, &message, now),
        finding,
    )
}

/// A finding disappeared.
pub fn finding_gone(host: &Host, finding: &HostFinding, now: Timestamp) -> NewEvent {
    let about_what = if finding.about.is_empty() {
        String::new()
    } else {
        format!(" ({})", finding.about)
    };
    let message = format!(
        "Host {}: the finding {}{about_what} is gone",
        hostname::display(host),
        finding.kind
    );
    with_finding(
        about(host, "muster_finding_gone", Severity::Info, &message, now),
        finding,
    )
}

fn with_finding(mut event: NewEvent, finding: &HostFinding) -> NewEvent {
    event.props.insert("kind".into(), finding.kind.clone().into());
    event.props.insert("about".into(), finding.about.clone().into());
    let others = finding.others.iter().map(|id| Value::from(id.to_string()));
    event.props.insert("others".into(), others.collect());
    event
}

/// Returns the event about a refused action of a user or a refused registration; `None` if only the caller sees the
/// refusal.
pub fn of_refusal(host: &Host, event: &HostEvent, refused: &Refused, now: Timestamp) -> Option<NewEvent> {
    let name = match event {
        HostEvent::Registered { .. } => "host_registration_failed",
        HostEvent::Bound { .. } => "host_bind_failed",
        HostEvent::Unbound => "host_unbind_failed",
        HostEvent::Cancelled { .. } => "host_cancel_installation_failed",
        HostEvent::ResetRequested => "host_installation_reset_failed",
        _ => return None,
    };
    let message = format!("Host {}: {}", hostname::display(host), refused.reason);
    Some(about(host, name, Severity::Error, &message, now))
}

/// The first registration of a machine was refused.
pub fn registration_refused(id: HostId, infra_env: &InfraEnv, refused: &Refused, now: Timestamp) -> NewEvent {
    let message = format!("Host {id} could not register: {}", refused.reason);
    NewEvent {
        name: "host_registration_failed".into(),
        severity: Severity::Error,
        category: Category::User,
        message: cut(&message, MAX_MESSAGE).to_owned(),
        props: Map::new(),
        host_id: Some(id),
        infra_env_id: Some(infra_env.id),
        cluster_id: infra_env.cluster_id,
        at: now,
    }
}

/// A new host was refused because its InfraEnv is [full](super::full). The event is about the InfraEnv only: ids of
/// hosts can be made up.
pub fn infra_env_is_full(id: HostId, infra_env: &InfraEnv, refused: &Refused, now: Timestamp) -> NewEvent {
    NewEvent {
        host_id: None,
        ..registration_refused(id, infra_env, refused, now)
    }
}

/// A machine without the key of a host claims that host's id.
pub fn key_in_use(id: HostId, infra_env: &InfraEnv, why: &str, now: Timestamp) -> NewEvent {
    NewEvent {
        name: "host_key_in_use".into(),
        severity: Severity::Warning,
        category: Category::User,
        message: cut(
            &format!("A machine was not taken for host {id}: {why}"),
            MAX_MESSAGE,
        )
        .to_owned(),
        props: Map::new(),
        host_id: Some(id),
        infra_env_id: Some(infra_env.id),
        cluster_id: infra_env.cluster_id,
        at: now,
    }
}

/// A machine of another InfraEnv claims the id of a host that [stays](super::key::stays): about that host or, in its
/// own InfraEnv, about the machine.
pub fn id_in_use(id: HostId, infra_env: &InfraEnv, why: &str, now: Timestamp) -> NewEvent {
    NewEvent {
        name: "host_id_in_use".into(),
        ..key_in_use(id, infra_env, why, now)
    }
}

/// A host record was deleted because its machine has registered in another InfraEnv.
pub fn moved(host: &Host, to: &InfraEnv, now: Timestamp) -> NewEvent {
    let message = format!(
        "Host {} no longer reported here, and registered in the InfraEnv {}: it is deleted here",
        hostname::display(host),
        to.name
    );
    about(host, "host_deregistered", Severity::Info, &message, now)
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
