//! Works on one claimed BMC, phase by phase, until no phase is due.

use std::sync::Arc;
use std::time::Duration;

use muster_api::ids::BmcId;
use muster_core::lifecycle::bmc::BmcEvent;
use muster_core::record::Bmc;
use muster_operations::{chain, now};

use crate::context::Context;
use crate::{power, returns, step};

/// Longest attempt to remove a medium and boot override.
const CLEANING: Duration = Duration::from_secs(600);

pub(crate) async fn work(context: Arc<Context>, bmc: Bmc) {
    let id = bmc.id;
    let run = bmc.run;
    tokio::select! {
        () = follow(&context, bmc) => {}
        () = keep(&context, id, run) => {
            tracing::debug!(bmc.id = %id, "work on a BMC is broken off: somebody stopped it, or another replica has it");
        }
    }
    let released = context.operations.bmcs.release(id, &context.who).await;
    if let Err(error) = released {
        tracing::debug!(bmc.id = %id, error = chain(&error), "the claim of a BMC ends by itself");
    }
}

async fn follow(context: &Context, mut bmc: Bmc) {
    loop {
        let event = match bmc.power.pending() {
            Some(request) => match power::carry_out(context, &bmc, request).await {
                Some(event) => event,
                None => return,
            },
            None => in_time(context, &bmc).await,
        };
        let is_switched = matches!(event, BmcEvent::PowerDone(_));
        match context.operations.bmcs.apply(bmc.id, Some(bmc.run), event).await {
            Ok(Some(next)) => {
                if is_switched {
                    returns::tell_of_reboot(context, &next).await;
                }
                if !is_due(&next) {
                    return;
                }
                bmc = next;
            }
            Ok(None) => return,
            Err(error) if error.is_missing() => return,
            Err(error) => {
                tracing::warn!(bmc.id = %bmc.id, error = chain(&error), "what was done with a BMC could not be stored; it is repeated");
                return;
            }
        }
    }
}

fn is_due(bmc: &Bmc) -> bool {
    bmc.power.pending().is_some() || bmc.progress.due_at.is_some_and(|due| due <= now())
}

/// The outcome of the phase, or its deadline.
async fn in_time(context: &Context, bmc: &Bmc) -> BmcEvent {
    let left = match bmc.progress.deadline {
        Some(deadline) => (deadline - now()).to_std().unwrap_or_default(),
        None => CLEANING,
    };
    if left.is_zero() {
        return BmcEvent::DeadlinePassed;
    }
    match tokio::time::timeout(left, step::next(context, bmc)).await {
        Ok(event) => event,
        Err(_) if bmc.stage.is_active() => BmcEvent::DeadlinePassed,
        Err(_) => BmcEvent::NotCleaned(step::too_long(left)),
    }
}

/// Prolongs the claim; ends when it is lost, or the work is void.
async fn keep(context: &Context, id: BmcId, run: i64) {
    let claim = context.settings.claim;
    loop {
        tokio::time::sleep(claim / 12).await;
        let bmcs = &context.operations.bmcs;
        match bmcs.renew_claim(id, &context.who, claim).await {
            Ok(Some(present)) if present == run => {}
            Ok(_) => return,
            // The claim lasts for a while yet.
            Err(error) => {
                tracing::debug!(bmc.id = %id, error = chain(&error), "a claim could not be prolonged");
            }
        }
    }
}
