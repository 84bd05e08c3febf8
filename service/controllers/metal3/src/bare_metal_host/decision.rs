//! Decides the next step of a BareMetalHost. Source: docs/protocol/kube-controllers.md#7.1 to §7.3, docs/protocol/metal3.md#2.6, §2.7.

use kube::ResourceExt;
use muster_controller::finalizers;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::{annotation, finalizer, state, value};
use muster_resources::names::label;
use muster_resources::{Agent, Condition};
use serde_json::Value;

use super::seen::{Seen, Step, detach, detached, state_of};
use super::{converged, live_iso};
use crate::edits::Edits;
use crate::flow::Flow;

/// Decides the next step.
///
/// A host that is detached or paused is not changed, except for the finalizer by which its Agent is deleted with it, until it is
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
            // The annotation for the deletion may have been set later.
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

/// True for a host that gets to the discovery image by a PreprovisioningImage. A host with a live ISO keeps it.
fn is_converged(host: &BareMetalHost, flow: Flow) -> bool {
    flow == Flow::Converged && host.spec.image.is_none()
}

/// Sets the finalizer of this service on hosts whose Agent is deleted with them, and removes it from others.
fn hold(host: &BareMetalHost, edits: &mut Edits) {
    let is_wanted = host.annotations().contains_key(annotation::REMOVE_AGENT_AND_NODE);
    if !is_wanted && finalizers::has(host, finalizer::HOST) {
        edits.finalizers(finalizers::without(host, finalizer::HOST));
    }
    if is_wanted && let Some(list) = finalizers::with(host, finalizer::HOST) {
        edits.finalizers(list);
    }
}

/// True for values that this service wrote: an annotation that was set by a user is not removed.
pub fn is_ours(value: &str) -> bool {
    value == value::DETACHED_BY_US || value == value::DETACHED_DELAYS_DELETION
}

fn is_left_alone(host: &BareMetalHost) -> bool {
    detached(host).is_some() || host.annotations().contains_key(annotation::PAUSED)
}

/// The condition of an Agent that requests a boot of the discovery image.
fn awaits_boot(agent: &Agent) -> Option<&Condition> {
    let conditions = &agent.status.as_ref()?.conditions;
    conditions.iter().find(|condition| {
        condition.type_ == "Bound" && condition.reason.as_deref() == Some("UnbindingPendingUserAction")
    })
}

/// True for a host that has left its cluster and is not on its way back to the discovery image yet: either this service detached it, or
/// Metal3 booted it before it left and not since.
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

/// Returns the host to Metal3 without its image, in one patch: Ironic cannot adopt a host that is attached with a live ISO, and the host
/// never leaves that state (docs/protocol/metal3.md#2.6).
fn boot_again(host: &BareMetalHost, edits: &mut Edits) {
    for key in [
        annotation::DETACHED,
        annotation::HARDWARE_DETAILS,
        annotation::SPOKE_MARKER,
        annotation::MEDIA,
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
