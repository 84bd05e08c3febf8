//! Deletes a BMC: its discovery ends, the image is taken out of it, and then the record is deleted, with the password.

use std::time::Duration;

use kube::Resource;
use kube::runtime::controller::Action;
use muster_api::time::Timestamp;
use muster_controller::conditions::Synced;
use muster_controller::events::warning;
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_core::record;
use muster_operations::{now, unless_missing};
use muster_resources::{Bmc, names};

use super::conditions::Found;
use super::reconcile::{api, runs_from_medium, write};
use crate::context::Context;
use crate::error::Error;

/// Time for the medium to be taken out. A BMC that does not respond cannot prevent its deletion.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Does the next step.
pub async fn delete(bmc: &Bmc, context: &Context) -> Result<Action, Error> {
    if !finalizers::has(bmc, names::finalizer::BMC) {
        // The object waits for finalizers of others.
        return Ok(Action::await_change());
    }
    let kube = kube_ref(bmc);
    let bmcs = &context.operations.bmcs;
    if let Some(mut record) = bmcs.find_by_kube(&kube).await? {
        if record.stage.is_active() {
            record = bmcs.stop(record.infra_env_id, record.id).await?;
        }
        let next = next(&record, asked_at(bmc), now());
        if let Next::Wait { why, left } = &next {
            let found = Found {
                record: Some(&record),
                synced: Synced::Ok(None),
                waits: None,
                blocked: Some(why),
            };
            write(bmc, context, &found).await?;
            // The watch of records reports changes; the interval is for the time limit.
            return Ok(Action::requeue(*left));
        }
        if let Next::Leave(why) = &next {
            tracing::warn!(bmc.id = %record.id, resource = %kube, why, "a BMC is deleted with the image in it");
            context
                .events
                .publish(warning("Delete", "MediumLeft", why), bmc.object_ref(&()));
        }
        unless_missing(bmcs.delete_with_resource(&record).await)?;
    }
    finalizers::remove(&api(context, bmc), bmc, names::finalizer::BMC).await?;
    tracing::info!(resource = %kube, "BMC resource deleted");
    Ok(Action::await_change())
}

/// The time at which the deletion of an object was requested.
pub fn asked_at(object: &impl Resource) -> Timestamp {
    let asked = object.meta().deletion_timestamp.as_ref();
    let asked = asked.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0));
    asked.unwrap_or_else(now)
}

/// The next step of a deletion.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The image is being taken out.
    Wait { why: String, left: Duration },
    /// The record is deleted, although the image is in the BMC, or may be.
    Leave(String),
    /// The record is deleted; nothing is left in the BMC.
    Go,
}

/// Returns the next step. `asked_at`: the time at which the deletion was requested.
pub fn next(record: &record::Bmc, asked_at: Timestamp, now: Timestamp) -> Next {
    let address = &record.settings.address;
    if record.progress.leftover.is_none() {
        return Next::Go;
    }
    if runs_from_medium(record) {
        return Next::Leave(format!(
            "The host runs from the image in the BMC at {address}: it stays in the drive; take it out when the host has rebooted from its disk"
        ));
    }
    let until = asked_at + LIMIT;
    let left = (until - now).to_std().unwrap_or_default();
    if record.cleans_up() && !left.is_zero() {
        let until = until.format("%Y-%m-%dT%H:%M:%SZ");
        let why = format!(
            "The image is being taken out of the BMC at {address}; at {until} that is given up, and the BMC is deleted"
        );
        return Next::Wait { why, left };
    }
    Next::Leave(format!(
        "The image could not be taken out of the BMC at {address}: look there. {}",
        record.progress.reason
    ))
}
