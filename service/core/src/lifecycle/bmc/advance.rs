//! One function from an event to the next phase.

use muster_api::bmc::{BmcBoot, BmcCertificateMode, BmcDifference, BmcFailure, BmcPowerAction};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;

use super::event::{BmcEvent, Problem, Seen};
use super::ground::{clean_up, enter, fail, leave, may_ask, pause, start, within};
use super::{events, firmware, for_host, power, reason};
use crate::record::{Bmc, BmcLimits, BmcStage, Leftover, Medium, NewEvent};
use crate::rules::input::Invalid;
use crate::text::one_line;

/// Attempts to eject a medium.
const CLEANING_ATTEMPTS: u32 = 6;

/// Longest text of a BMC in a reason, bytes.
const LONGEST_QUOTE: usize = 900;

/// A BMC after an event, with the events to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub bmc: Bmc,
    pub events: Vec<NewEvent>,
}

/// A user's request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BmcRefused {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Not possible in this phase; the text is the remedy.
    #[error("{0}")]
    NotNow(String),
}

/// Returns the BMC after `event`; `None`: the event has no meaning in this phase and changes nothing.
///
/// # Errors
/// A user's request that is refused in this phase.
pub fn advance(
    bmc: &Bmc,
    event: BmcEvent,
    limits: &BmcLimits,
    now: Timestamp,
) -> Result<Option<Step>, BmcRefused> {
    let mut next = bmc.clone();
    let mut told = match event {
        BmcEvent::Discover => {
            may_start(bmc)?;
            start(&mut next, now);
            vec![events::started(&next, now)]
        }
        BmcEvent::Stop if bmc.stage.is_active() => {
            next.run += 1;
            enter(&mut next, BmcStage::Stopped, "Somebody stopped it", None, now);
            leave(&mut next, now);
            vec![events::stopped(&next, now)]
        }
        BmcEvent::PowerAsked(asked) => match power::ask(&mut next, asked, limits, now)? {
            Some(told) => told,
            None => return Ok(None),
        },
        BmcEvent::HostReboots { requested_at } => {
            match power::reboot_host(&mut next, requested_at, limits, now)? {
                Some(told) => told,
                None => return Ok(None),
            }
        }
        BmcEvent::HostSleeps {
            host_id,
            requested_at,
        } => match power::put_to_sleep(&mut next, host_id, requested_at, limits, now)? {
            Some(told) => told,
            None => return Ok(None),
        },
        event => match happen(&mut next, event, limits, now) {
            Some(told) => told,
            None => return Ok(None),
        },
    };
    told.extend(firmware::changed(bmc, &next, now));
    Ok(Some(Step {
        bmc: next,
        events: told,
    }))
}

/// Returns the BMC of a deleted InfraEnv if a medium has to be ejected first; `None`: it can be deleted at once.
pub fn abandon(bmc: &Bmc, now: Timestamp) -> Option<Bmc> {
    let mut next = bmc.clone();
    if bmc.stage.is_active() {
        next.run += 1;
        enter(
            &mut next,
            BmcStage::Stopped,
            "Its InfraEnv was deleted",
            None,
            now,
        );
        leave(&mut next, now);
    }
    next.progress.abandoned = true;
    // An InfraEnv and a BMC of these names may be created again in the meantime.
    next.resource = None;
    (next.cleans_up() && !runs_from_medium(&next)).then_some(next)
}

fn may_start(bmc: &Bmc) -> Result<(), BmcRefused> {
    let why = match &bmc.stage {
        stage if stage.is_active() => {
            format!("is under way already ({}); stop it first to start over", stage.phase())
        }
        BmcStage::Failed {
            failure: BmcFailure::Credentials,
        } => "was refused with these credentials; it is not tried again until user or password are given again, since BMCs lock users out".to_owned(),
        BmcStage::Failed {
            failure: BmcFailure::Certificate,
        } => "shows a certificate that is not trusted; compare its fingerprint with the BMC's own page and accept it, then discovery starts over".to_owned(),
        _ => match (bmc.power.refused, bmc.power.pending()) {
            (Some(failure), _) => {
                format!("refused the last request for its power ({failure}): give other credentials, or accept the certificate, first")
            }
            (None, Some(pending)) if pending.action != BmcPowerAction::Status => {
                format!("is switching its machine ({}): try again when that has ended", pending.action)
            }
            _ => return Ok(()),
        },
    };
    Err(BmcRefused::NotNow(format!("BMC {} {why}", bmc.name)))
}

