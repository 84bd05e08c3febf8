//! Carries out phases.

use std::time::Duration;

use muster_api::bmc::{BmcBoot, BmcFailure, BmcInventory};
use muster_bmc::{Bmc as Conversation, BmcError, BootFrom, Override, Target};
use muster_core::lifecycle::bmc::{BmcEvent, Problem, Seen};
use muster_core::record::{Bmc, BmcStage};
use muster_operations::OperationError;

use crate::agent;
use crate::context::Context;
use crate::inventory;
use crate::others::leave_to_others;
use crate::problem::{checks, in_the_way, problem};
use crate::returns;
use crate::target::target;

/// The reads of the image show whether it did.
const OVERRIDE_DROPPED: &str =
    "the BMC accepted the boot override and does not show it: the machine may boot from its disk";

/// Carries out the phase of a BMC, and returns the outcome.
pub(crate) async fn next(context: &Context, bmc: &Bmc) -> BmcEvent {
    let outcome = match &bmc.stage {
        BmcStage::Waiting => match returns::is_back(context, bmc).await {
            Ok(true) => return BmcEvent::HostBack,
            Ok(false) => return BmcEvent::Begun,
            Err(error) => Err(internal(&error)),
        },
        BmcStage::Checking => return check(context, bmc).await,
        BmcStage::Inserting => insert(context, bmc).await,
        BmcStage::Booting => boot(context, bmc).await,
        BmcStage::WaitingForAgent => agent::look(context, bmc).await.map_err(|error| internal(&error)),
        BmcStage::Discovered { host_id, .. } if runs_from_medium(bmc) => {
            agent::look_after(context, bmc, *host_id)
                .await
                .map_err(|error| internal(&error))
        }
        BmcStage::Discovered { .. } | BmcStage::Failed { .. } | BmcStage::Stopped => {
            return match clean(context, bmc).await {
                Ok(()) => BmcEvent::Cleaned,
                Err(problem) => BmcEvent::NotCleaned(problem),
            };
        }
    };
    outcome.unwrap_or_else(BmcEvent::StepFailed)
}

fn runs_from_medium(bmc: &Bmc) -> bool {
    bmc.progress.leftover.as_ref().is_some_and(|left| left.in_use)
}

/// In most cases the database, which recovers.
pub(crate) fn internal(error: &OperationError) -> Problem {
    Problem {
        failure: BmcFailure::Refused,
        reason: error.to_string(),
        passing: true,
    }
}

pub(crate) fn too_long(after: Duration) -> Problem {
    Problem {
        failure: BmcFailure::Refused,
        reason: format!("it did not end within {} s", after.as_secs()),
        passing: true,
    }
}

/// The address of the image for this BMC.
async fn image(context: &Context, bmc: &Bmc) -> Result<String, Problem> {
    let operations = &context.operations;
    let infra_env = operations.infra_envs.get(bmc.infra_env_id).await;
    let infra_env = infra_env.map_err(|error| internal(&error))?;
    // Without a tag, a request for the image returns to the BMC what is wrong with the image.
    let tag = operations.medium_tag(&infra_env).await.ok();
    let code = operations.auth.bmc_code(&infra_env, bmc.id);
    Ok(operations
        .urls
        .bmc_iso(&infra_env, (bmc.id, &code), tag.as_deref()))
}

async fn check(context: &Context, bmc: &Bmc) -> BmcEvent {
    let mut seen = Seen::default();
    let problem = looked(context, bmc, &mut seen).await.err();
    let seen = Box::new(seen);
    BmcEvent::Checked { seen, problem }
}

async fn looked(context: &Context, bmc: &Bmc, seen: &mut Seen) -> Result<(), Problem> {
    let (target, image) = (target(bmc)?, image(context, bmc).await?);
    if bmc.progress.attempts == 0 {
        // Only a new request of a user comes here: refused credentials are stored, and end a run earlier.
        let forgiven = context.client.forgive(&target).await;
        forgiven.map_err(|error| problem(&error, BmcFailure::Refused))?;
    }
    let preflight = context.client.preflight(&target, Some(&image)).await;
    seen.checks = checks(&preflight);
    seen.certificate = preflight.certificate.map(|shown| shown.to_string());
    if let Some(problem) = in_the_way(&preflight, bmc.settings.boot) {
        return Err(problem);
    }
    let mut conversation = connect(context, &pinned(target, &preflight.certificate)).await?;
    let told = conversation.inventory().await;
    conversation.close().await;
    let told = inventory::stored(told.map_err(|error| problem(&error, BmcFailure::Refused))?);
    let free = may_switch_off(context, bmc, &told).await;
    seen.inventory = Some(told);
    free
}

