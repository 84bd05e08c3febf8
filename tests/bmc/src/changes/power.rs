//! `#ComputerSystem.Reset` (docs/protocol/redfish.md#2.4).

use std::time::{Duration, Instant};

use super::work::{as_task, at_once};
use crate::answer::Answer;
use crate::bmc::{Bmc, Work};
use crate::call::Call;
use crate::etag;
use crate::problem::Problem;
use crate::quirks::{Lag, count_down};

pub(super) fn reset(bmc: &mut Bmc, call: &Call, now: Instant) -> Result<Answer, Problem> {
    etag::check_action(call.header("if-match"), bmc.quirks.etag)?;
    let kind = reset_type(bmc, call)?;
    let is_on = bmc.machine.is_on();
    refuse_by_state(bmc, &kind, is_on, now)?;
    bmc.power_called = Some(now);
    bmc.was_switched_off = matches!(kind.as_str(), "ForceOff" | "GracefulShutdown");
    let work = works(&kind, is_on, bmc.quirks.restart_hangs, bmc.quirks.lag);
    if let Some(quirk) = bmc.quirks.tasks.filter(|quirk| quirk.power) {
        return Ok(as_task(bmc, &format!("Reset {kind}"), work, quirk, now));
    }
    for (work, delay) in work {
        if delay.is_zero() {
            at_once(bmc, &work, 204, now)?;
        } else {
            bmc.later(work, delay, None, now);
        }
    }
    Ok(Answer::empty(204))
}

/// The requested `ResetType`, one of those that this BMC accepts.
fn reset_type(bmc: &Bmc, call: &Call) -> Result<String, Problem> {
    let body = call.object()?;
    if let Some(unknown) = body.keys().find(|name| *name != "ResetType") {
        return Err(Problem::unknown_property(unknown));
    }
    let kind = body
        .get("ResetType")
        .ok_or_else(|| Problem::missing_parameter("Reset", "ResetType"))?;
    let known = |text: &&str| bmc.quirks.reset_types.iter().any(|kind| kind == text);
    let found = kind.as_str().filter(known);
    found
        .map(str::to_owned)
        .ok_or_else(|| Problem::value_not_in_list("ResetType", kind))
}

fn refuse_by_state(bmc: &mut Bmc, kind: &str, is_on: bool, now: Instant) -> Result<(), Problem> {
    let is_early = |called: Instant| now.duration_since(called) < bmc.quirks.settles;
    if bmc.power_called.is_some_and(is_early) {
        let message = "The operation was not successful due to the current power state.";
        return Err(Problem::new(400, "InvalidOperationForSystemState", message));
    }
    let switches_on = matches!(kind, "On" | "ForceOn");
    let switches_off = matches!(kind, "ForceOff" | "GracefulShutdown");
    if switches_on && !is_on && bmc.was_switched_off && count_down(&mut bmc.quirks.on_conflict) {
        let message = "The parameter ResetType conflicts with the state of the machine.";
        return Err(Problem::new(409, "ActionParameterValueConflict", message));
    }
    if bmc.quirks.refuses_same_power && !bmc.is_settling() {
        let already = |state: &str| {
            let message = format!("The host is already powered {state}.");
            Err(Problem::new(400, "GeneralError", message))
        };
        if switches_on && is_on {
            return already("on");
        }
        if switches_off && !is_on {
            return already("off");
        }
    }
    Ok(())
}

/// The work of a reset type, with the delay of each piece after the call.
fn works(kind: &str, is_on: bool, restart_hangs: bool, lag: Lag) -> Vec<(Work, Duration)> {
    match kind {
        "On" | "ForceOn" => vec![(Work::On, lag.on)],
        "ForceOff" => vec![(Work::Off, lag.off)],
        "GracefulShutdown" => vec![(Work::PressButton, lag.off)],
        "ForceRestart" if restart_hangs => Vec::new(),
        "PowerCycle" => vec![(Work::Off, lag.off), (Work::On, lag.off + lag.on)],
        // The restarts.
        _ if is_on && lag.off.is_zero() && lag.on.is_zero() => vec![(Work::Reset, Duration::ZERO)],
        _ if is_on => vec![(Work::Off, lag.off), (Work::On, lag.off + lag.on)],
        _ => vec![(Work::On, lag.on)],
    }
}
