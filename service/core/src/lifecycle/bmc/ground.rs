//! Changes of the phase that several events cause.

use chrono::TimeDelta;
use muster_api::bmc::BmcFailure;
use muster_api::time::Timestamp;

use crate::record::{Bmc, BmcLimits, BmcProgress, BmcStage};
use crate::text::{cut, spoken};

/// Longest reason, bytes. It may quote the BMC's error text.
const LONGEST_REASON: usize = 1024;

/// Longest wait in the queue.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(24);

/// Nothing is awaited.
pub(super) fn rest(reason: &str, now: Timestamp) -> BmcProgress {
    BmcProgress {
        reason: reason.to_owned(),
        since: now,
        deadline: None,
        due_at: None,
        attempts: 0,
        last_failure: None,
        for_host: false,
        booted_at: None,
        leftover: None,
        abandoned: false,
        checks: Vec::new(),
        certificate_shown: None,
    }
}

/// Enters a phase that ends after `longest`, and keeps what the checks saw and the record of an inserted medium.
pub(super) fn enter(
    bmc: &mut Bmc,
    stage: BmcStage,
    reason: impl Into<String>,
    longest: Option<TimeDelta>,
    now: Timestamp,
) {
    let reason = reason.into();
    let before = &mut bmc.progress;
    bmc.progress = BmcProgress {
        reason: cut(&reason, LONGEST_REASON).to_owned(),
        since: now,
        deadline: longest.map(|longest| now + longest),
        due_at: longest.map(|_| now),
        attempts: 0,
        last_failure: None,
        for_host: before.for_host,
        booted_at: before.booted_at,
        leftover: before.leftover.take(),
        abandoned: before.abandoned,
        checks: std::mem::take(&mut before.checks),
        certificate_shown: before.certificate_shown.take(),
    };
    bmc.stage = stage;
    bmc.updated_at = now;
}

/// Begins a discovery; work of an earlier one is void.
pub(super) fn start(bmc: &mut Bmc, now: Timestamp) {
    bmc.run += 1;
    enter(
        bmc,
        BmcStage::Waiting,
        "It waits for its turn",
        Some(LONGEST_WAIT),
        now,
    );
    bmc.progress.for_host = false;
    bmc.progress.booted_at = None;
}

/// Ends the discovery, and ejects the medium if a login to the BMC may be tried.
pub(super) fn fail(bmc: &mut Bmc, failure: BmcFailure, reason: &str, now: Timestamp) {
    enter(bmc, BmcStage::Failed { failure }, reason, None, now);
    if may_ask(failure) {
        leave(bmc, now);
    } else if let Some(leftover) = &mut bmc.progress.leftover {
        leftover.given_up = true;
    }
}

/// Ejects the medium of a cancelled discovery, unless a host runs from it: its state is not tracked afterwards.
pub(super) fn leave(bmc: &mut Bmc, now: Timestamp) {
    clean_up(bmc, now);
    let running = bmc.progress.leftover.as_mut().filter(|left| left.in_use);
    running.into_iter().for_each(|left| left.given_up = true);
}

/// False if a login would do harm or have no effect.
pub(super) fn may_ask(failure: BmcFailure) -> bool {
    match failure {
        BmcFailure::Credentials | BmcFailure::Certificate | BmcFailure::Address => false,
        BmcFailure::Unreachable
        | BmcFailure::System
        | BmcFailure::Media
        | BmcFailure::Image
        | BmcFailure::Boot
        | BmcFailure::InUse
        | BmcFailure::NoAgent
        | BmcFailure::Refused => true,
    }
}

/// The failure that prevents further logins until a user changes the credentials, the certificate or the address.
pub(super) fn refused(bmc: &Bmc) -> Option<BmcFailure> {
    let of_discovery = match bmc.stage {
        BmcStage::Failed { failure } if !may_ask(failure) => Some(failure),
        _ => None,
    };
    of_discovery.or(bmc.power.refused)
}

/// Ejects the medium of a discovery that has ended.
pub(super) fn clean_up(bmc: &mut Bmc, now: Timestamp) {
    if bmc.stage.is_active() {
        return;
    }
    if let Some(leftover) = bmc.progress.leftover.as_mut().filter(|left| !left.in_use) {
        leftover.attempts = 0;
        leftover.given_up = false;
        bmc.progress.due_at = Some(now);
    }
}

/// The pause after so many failed attempts.
pub(super) fn pause(attempts: u32, limits: &BmcLimits) -> TimeDelta {
    let doubled = limits.pause * (1 << attempts.saturating_sub(1).min(10));
    doubled.min(limits.longest_pause)
}

/// Returns `within 20 minutes`.
pub(super) fn within(bmc: &Bmc) -> String {
    let progress = &bmc.progress;
    match progress.deadline {
        Some(deadline) => format!("within {}", spoken(deadline - progress.since)),
        None => "in time".to_owned(),
    }
}
