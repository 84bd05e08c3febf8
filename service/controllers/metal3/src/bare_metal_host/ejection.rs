//! Takes out the media that Metal3 leaves in a machine that is detached from it. With the ISO in its drive, firmware that prefers drives
//! would boot the discovery image again instead of the installed system. Source: docs/protocol/metal3.md#2.6, §2.7.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::Patch;
use muster_controller::error::Error;
use muster_controller::references::kube_ref;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::patch_params;
use muster_resources::Agent;
use muster_resources::metal3::BareMetalHost;
use muster_resources::metal3::names::{annotation, value};
use muster_resources::names::key;
use serde_json::json;

use super::decision::is_ours;
use super::hosts::Hosts;
use super::seen::{Progress, Waiting, detached};
use crate::address::BmcAddress;
use crate::drives::HostBmc;

/// Between two attempts.
const INTERVAL: Duration = Duration::from_secs(120);

/// True while Metal3 has detached a machine after its installation, and its drives have not been emptied since.
pub fn is_due(host: &BareMetalHost, agent: Option<&Agent>) -> bool {
    let has_let_go = host
        .status
        .as_ref()
        .is_some_and(|status| status.operational_status == value::DETACHED);
    has_let_go
        && Progress::of(agent) == Progress::Over
        && detached(host).is_some_and(is_ours)
        && host.metadata.deletion_timestamp.is_none()
        && host.annotations().get(annotation::MEDIA).map(String::as_str) != Some(value::EJECTED)
}

/// Empties the drives and records that on the BareMetalHost; `Some`: the reason of a wait, and when to try again.
///
/// # Errors
/// Fails if the API server does.
pub async fn eject(host: &BareMetalHost, hosts: &Hosts) -> Result<Option<(Waiting, Duration)>, Error> {
    let Some(drives) = hosts.context.drives.clone() else {
        return Ok(None);
    };
    let bmc = match bmc_of(host, hosts).await? {
        Ok(Some(bmc)) => bmc,
        // The driver is not Redfish: Metal3 has inserted nothing.
        Ok(None) => return Ok(None),
        Err(why) => return Ok(Some(not_done(&why))),
    };
    // Not cancelled when the reconcile takes too long: the next one waits for its turn at the BMC.
    let emptied = tokio::spawn(drives.empty(bmc)).await;
    if let Err(why) = emptied.unwrap_or_else(|_| Err("an internal error".to_owned())) {
        return Ok(Some(not_done(&why)));
    }
    let note = json!({"metadata": {"annotations": {annotation::MEDIA: value::EJECTED}}});
    let name = host.name_any();
    hosts
        .api(host)
        .patch_metadata(&name, &patch_params(), &Patch::Merge(&note))
        .await?;
    tracing::info!(host = %kube_ref(host), "what Metal3 left in the drive of the machine is taken out");
    Ok(None)
}

fn not_done(why: &str) -> (Waiting, Duration) {
    let wait = Waiting {
        reason: "MediaInserted",
        what: format!("the machine is detached from Metal3, and its drive could not be emptied: {why}"),
        todo: "Take the ISO out by the BMC itself, or make its address and Secret fit.",
    };
    (wait, INTERVAL)
}

/// The BMC; `Ok(None)`: it does not use Redfish; `Err`: the error, for users.
async fn bmc_of(host: &BareMetalHost, hosts: &Hosts) -> Result<Result<Option<HostBmc>, String>, Error> {
    let Some(bmc) = &host.spec.bmc else {
        return Ok(Ok(None));
    };
    let Some((address, system)) = BmcAddress::parse(&bmc.address).and_then(|address| address.redfish())
    else {
        return Ok(Ok(None));
    };
    let namespace = host.namespace().unwrap_or_default();
    let (client, name) = (&hosts.context.client, &bmc.credentials_name);
    let (user_name, password) = match secrets::read_credentials(client, &namespace, name).await {
        Ok(Some(read)) => read,
        Ok(None) => {
            let keys = [key::USER_NAME, key::PASSWORD];
            return Ok(Err(format!("the Secret {name} lacks one of {keys:?}")));
        }
        Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
        Err(error) => return Ok(Err(format!("spec.bmc.credentialsName: {error}"))),
    };
    Ok(Ok(Some(HostBmc {
        address,
        system,
        user_name,
        password,
        verify: !bmc.disable_certificate_verification,
    })))
}
