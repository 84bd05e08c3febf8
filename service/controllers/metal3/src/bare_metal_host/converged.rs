//! Starts the installation of a host by the image that Metal3 booted it with. Source: docs/protocol/kube-controllers.md#7.2.

use kube::ResourceExt;
use muster_resources::StandardCondition;
use muster_resources::metal3::names::{annotation, state, value};
use muster_resources::metal3::{BareMetalHost, PreprovisioningImage};
use serde_json::json;

use super::seen::{Progress, Seen, Step, detach, state_of};

/// Decides the next step of a host that is managed by Metal3.
pub fn decide(seen: &Seen<'_>, step: &mut Step) {
    let host = seen.host;
    let stays = host
        .annotations()
        .contains_key(annotation::ALLOW_PROVISIONED_MANAGEMENT);
    if state_of(host) == state::PROVISIONED && host.spec.custom_deploy.is_some() {
        if !stays {
            detach(host, detached_value(host), &mut step.edits);
        }
        return;
    }
    if host.spec.custom_deploy.is_some() {
        return;
    }
    // Metal3 would overwrite the installed system, which it does not know.
    if Progress::of(seen.agent) == Progress::Over {
        return;
    }
    match seen.image.map(ready) {
        Some(Ok(())) => {
            step.edits
                .spec("customDeploy", json!({"method": value::START_ASSISTED_INSTALL}));
            step.edits.spec("online", json!(true));
        }
        Some(Err(why)) => step.waits(
            "WaitingForImage",
            format!("its PreprovisioningImage is not ready: {why}"),
            "",
        ),
        None => step.waits(
            "WaitingForMetal3",
            "Metal3 has not requested an image of it: there is no PreprovisioningImage of its name",
            "See that the baremetal-operator runs with -build-preprov-image, and that the host is registered.",
        ),
    }
}

/// Checks that the image is ready; `Err`: the reason why it is not.
fn ready(image: &PreprovisioningImage) -> Result<(), String> {
    let conditions = image.status.iter().flat_map(|status| &status.conditions);
    let found: Option<&StandardCondition> = conditions.into_iter().find(|one| one.type_ == "Ready");
    match found {
        Some(ready) if ready.status == "True" && ready.reason == "InfraEnvAvailable" => Ok(()),
        Some(other) => Err(format!("{} ({})", other.reason, other.message)),
        None => Err("it has no condition yet".to_owned()),
    }
}

/// The annotation value that detaches the host: if its Agent is deleted with it, the host stays until it is attached and deprovisioned.
pub fn detached_value(host: &BareMetalHost) -> &'static str {
    let is_removed = host.annotations().contains_key(annotation::REMOVE_AGENT_AND_NODE);
    if is_removed {
        value::DETACHED_DELAYS_DELETION
    } else {
        value::DETACHED_BY_US
    }
}
