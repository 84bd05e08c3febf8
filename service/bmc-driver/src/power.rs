//! Switches the power of a machine, or reads its state, because a user requests it, its host waits for a boot from its disk, a controller
//! requests that its host reboots, or its host is to sleep.

use muster_api::bmc::{BmcFailure, BmcPowerAction};
use muster_bmc::{Bmc as Conversation, BmcError, BootFrom};
use muster_core::lifecycle::bmc::{BmcEvent, LEFT_ALONE, PowerDone, Problem};
use muster_core::lifecycle::host::AwaitedSystem;
use muster_core::record::{Bmc, PowerRequest};
use muster_operations::{chain, now};

use crate::agent;
use crate::context::Context;
use crate::others::leave_to_others;
use crate::problem::problem;
use crate::returns;
use crate::step::{connect, internal, leave_node};
use crate::target::target;

/// The report of the BMC.
#[derive(Default)]
struct Told {
    state: Option<String>,
    certificate: Option<String>,
}

/// Carries out a request before its deadline; `None`: its beginning could not be stored, or it is void.
pub(crate) async fn carry_out(context: &Context, bmc: &Bmc, request: &PowerRequest) -> Option<BmcEvent> {
    let id = request.id;
    let bmcs = &context.operations.bmcs;
    if !request.begun {
        match bmcs.apply(bmc.id, None, BmcEvent::PowerBegun { id }).await {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => {
                tracing::warn!(bmc.id = %bmc.id, error = chain(&error), "a request for power could not be begun; trying again");
                return None;
            }
        }
    }
    let mut told = Told::default();
    let left = (request.deadline - now()).to_std().unwrap_or_default();
    let done = tokio::time::timeout(left, done(context, bmc, request, &mut told)).await;
    let done = done.unwrap_or_else(|_| {
        Err(Problem {
            failure: BmcFailure::Refused,
            reason: "It did not end in time: other work on the BMC, or the BMC itself, took too long"
                .to_owned(),
            passing: true,
        })
    });
    Some(BmcEvent::PowerDone(PowerDone {
        id,
        state: told.state,
        certificate: told.certificate,
        problem: done.err(),
    }))
}

async fn done(context: &Context, bmc: &Bmc, request: &PowerRequest, told: &mut Told) -> Result<(), Problem> {
    if request.action != BmcPowerAction::Status {
        may_switch(context, bmc, request).await?;
    }
    let mut conversation = connect(context, &target(bmc)?).await?;
    told.certificate = conversation.certificate().map(|shown| shown.to_string());
    let switched = switch(&mut conversation, request).await;
    let progress = conversation.progress().await;
    conversation.close().await;
    told.state = progress.as_ref().ok().map(|progress| progress.power.to_string());
    switched?;
    let seen = progress.map(drop);
    seen.map_err(|error| problem(&error, BmcFailure::Refused))
}

/// The last check: an installation may have begun since the request.
async fn may_switch(context: &Context, bmc: &Bmc, request: &PowerRequest) -> Result<(), Problem> {
    let by_user = !request.from_disk && request.reboot_of.is_none() && request.sleep_of.is_none();
    leave_to_others(context, bmc, by_user).await?;
    if request.sleep_of.is_some() {
        leave_node(context, bmc).await?;
    }
    if !by_user {
        let awaits = match (request.reboot_of, request.sleep_of) {
            (Some(requested_at), _) => returns::awaits_reboot(context, bmc, requested_at).await,
            (None, Some(requested_at)) => returns::awaits_sleep(context, bmc, requested_at).await,
            (None, None) => returns::awaits(context, bmc, AwaitedSystem::Disk).await,
        };
        return match awaits.map_err(|error| internal(&error))? {
            true => Ok(()),
            false => Err(Problem {
                failure: BmcFailure::InUse,
                reason: LEFT_ALONE.to_owned(),
                passing: false,
            }),
        };
    }
    if request.force {
        return Ok(());
    }
    let installation = agent::installation(context, bmc).await;
    match installation.map_err(|error| internal(&error))? {
        Some(why) => Err(Problem {
            failure: BmcFailure::InUse,
            reason: format!("Its power stays as it is, since {why}"),
            passing: false,
        }),
        None => Ok(()),
    }
}

async fn switch(conversation: &mut Conversation, request: &PowerRequest) -> Result<(), Problem> {
    let switched = match request.action {
        BmcPowerAction::Status => Ok(()),
        BmcPowerAction::On => conversation.power_on().await,
        BmcPowerAction::Off => conversation.shut_down(request.force).await,
        BmcPowerAction::Reset if request.begun => {
            // The first attempt may have switched the machine off already, and a second reset could hit a running system.
            let on = conversation.power_on().await;
            on.map_err(|error| problem(&error, BmcFailure::Boot))?;
            return Err(Problem {
                failure: BmcFailure::Refused,
                reason: "The reset was interrupted, as by a restart of the service; the machine is on now: look whether it was reset".to_owned(),
                passing: false,
            });
        }
        BmcPowerAction::Reset if request.from_disk => conversation.boot(&BootFrom::Disk).await.map(drop),
        BmcPowerAction::Reset => match conversation.shut_down(request.force).await {
            Ok(()) => conversation.power_on().await,
            not_off => not_off,
        },
    };
    switched.map_err(|error| {
        let mut found = problem(&error, BmcFailure::Boot);
        let cuttable = matches!(error, BmcError::Deadline { .. } | BmcError::Unsupported(_));
        if cuttable && !request.force && request.action != BmcPowerAction::On {
            found
                .reason
                .push_str(". Its system was not made to shut down; with force its power is cut");
        }
        found
    })
}