/// Applies events that are no user requests; `None`: the event has no meaning now.
fn happen(bmc: &mut Bmc, event: BmcEvent, limits: &BmcLimits, now: Timestamp) -> Option<Vec<NewEvent>> {
    use BmcStage::{Booting, Checking, Inserting, Waiting};

    match (event, &bmc.stage) {
        (BmcEvent::PowerBegun { id }, _) => power::begin(bmc, id),
        (BmcEvent::PowerDone(done), _) => power::end(bmc, done, now),
        (BmcEvent::HostWaits { since }, _) => for_host::begin(bmc, since, now),
        (BmcEvent::HostAwaitsDisk { since }, _) => power::boot_from_disk(bmc, since, limits, now),
        (BmcEvent::HostBack, Waiting | Checking | Inserting | Booting) if bmc.progress.for_host => {
            for_host::end(bmc, now)
        }
        (BmcEvent::Begun, Waiting) => {
            enter(bmc, Checking, reason::CHECKING, Some(limits.checking), now);
            Some(Vec::new())
        }
        (BmcEvent::Checked { seen, problem }, Checking) => Some(checked(bmc, *seen, problem, limits, now)),
        (BmcEvent::Inserted { slot }, Inserting) => {
            bmc.progress.leftover = Some(Leftover {
                slot: Some(slot),
                ..Leftover::default()
            });
            boot(bmc, limits, now);
            Some(Vec::new())
        }
        (BmcEvent::Booted { note }, Booting) => {
            enter(bmc, BmcStage::WaitingForAgent, "", Some(limits.agent), now);
            bmc.progress.reason = reason::with_note(bmc, &note);
            Some(Vec::new())
        }
        (BmcEvent::StepFailed(problem), Waiting | Checking | Inserting | Booting) => {
            Some(troubled(bmc, problem, limits, now))
        }
        (BmcEvent::DeadlinePassed, stage) if stage.is_active() => late(bmc, now),
        (event, _) => after_boot(bmc, event, limits, now),
    }
}

