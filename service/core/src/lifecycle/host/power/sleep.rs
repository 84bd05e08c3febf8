//! Puts hosts to sleep and wakes them: docs/sleeping.md. The protocol has nothing of the kind, so that a host that sleeps keeps the state
//! `known-unbound`, in which any provider may take it.
//!
//! That a host is off is what its BMC reads back, never what the host reports or that it is silent. While it sleeps it is not evaluated:
//! its silence is expected, and its inventory stays as it was.

use muster_api::event::Severity;
use muster_api::host::HostKind;
use muster_api::time::Timestamp;

use crate::lifecycle::host::event::{SleepAsked, SleepEvent};
use crate::lifecycle::host::step::Rejection;
use crate::lifecycle::host::transition::{describe, move_to, set_info};
use crate::lifecycle::host::{deadline, events};
use crate::record::{
    Host, HostState, NewEvent, Phase, Sleep, SleepCause, SleepFailed, SleepStage, WakeCause, Waking,
};
use crate::rules::facts::HostFacts;
use crate::rules::{failures, hostname};
use crate::text::{one_line, spoken};

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 500;

/// Applies an event about the sleep of a host. A report about another sleep than the present one changes nothing.
///
/// # Errors
/// A request that is refused: the reason, with what to do.
pub(in crate::lifecycle::host) fn happened(
    host: &mut Host,
    event: &SleepEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    match event {
        SleepEvent::Asked(asked) => fall_asleep(host, asked, facts, now),
        SleepEvent::SwitchedOff { asked_at, failure } => {
            switched_off(host, *asked_at, failure.as_deref(), now);
            Ok(())
        }
        SleepEvent::WakeAsked { cause, keep } => wake(host, (*cause, *keep), facts, now),
        SleepEvent::WakeBegun { asked_at } => {
            if let Some(waking) = waking_mut(host, *asked_at) {
                waking.begun_at.get_or_insert(now);
            }
            Ok(())
        }
        SleepEvent::WakeFailed {
            asked_at,
            reason,
            is_of_machine,
        } => {
            let Some(waking) = waking_mut(host, *asked_at) else {
                return Ok(());
            };
            if *is_of_machine && was_away_since(*asked_at, facts) {
                // The time of its boot ran out while nobody looked: it is booted once more.
                (waking.asked_at, waking.begun_at) = (now, None);
            } else {
                did_not_wake(host, reason, *is_of_machine, now);
            }
            Ok(())
        }
        SleepEvent::Claimed(claimed) => {
            host.data.kept_awake.by_claim = *claimed;
            Ok(())
        }
    }
}

/// True if there was a time after `since` in which the service received nothing.
fn was_away_since(since: Timestamp, facts: &HostFacts<'_>) -> bool {
    facts.deaf.iter().any(|time| time.to > since)
}

/// The machine was booted into another InfraEnv, and is in a cluster through that: its power is not that pool's to switch.
fn node_elsewhere(infra_env: &str) -> String {
    format!(
        "its machine is in a cluster through the InfraEnv {infra_env}; take it out there, or delete the host here"
    )
}

fn fall_asleep(
    host: &mut Host,
    asked: &SleepAsked,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    let is_by_person = asked.cause == SleepCause::Person;
    if let Some(sleep) = host
        .data
        .sleep
        .as_mut()
        .filter(|sleep| sleep.is_silence_expected())
    {
        // A person's wish outlives that of the pool.
        if is_by_person && sleep.waking().is_none() {
            sleep.cause = SleepCause::Person;
            host.data.kept_awake.by_person = false;
            return Ok(());
        }
        if is_by_person {
            return Err(Rejection::conflict(
                "it is being woken; try again when it is awake",
            ));
        }
        return Ok(());
    }
    if host.state != HostState::KnownUnbound {
        return Err(Rejection::conflict(format!(
            "only a host that is known-unbound sleeps. {}",
            describe(host)
        )));
    }
    // Such a host is in another state, and is not evaluated while it sleeps.
    if host.data.cleaning.is_some() {
        return Err(Rejection::conflict("its disks are to be erased first"));
    }
    if host.data.kept_awake.by_claim {
        return Err(Rejection::conflict(
            "its Agent names a cluster, for which it is about to be taken",
        ));
    }
    if host.data.kept_awake.by_person && !is_by_person {
        return Err(Rejection::conflict(
            "a person keeps it awake; muster host sleep ends that",
        ));
    }
    if let Some(infra_env) = facts.in_cluster_through {
        let why = node_elsewhere(infra_env);
        if is_by_person {
            return Err(Rejection::conflict(why));
        }
        // So that its pool turns to others meanwhile.
        stays_awake(host, &why, now);
        return Ok(());
    }
    host.data.kept_awake.by_person = false;
    host.data.sleep_failed = None;
    host.data.sleep = Some(Sleep {
        asked_at: now,
        bmc: asked.bmc.clone(),
        cause: asked.cause,
        stage: SleepStage::Falling,
    });
    let info = format!(
        "Its BMC {} switches it off; it can be bound to a cluster nevertheless",
        asked.bmc
    );
    set_info(host, &info);
    Ok(())
}

