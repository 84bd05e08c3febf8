//! Boots a host with the discovery ISO as its live ISO. Source: docs/protocol/kube-controllers.md#7.1, docs/protocol/metal3.md#2.3.

use kube::ResourceExt;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::{annotation, state, value};
use serde_json::{Value, json};

use super::hardware;
use super::seen::{Progress, Seen, Step, detach, state_of};
use crate::infra_env::{Iso, iso};

/// Decides the next step of a host that is managed by Metal3.
pub fn decide(seen: &Seen<'_>, step: &mut Step) {
    let host = seen.host;
    let progress = Progress::of(seen.agent);
    if progress == Progress::Over {
        // Metal3 boots the ISO every time: the system on the disk would never start.
        detach(host, value::DETACHED_BY_US, &mut step.edits);
        return;
    }
    if host.spec.boot_mac_address.is_empty() {
        step.waits(
            "BootMACAddressMissing",
            "spec.bootMACAddress is not set, by which its Agent is found",
            "Set it to the MAC address of an interface of the machine.",
        );
        return;
    }
    no_inspection(host, step);
    if host.spec.automated_cleaning_mode.as_deref() != Some(value::DISABLED) {
        step.edits.spec("automatedCleaningMode", json!(value::DISABLED));
    }
    hardware_details(seen, step);
    if progress == Progress::Installing {
        return;
    }
    let Some(infra_env) = seen.infra_env else {
        step.waits(
            "InfraEnvMissing",
            "the InfraEnv that its label names is not there",
            "Create it in the same namespace, or correct the label.",
        );
        return;
    };
    match iso(infra_env, seen.now) {
        Iso::None => {
            let what = format!("the InfraEnv {} has no image yet", infra_env.name_any());
            let todo = "Its condition ImageCreated gives the reason.";
            step.waits("WaitingForImage", what, todo);
        }
        Iso::TooYoung(left) => {
            step.again = Some(left);
            step.waits(
                "WaitingForImageToCoolDown",
                "its image is new, and used when it is a minute old",
                "",
            );
        }
        Iso::Ready(url) => boot(host, url, step),
    }
}

/// Disables the inspection, as the image has no agent of Ironic. Metal3 refuses an annotation that contradicts the newer member of the
/// spec.
fn no_inspection(host: &BareMetalHost, step: &mut Step) {
    let is_said = host.annotations().contains_key(annotation::INSPECT);
    match host.spec.inspection_mode.as_deref() {
        None | Some("") if !is_said => {
            step.edits
                .annotate(host, annotation::INSPECT, Some(value::DISABLED));
        }
        _ => {}
    }
}

/// Passes on the hardware that Metal3 does not inspect. Metal3 removes the annotation and shows the hardware in its status: hardware
/// without a name would be passed on for ever.
fn hardware_details(seen: &Seen<'_>, step: &mut Step) {
    let host = seen.host;
    let known = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    let is_known = known.is_some_and(|hardware| !hardware.hostname.is_empty());
    if is_known || host.annotations().contains_key(annotation::HARDWARE_DETAILS) {
        return;
    }
    let inventory = seen
        .agent
        .and_then(|agent| agent.status.as_ref()?.inventory.as_ref());
    let has_name = inventory.is_some_and(|it| it.hostname.as_ref().is_some_and(|name| !name.is_empty()));
    if let Some(inventory) = inventory.filter(|_| has_name) {
        let details = hardware::details(inventory);
        step.edits
            .annotate(host, annotation::HARDWARE_DETAILS, Some(&details));
    }
}

/// Sets the ISO and switches the host on, once: a user who switches it off later does so on purpose. A host with another image loses that
/// first, since Metal3 accepts none while it has one.
fn boot(host: &BareMetalHost, url: &str, step: &mut Step) {
    let present = host.spec.image.as_ref();
    let has_it =
        present.is_some_and(|image| image.url == url && image.format.as_deref() == Some(value::LIVE_ISO));
    if has_it {
        return;
    }
    let state = state_of(host);
    if matches!(state, state::READY | state::AVAILABLE) {
        // A merge patch keeps members that it does not contain: a checksum of another image would stay.
        step.edits.spec(
            "image",
            json!({"url": url, "format": value::LIVE_ISO, "checksum": null, "checksumType": null}),
        );
        step.edits.spec("online", json!(true));
        return;
    }
    if present.is_some() {
        step.edits.spec("image", Value::Null);
        return;
    }
    let what = match state {
        "" => "Metal3 has not looked at it yet".to_owned(),
        state => format!("Metal3 is not done with it: it is {state}, not available"),
    };
    let todo = "Its status shows what Metal3 does, errorMessage what is wrong.";
    step.waits("WaitingForMetal3", what, todo);
}
