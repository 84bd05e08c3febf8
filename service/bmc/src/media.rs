//! Inserts and ejects virtual media (docs/protocol/redfish.md#2.6).

mod insert;
mod slot;

use std::time::Instant;

use serde_json::{Value, json};

use crate::connection::{Connection, Link, Resource};
use crate::error::BmcError;
use crate::machine::find::Machine;
use crate::profile::MediaForm;

pub(crate) use insert::insert;
pub(crate) use slot::Slot;

/// Eject is tried so often when the BMC has an internal error in it.
const EJECTS: u32 = 3;

/// A slot that may take media.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub link: Link,
    pub form: MediaForm,
    /// It shows a medium, which is ejected before another one is inserted.
    pub is_occupied: bool,
}

/// The slots for CDs by URL: those of the system, otherwise those of its managers.
///
/// # Errors
/// [`BmcError::NoMediaSlot`]
pub(crate) async fn slots(bmc: &mut Connection, machine: &Machine) -> Result<Vec<Candidate>, BmcError> {
    let mut reasons = Vec::new();
    let mut found = Vec::new();
    let owners = std::iter::once(&machine.system).chain(&machine.managers);
    for owner in owners {
        let owner = bmc.get(owner).await?;
        let Some(collection) = bmc.reference(&owner.value, "/VirtualMedia")? else {
            continue;
        };
        let mut in_use = Vec::new();
        let members = match bmc.members(&collection).await {
            // Linked, and not there.
            Err(BmcError::Refused { refusal, .. }) if refusal.status == 404 => continue,
            members => members?,
        };
        for link in members {
            let slot = bmc.get(&link).await?;
            match Slot(&slot).form(&bmc.profile) {
                Ok(form) => {
                    // The medium of a remote console is ejected only when there is no other slot.
                    let list = match Slot(&slot).is_of_console() {
                        true => &mut in_use,
                        false => &mut found,
                    };
                    list.push(Candidate {
                        link,
                        form,
                        is_occupied: Slot(&slot).is_inserted(),
                    });
                }
                Err(reason) => reasons.push(format!("{}: {reason}", Slot(&slot).id())),
            }
        }
        found.append(&mut in_use);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    reasons.push(bmc.profile.no_slot.to_owned());
    Err(BmcError::NoMediaSlot(reasons))
}

/// Ejects the medium of a slot, even if the slot shows none: its state may be out of date, and the media of other users may be hidden.
/// Returns false when the BMC reported success and the slot shows a medium all the same.
pub(crate) async fn eject(bmc: &mut Connection, link: &Link) -> Result<bool, BmcError> {
    let mut attempt = 1;
    loop {
        let slot = bmc.get(link).await?;
        let ejected = eject_once(bmc, &slot).await;
        let after = bmc.get(link).await?;
        match ejected {
            _ if !Slot(&after).is_inserted() => return Ok(true),
            // It may show its earlier medium for a while; some BMCs do so for too long to wait.
            Ok(()) => return await_empty(bmc, link).await,
            // An empty slot that shows what it held before refuses an eject.
            Err(BmcError::Refused { doing, refusal }) if matches!(refusal.status, 400 | 409) => {
                return match await_empty(bmc, link).await? {
                    true => Ok(true),
                    false => Err(BmcError::Refused { doing, refusal }),
                };
            }
            Err(error @ (BmcError::Refused { .. } | BmcError::Unreachable { .. }))
                if attempt >= EJECTS || !error.is_passing() =>
            {
                return Err(error);
            }
            Err(BmcError::Refused { .. } | BmcError::Unreachable { .. }) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(bmc.limits().pause_after(attempt)).await;
        attempt += 1;
    }
}

/// Ejects, and trusts only the slot's state.
///
/// # Errors
/// [`BmcError::Deadline`] when it still shows a medium.
pub(crate) async fn empty(bmc: &mut Connection, link: &Link) -> Result<(), BmcError> {
    if eject(bmc, link).await? {
        return Ok(());
    }
    Err(BmcError::Deadline {
        awaited: format!("slot {} showing itself empty after its eject", link.last()),
        seen: Slot(&bmc.get(link).await?).state(),
        after: bmc.limits().media,
    })
}

async fn eject_once(bmc: &mut Connection, slot: &Resource) -> Result<(), BmcError> {
    let doing = format!("ejecting the medium of slot {}", Slot(slot).id());
    match (bmc.profile.media, Slot(slot).eject()) {
        (MediaForm::Action, Some(action)) => {
            let target = bmc.link(action.target)?;
            bmc.post(&doing, &target, &json!({})).await
        }
        (MediaForm::Patch, _) | (_, None) => {
            let empty = json!({"Image": Value::Null, "Inserted": false});
            bmc.patch(&doing, &slot.link, &empty).await
        }
    }
}

/// Waits until a slot shows itself empty; false when it does not in time.
async fn await_empty(bmc: &mut Connection, link: &Link) -> Result<bool, BmcError> {
    let (started, limit) = (Instant::now(), bmc.limits().media);
    while started.elapsed() < limit {
        tokio::time::sleep(bmc.limits().poll).await;
        if !Slot(&bmc.get(link).await?).is_inserted() {
            return Ok(true);
        }
    }
    Ok(false)
}
