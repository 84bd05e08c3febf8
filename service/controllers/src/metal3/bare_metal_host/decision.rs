//! Decides what a BareMetalHost gets next. Source: docs/protocol/kube-controllers.md#7.1 to §7.3, docs/protocol/metal3.md#2.6, §2.7.

use std::time::Duration;

use kube::ResourceExt;
use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_resources::metal3::names::{annotation, finalizer, state, value};
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use muster_resources::names::label;
use muster_resources::{Agent, Condition, InfraEnv};
use serde_json::Value;

use super::{converged, live_iso};
use crate::finalizers;
use crate::metal3::Flow;
use crate::metal3::edits::Edits;

/// States of an Agent in which its host is being installed, before and between the stages.
const INSTALLING: [&str; 5] = [
    "preparing-for-installation",
    "preparing-successful",
    "installing",
    "installing-in-progress",
    "installing-pending-user-action",
];

/// Everything that the next step follows from.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub host: &'a BareMetalHost,
    pub infra_env: Option<&'a InfraEnv>,
    pub agent: Option<&'a Agent>,
    /// The PreprovisioningImage of the same name.
    pub image: Option<&'a PreprovisioningImage>,
    pub now: Timestamp,
}

/// The next step.
#[derive(Debug, Default, PartialEq)]
pub struct Step {
    pub edits: Edits,
    /// When something follows without a change of anything.
    pub again: Option<Duration>,
    pub wait: Option<Waiting>,
}

impl Step {
    /// Says what is waited for.
    pub fn waits(&mut self, reason: &'static str, what: impl Into<String>, todo: &'static str) {
        self.wait = Some(Waiting {
            reason,
            what: what.into(),
            todo,
        });
    }
}

/// A wait of a BareMetalHost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// For programs.
    pub reason: &'static str,
    /// A sentence without a full stop.
    pub what: String,
    /// What a user can do about it; empty: it passes by itself.
    pub todo: &'static str,
}

/// How far the installation of a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It runs the discovery image, or there is no host.
    NotInstalling,
    /// A reboot or another image would break it.
    Installing,
    /// Its disk is written, or the installation failed: Metal3 must not boot the image again.
    Over,
}

impl Progress {
    pub fn of(agent: Option<&Agent>) -> Self {
        let Some(status) = agent.and_then(|agent| agent.status.as_ref()) else {
            return Self::NotInstalling;
        };
        let stage = status
            .progress
            .as_ref()
            .and_then(|progress| progress.current_stage.as_deref());
        let stage: Option<HostStage> = stage.and_then(|stage| stage.parse().ok());
        let state = status.debug_info.as_ref().and_then(|info| info.state.as_deref());
        match stage {
            Some(HostStage::Failed | HostStage::Rebooting | HostStage::Joined | HostStage::Done) => {
                Self::Over
            }
            Some(_) => Self::Installing,
            None if state.is_some_and(|state| INSTALLING.contains(&state)) => Self::Installing,
            None => Self::NotInstalling,
        }
    }
}

/// Decides the next step.
///
/// A host that is detached or paused is not touched, but for the finalizer by which its Agent is deleted with it, and until it is
/// to boot the discovery image again.
pub fn decide(seen: &Seen<'_>, flow: Flow) -> Step {
    let mut step = Step::default();
    let host = seen.host;
    hold(host, &mut step.edits);
    let is_converged = is_converged(host, flow);
    if is_to_boot_again(seen) {
        boot_again(host, &mut step.edits);
        return step;
    }
    if is_left_alone(host) {
        if is_converged && detached(host) == Some(value::DETACHED_BY_US) {
            // The annotation for the deletion may have come later.
            detach(host, converged::detached_value(host), &mut step.edits);
        }
        return step;
    }
    step.edits.label(host, label::BACKUP, Some("true"));
    let state = state_of(host);
    if host.spec.externally_provisioned || state == state::EXTERNALLY_PROVISIONED {
        return step;
    }
    if is_converged {
        converged::decide(seen, &mut step);
    } else {
        live_iso::decide(seen, &mut step);
    }
    step
}