/// Applies events after the machine was booted, and those at the end.
fn after_boot(bmc: &mut Bmc, event: BmcEvent, limits: &BmcLimits, now: Timestamp) -> Option<Vec<NewEvent>> {
    use BmcStage::{Booting, Discovered, WaitingForAgent};

    match (event, &bmc.stage) {
        (BmcEvent::Looked { note }, WaitingForAgent) => {
            bmc.progress.reason = one_line(&reason::with_note(bmc, &note), LONGEST_QUOTE);
            let next = now + limits.look;
            bmc.progress.due_at = bmc.progress.deadline.map(|deadline| deadline.min(next));
        }
        (BmcEvent::Looked { .. }, Discovered { .. }) if runs_from_medium(bmc) => {
            bmc.progress.due_at = Some(now + limits.look * 10);
        }
        (
            BmcEvent::AgentSeen {
                host_id,
                differences,
                runs_from_medium,
            },
            Booting | WaitingForAgent,
        ) => {
            return Some(discovered(
                bmc,
                (host_id, differences),
                runs_from_medium,
                limits,
                now,
            ));
        }
        (BmcEvent::MediumFree, Discovered { .. }) if runs_from_medium(bmc) => {
            bmc.progress
                .leftover
                .iter_mut()
                .for_each(|left| left.in_use = false);
            clean_up(bmc, now);
        }
        (BmcEvent::Cleaned, stage) if !stage.is_active() && bmc.progress.leftover.is_some() => {
            bmc.progress.leftover = None;
            bmc.progress.due_at = None;
        }
        (BmcEvent::NotCleaned(problem), _) if bmc.cleans_up() && !runs_from_medium(bmc) => {
            return not_cleaned(bmc, &problem, limits, now);
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn runs_from_medium(bmc: &Bmc) -> bool {
    bmc.progress.leftover.as_ref().is_some_and(|left| left.in_use)
}

fn checked(
    bmc: &mut Bmc,
    seen: Seen,
    problem: Option<Problem>,
    limits: &BmcLimits,
    now: Timestamp,
) -> Vec<NewEvent> {
    let certificate = &mut bmc.settings.certificate;
    let is_refused = matches!(&problem, Some(problem) if problem.failure == BmcFailure::Certificate);
    // The first contact decides which certificate is trusted from now on, unless it was not to be.
    if certificate.mode == BmcCertificateMode::Pin && certificate.fingerprint.is_none() && !is_refused {
        certificate.fingerprint.clone_from(&seen.certificate);
    }
    bmc.progress.checks = seen.checks;
    bmc.progress.certificate_shown = seen.certificate.or(bmc.progress.certificate_shown.take());
    if seen.inventory.is_some() {
        bmc.inventory = seen.inventory;
    }
    if let Some(problem) = problem {
        return troubled(bmc, problem, limits, now);
    }
    match bmc.settings.boot {
        BmcBoot::VirtualMedia => {
            enter(
                bmc,
                BmcStage::Inserting,
                reason::INSERTING,
                Some(limits.inserting),
                now,
            );
            // From here on the medium may be inserted, even if the insertion is never reported.
            occupy(bmc, Medium::Begun);
        }
        BmcBoot::UefiHttp => {
            occupy(bmc, Medium::None);
            boot(bmc, limits, now);
        }
    }
    Vec::new()
}

fn boot(bmc: &mut Bmc, limits: &BmcLimits, now: Timestamp) {
    enter(bmc, BmcStage::Booting, reason::BOOTING, Some(limits.booting), now);
    bmc.progress.booted_at = Some(now);
}

/// From now on there is a medium to eject. The system that ran from an earlier medium ends when the machine is powered
/// off.
fn occupy(bmc: &mut Bmc, medium: Medium) {
    let before = bmc.progress.leftover.take();
    // The medium of an earlier discovery stays in the drive when the firmware loads the image itself.
    let kept = before
        .as_ref()
        .map(|left| left.medium)
        .filter(|_| medium == Medium::None);
    bmc.progress.leftover = Some(Leftover {
        slot: before.and_then(|left| left.slot),
        medium: kept.unwrap_or(medium),
        ..Leftover::default()
    });
}

fn troubled(bmc: &mut Bmc, problem: Problem, limits: &BmcLimits, now: Timestamp) -> Vec<NewEvent> {
    let quoted = one_line(&problem.reason, LONGEST_QUOTE);
    let progress = &mut bmc.progress;
    let retry_at = now + pause(progress.attempts + 1, limits);
    let in_time = progress.deadline.is_none_or(|deadline| retry_at < deadline);
    if !problem.passing || !in_time {
        fail(bmc, problem.failure, &quoted, now);
        return vec![events::failed(bmc, now)];
    }
    progress.attempts += 1;
    progress.last_failure = Some(problem.failure);
    progress.reason = format!("{quoted}; it is tried again");
    progress.due_at = Some(retry_at);
    bmc.updated_at = now;
    Vec::new()
}

fn discovered(
    bmc: &mut Bmc,
    (host_id, differences): (HostId, Vec<BmcDifference>),
    runs_from_medium: bool,
    limits: &BmcLimits,
    now: Timestamp,
) -> Vec<NewEvent> {
    let stage = BmcStage::Discovered { host_id, differences };
    let text = reason::discovered(&stage);
    bmc.host_id = Some(host_id);
    enter(bmc, stage, text, None, now);
    if let Some(leftover) = &mut bmc.progress.leftover {
        leftover.in_use = runs_from_medium;
        bmc.progress.due_at = runs_from_medium.then(|| now + limits.look * 10);
    }
    clean_up(bmc, now);
    vec![events::discovered(bmc, host_id, now)]
}

fn not_cleaned(
    bmc: &mut Bmc,
    problem: &Problem,
    limits: &BmcLimits,
    now: Timestamp,
) -> Option<Vec<NewEvent>> {
    let quoted = one_line(&problem.reason, LONGEST_QUOTE);
    let is_discovered = matches!(bmc.stage, BmcStage::Discovered { .. });
    if !may_ask(problem.failure) && !is_discovered {
        // The refused login is not retried, not even at a user's request.
        fail(bmc, problem.failure, &quoted, now);
        return Some(vec![
            events::failed(bmc, now),
            events::medium_left(bmc, &quoted, now),
        ]);
    }
    let leftover = bmc.progress.leftover.as_mut()?;
    leftover.attempts += 1;
    if problem.passing && leftover.attempts < CLEANING_ATTEMPTS {
        bmc.progress.due_at = Some(now + pause(leftover.attempts, limits));
        return Some(Vec::new());
    }
    leftover.given_up = true;
    bmc.progress.due_at = None;
    Some(vec![events::medium_left(bmc, &quoted, now)])
}

fn late(bmc: &mut Bmc, now: Timestamp) -> Option<Vec<NewEvent>> {
    bmc.progress.deadline.filter(|deadline| *deadline <= now)?;
    let (failure, text) = match &bmc.stage {
        BmcStage::WaitingForAgent => (BmcFailure::NoAgent, reason::no_agent(bmc)),
        stage => (
            bmc.progress.last_failure.unwrap_or(BmcFailure::Refused),
            format!(
                "{} did not end {}; last seen: {}",
                stage.phase(),
                within(bmc),
                bmc.progress.reason
            ),
        ),
    };
    fail(bmc, failure, &text, now);
    Some(vec![events::failed(bmc, now)])
}