/// Its BMC has switched it off, or could not.
fn switched_off(host: &mut Host, asked_at: Timestamp, failure: Option<&str>, now: Timestamp) {
    let is_it = |sleep: &&mut Sleep| sleep.asked_at == asked_at && sleep.stage == SleepStage::Falling;
    let Some(sleep) = host.data.sleep.as_mut().filter(is_it) else {
        return;
    };
    if let Some(failure) = failure {
        stays_awake(host, failure, now);
        return;
    }
    sleep.stage = SleepStage::Asleep { since: now };
    let why = match sleep.cause {
        SleepCause::Idle => "since no machine took it",
        SleepCause::Person => "since a person requested it",
    };
    let info = format!(
        "Asleep: its BMC {} has switched it off, {why}. It can be bound to a cluster, which wakes it; so does muster host wake",
        sleep.bmc
    );
    set_info(host, &info);
}

fn stays_awake(host: &mut Host, reason: &str, now: Timestamp) {
    host.data.sleep = None;
    host.data.sleep_failed = Some(SleepFailed {
        at: now,
        reason: one_line(reason, MAX_REASON),
    });
}

/// A request to wake the host that is no claim.
fn wake(
    host: &mut Host,
    (cause, keep): (WakeCause, bool),
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    if keep {
        host.data.kept_awake.by_person = true;
    }
    match &host.data.sleep {
        Some(sleep) if sleep.is_silence_expected() => match facts.in_cluster_through.map(node_elsewhere) {
            None => begin_waking(host, cause, now),
            Some(why) if cause == WakeCause::Person => return Err(Rejection::conflict(why)),
            Some(why) => is_lost(host, &why, now),
        },
        Some(_) if cause == WakeCause::Person => {
            return Err(Rejection::conflict(
                "it did not wake the last time: look at its console and its BMC, and boot it by muster bmc discover",
            ));
        }
        None if cause == WakeCause::Person && !keep => {
            return Err(Rejection::conflict("it is not asleep"));
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// The host was bound to a cluster: it is woken for that.
pub(in crate::lifecycle::host) fn claimed(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) {
    host.data.kept_awake.by_claim = false;
    let sleeps = host.data.sleep.as_ref().is_some_and(Sleep::is_silence_expected);
    match facts.in_cluster_through.map(node_elsewhere) {
        Some(why) if sleeps => is_lost(host, &why, now),
        _ => begin_waking(host, WakeCause::Claim, now),
    }
}

fn begin_waking(host: &mut Host, cause: WakeCause, now: Timestamp) {
    let Some(sleep) = host
        .data
        .sleep
        .as_mut()
        .filter(|sleep| sleep.is_silence_expected())
    else {
        return;
    };
    // A boot that is under way already serves the claim, too.
    let before = sleep.waking().cloned();
    sleep.stage = SleepStage::Waking(Waking {
        asked_at: before.as_ref().map_or(now, |before| before.asked_at),
        cause,
        begun_at: before.and_then(|before| before.begun_at),
    });
    let info = match cause {
        WakeCause::Claim => format!(
            "It was asleep: its BMC {} boots it, and then it registers in its cluster. Nobody has to do anything",
            sleep.bmc
        ),
        WakeCause::Spare | WakeCause::Person => {
            format!(
                "It was asleep: its BMC {} boots it. Nobody has to do anything",
                sleep.bmc
            )
        }
    };
    set_info(host, &info);
}

fn waking_mut(host: &mut Host, asked_at: Timestamp) -> Option<&mut Waking> {
    match &mut host.data.sleep.as_mut()?.stage {
        SleepStage::Waking(waking) if waking.asked_at == asked_at => Some(waking),
        _ => None,
    }
}

/// The host has registered: it is awake.
pub(in crate::lifecycle::host) fn is_awake(host: &mut Host) {
    host.data.sleep = None;
    host.data.sleep_failed = None;
}

/// Ends sleeps whose time is over. Returns true while the host sleeps, which is then not evaluated.
pub(in crate::lifecycle::host) fn rests(host: &mut Host, facts: &HostFacts<'_>, now: Timestamp) -> bool {
    let Some(sleep) = host
        .data
        .sleep
        .as_ref()
        .filter(|sleep| sleep.is_silence_expected())
    else {
        return false;
    };
    if !matches!(host.state.phase(), Phase::Unbound | Phase::Moving) {
        host.data.sleep = None;
        return false;
    }
    let is_over = deadline::end_of_sleep(host, &facts.deadlines()).is_some_and(|limit| now >= limit);
    if !is_over {
        return true;
    }
    match &sleep.stage {
        SleepStage::Waking(Waking {
            begun_at: Some(_), ..
        }) => {
            let within = spoken(facts.limits.wake());
            did_not_wake(
                host,
                &format!("it did not register within {within} of its boot"),
                true,
                now,
            );
        }
        SleepStage::Waking(_) => {
            let within = spoken(deadline::WAKE_QUEUE_LIMIT);
            did_not_wake(
                host,
                &format!("its BMC did not begin to boot it within {within}"),
                false,
                now,
            );
        }
        SleepStage::Falling | SleepStage::Asleep { .. } | SleepStage::DidNotWake { .. } => {
            stays_awake(host, "its BMC did not report in time that it is off", now);
        }
    }
    host.data.sleep.as_ref().is_some_and(Sleep::is_silence_expected)
}

/// `is_of_machine`: no fault of the service or of its settings.
fn did_not_wake(host: &mut Host, reason: &str, is_of_machine: bool, now: Timestamp) {
    let reason = one_line(reason, MAX_REASON);
    if is_of_machine {
        let before = host.data.failures.as_ref();
        host.data.failures = Some(failures::after_not_waking(
            before,
            &reason,
            host.inventory.as_deref(),
            now,
        ));
    } else if host.state == HostState::KnownUnbound {
        sleeps_on(host, reason, now);
        return;
    }
    is_lost(host, &reason, now);
}

/// Nobody waits for the host, and the next one would not wake either: it stays in its pool.
fn sleeps_on(host: &mut Host, reason: String, now: Timestamp) {
    if let Some(sleep) = &mut host.data.sleep {
        sleep.stage = SleepStage::Asleep { since: now };
    }
    let info = format!(
        "Asleep: it was to be woken, which failed: {reason}. It can be bound to a cluster, which wakes it"
    );
    host.data.sleep_failed = Some(SleepFailed { at: now, reason });
    set_info(host, &info);
}

/// Why the service does not count a host as connected that did not wake, however recent its last request before the sleep is.
pub(in crate::lifecycle::host) fn lack_of_contact(host: &Host) -> Option<String> {
    match &host.data.sleep.as_ref()?.stage {
        SleepStage::DidNotWake { reason, .. } => Some(not_woken(reason)),
        _ => None,
    }
}

fn not_woken(reason: &str) -> String {
    format!("It was asleep and did not wake: {reason}")
}

/// It is no longer a host of its pool, until it registers.
fn is_lost(host: &mut Host, reason: &str, now: Timestamp) {
    if let Some(sleep) = &mut host.data.sleep {
        sleep.stage = SleepStage::DidNotWake {
            at: now,
            reason: reason.to_owned(),
        };
    }
    let info = not_woken(reason);
    match host.state {
        HostState::Binding => {
            host.data.kind = HostKind::AddToExistingClusterHost;
            move_to(host, HostState::Disconnected, &info);
        }
        _ => set_info(host, &info),
    }
}

/// The events about the change of the sleep from `old` to `next`.
pub(in crate::lifecycle::host) fn events_of_change(
    old: &Host,
    next: &Host,
    now: Timestamp,
    told: &mut Vec<NewEvent>,
) {
    let (before, after) = (old.data.sleep.as_ref(), next.data.sleep.as_ref());
    let name = hostname::display(next);
    let mut tell = |event: &'static str, severity, message: String| {
        told.push(events::about(next, event, severity, &message, now));
    };
    if old.data.sleep_failed != next.data.sleep_failed
        && let Some(failed) = &next.data.sleep_failed
    {
        if after.is_some() {
            let message = format!("Host {name} was not woken, and stays asleep: {}", failed.reason);
            tell("muster_host_wake_failed", Severity::Warning, message);
            return;
        }
        let message = format!("Host {name} was not put to sleep: {}", failed.reason);
        tell("muster_host_sleep_failed", Severity::Warning, message);
    }
    let Some(after) = after else {
        if before.is_some_and(|before| before.waking().is_some()) {
            tell(
                "muster_host_awake",
                Severity::Info,
                format!("Host {name} is awake"),
            );
        }
        return;
    };
    let stage = before.map(|before| std::mem::discriminant(&before.stage));
    if stage == Some(std::mem::discriminant(&after.stage)) {
        return;
    }
    let bmc = &after.bmc;
    match &after.stage {
        SleepStage::Falling => tell(
            "muster_host_sleep_asked",
            Severity::Info,
            format!("Host {name} is to sleep: its BMC {bmc} switches it off"),
        ),
        SleepStage::Asleep { .. } => tell(
            "muster_host_asleep",
            Severity::Info,
            format!("Host {name} is asleep: its BMC {bmc} reports that it is off"),
        ),
        SleepStage::Waking(waking) => {
            let why = match waking.cause {
                WakeCause::Claim => "it was bound to a cluster",
                WakeCause::Spare => "too few hosts of its InfraEnv are awake",
                WakeCause::Person => "a person requested it",
            };
            let message = format!("Host {name} is woken by its BMC {bmc}, since {why}");
            tell("muster_host_wake_asked", Severity::Info, message);
        }
        SleepStage::DidNotWake { reason, .. } => tell(
            "muster_host_did_not_wake",
            Severity::Error,
            format!("Host {name} was asleep and did not wake: {reason}"),
        ),
    }
}