/// True for a host that gets to the discovery image by a PreprovisioningImage. One that runs a live ISO goes on with it.
fn is_converged(host: &BareMetalHost, flow: Flow) -> bool {
    flow == Flow::Converged && host.spec.image.is_none()
}

/// Our finalizer is on those whose Agent is deleted with them, and on no others.
fn hold(host: &BareMetalHost, edits: &mut Edits) {
    let is_wanted = host.annotations().contains_key(annotation::REMOVE_AGENT_AND_NODE);
    if !is_wanted && finalizers::has(host, finalizer::HOST) {
        edits.finalizers(finalizers::without(host, finalizer::HOST));
    }
    if is_wanted && let Some(list) = finalizers::with(host, finalizer::HOST) {
        edits.finalizers(list);
    }
}

/// The state that Metal3 reports; empty before its first.
pub fn state_of(host: &BareMetalHost) -> &str {
    let status = host.status.as_ref();
    status.map_or("", |status| status.provisioning.state.as_str())
}

/// Value of the annotation by which a host is detached.
pub fn detached(host: &BareMetalHost) -> Option<&str> {
    host.annotations().get(annotation::DETACHED).map(String::as_str)
}

/// True for what we wrote: a person's annotation is not taken off.
pub fn is_ours(value: &str) -> bool {
    value == value::DETACHED_BY_US || value == value::DETACHED_DELAYS_DELETION
}

fn is_left_alone(host: &BareMetalHost) -> bool {
    detached(host).is_some() || host.annotations().contains_key(annotation::PAUSED)
}

/// Takes the host out of Metal3's hands: no more power calls, no ejected media.
pub fn detach(host: &BareMetalHost, value: &str, edits: &mut Edits) {
    edits.annotate(host, annotation::DETACHED, Some(value));
}

/// The condition by which an Agent asks for a boot of the discovery image.
fn awaits_boot(agent: &Agent) -> Option<&Condition> {
    let conditions = &agent.status.as_ref()?.conditions;
    conditions.iter().find(|condition| {
        condition.type_ == "Bound" && condition.reason.as_deref() == Some("UnbindingPendingUserAction")
    })
}

/// True for a host that has left its cluster and is not on its way back to the discovery image yet: either we detached it, or
/// Metal3 has booted it before it left and not since.
fn is_to_boot_again(seen: &Seen<'_>) -> bool {
    let host = seen.host;
    let Some(awaits) = seen.agent.and_then(awaits_boot) else {
        return false;
    };
    if let Some(value) = detached(host) {
        return is_ours(value);
    }
    let has_system = host.spec.image.is_some() || host.spec.custom_deploy.is_some();
    let provisioned = host
        .status
        .as_ref()
        .and_then(|status| status.operation_history.provision.end.as_ref());
    let since = awaits.last_transition_time.as_ref();
    has_system
        && state_of(host) == state::PROVISIONED
        && provisioned.zip(since).is_some_and(|(end, since)| end.0 < since.0)
}

/// Hands the host back to Metal3 without its image, in one patch: one that is attached with a live ISO cannot be adopted by Ironic,
/// and never gets out of that (docs/protocol/metal3.md#2.6).
fn boot_again(host: &BareMetalHost, edits: &mut Edits) {
    for key in [
        annotation::DETACHED,
        annotation::HARDWARE_DETAILS,
        annotation::SPOKE_MARKER,
    ] {
        edits.annotate(host, key, None);
    }
    let paused = host.annotations().get(annotation::PAUSED);
    if paused.is_some_and(|value| value == value::DETACHED_BY_US) {
        edits.annotate(host, annotation::PAUSED, None);
    }
    if host.spec.image.is_some() {
        edits.spec("image", Value::Null);
    }
    if host.spec.custom_deploy.is_some() {
        edits.spec("customDeploy", Value::Null);
    }
}