/// Refuses to switch off a machine that is installed, or being installed.
async fn may_switch_off(context: &Context, bmc: &Bmc, told: &BmcInventory) -> Result<(), Problem> {
    leave_to_others(context, bmc, !bmc.progress.for_host).await?;
    leave_node(context, bmc).await?;
    let in_use = agent::in_use(context, bmc.infra_env_id, told).await;
    match in_use.map_err(|error| internal(&error))? {
        Some(host) => Err(Problem {
            failure: BmcFailure::InUse,
            reason: format!(
                "its machine is host {}{} already, which is {}: booting would switch it off. Reset or delete the host first",
                host.id,
                if host.infra_env_id == bmc.infra_env_id {
                    ""
                } else {
                    " of another InfraEnv"
                },
                host.state.status().name()
            ),
            passing: false,
        }),
        None => Ok(()),
    }
}

/// Refuses to switch a machine because its host falls asleep or is woken, while it is in a cluster through another InfraEnv: it is a node there.
///
/// # Errors
/// If it is, or that is not known.
pub(crate) async fn leave_node(context: &Context, bmc: &Bmc) -> Result<(), Problem> {
    let Some(host_id) = bmc.host_id else {
        return Ok(());
    };
    let hosts = &context.operations.hosts;
    let found = hosts.find(bmc.infra_env_id, host_id).await;
    let found = found.map_err(|error| internal(&OperationError::from(error)))?;
    let Some(host) = found.filter(|host| host.data.sleep.is_some()) else {
        return Ok(());
    };
    let elsewhere = hosts.node_through_another(&host).await;
    match elsewhere.map_err(|error| internal(&error))? {
        None => Ok(()),
        Some(infra_env) => Err(Problem {
            failure: BmcFailure::InUse,
            reason: format!(
                "its machine is in a cluster through the InfraEnv {infra_env}; take it out there, or delete the host here"
            ),
            passing: false,
        }),
    }
}

/// Pins the certificate of the first contact for the further ones of this step.
fn pinned(mut target: Target, shown: &Option<muster_bmc::Fingerprint>) -> Target {
    if let muster_bmc::CertificateMode::Pin(pin @ None) = &mut target.certificate {
        *pin = *shown;
    }
    target
}

pub(crate) async fn connect(context: &Context, target: &Target) -> Result<Conversation, Problem> {
    let connected = context.client.connect(target).await;
    connected.map_err(|error| problem(&error, BmcFailure::Refused))
}

/// The last check before the machine is switched off; returns an event if it must not be.
async fn before_switching_off(context: &Context, bmc: &Bmc) -> Result<Option<BmcEvent>, Problem> {
    let back = returns::is_back(context, bmc).await;
    if back.map_err(|error| internal(&error))? {
        return Ok(Some(BmcEvent::HostBack));
    }
    if let Some(told) = &bmc.inventory {
        may_switch_off(context, bmc, told).await?;
    }
    Ok(None)
}

async fn insert(context: &Context, bmc: &Bmc) -> Result<BmcEvent, Problem> {
    if let Some(instead) = before_switching_off(context, bmc).await? {
        return Ok(instead);
    }
    let (target, image) = (target(bmc)?, image(context, bmc).await?);
    let mut conversation = connect(context, &target).await?;
    let inserted = conversation.insert(&image).await;
    conversation.close().await;
    match inserted {
        Ok(inserted) => Ok(BmcEvent::Inserted { slot: inserted.slot }),
        Err(error) => Err(problem(&error, BmcFailure::Media)),
    }
}

async fn boot(context: &Context, bmc: &Bmc) -> Result<BmcEvent, Problem> {
    if bmc.progress.attempts == 0 {
        if let Some(instead) = before_switching_off(context, bmc).await? {
            return Ok(instead);
        }
    } else if let Ok(seen @ BmcEvent::AgentSeen { .. }) = agent::look(context, bmc).await {
        // It booted, though the BMC did not report it.
        return Ok(seen);
    }
    let target = target(bmc)?;
    let from = match bmc.settings.boot {
        BmcBoot::VirtualMedia => BootFrom::Media,
        BmcBoot::UefiHttp => BootFrom::Http(image(context, bmc).await?),
    };
    let mut conversation = connect(context, &target).await?;
    let booted = conversation.boot(&from).await;
    conversation.close().await;
    match booted {
        Ok(Override::Once | Override::Continuous) => Ok(BmcEvent::Booted { note: String::new() }),
        Ok(Override::Dropped) => Ok(BmcEvent::Booted {
            note: OVERRIDE_DROPPED.to_owned(),
        }),
        Err(error) => Err(problem(&error, BmcFailure::Boot)),
    }
}

/// Ejects the medium, and clears the boot override.
async fn clean(context: &Context, bmc: &Bmc) -> Result<(), Problem> {
    let mut conversation = connect(context, &target(bmc)?).await?;
    let slot = bmc.progress.leftover.as_ref().and_then(|left| left.slot.clone());
    let finished = match bmc.settings.boot {
        BmcBoot::UefiHttp => conversation.finish_http().await,
        BmcBoot::VirtualMedia => conversation.finish(slot.as_deref()).await,
    };
    conversation.close().await;
    finished.map_err(|error: BmcError| problem(&error, BmcFailure::Media))
}
