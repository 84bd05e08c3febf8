//! Requests for the power of a machine: one at a time, independent of the discovery.

use muster_api::bmc::{BmcCertificateMode, BmcPowerAction, BmcPowerOutcome};
use muster_api::host::{HostStage, HostStatus};
use muster_api::ids::HostId;
use muster_api::time::Timestamp;

use super::advance::BmcRefused;
use super::event::{PowerAsked, PowerDone, Problem};
use super::events;
use super::ground::{may_ask, refused};
use crate::record::{Bmc, BmcLimits, BmcStage, Host, NewEvent, PowerRequest, PowerSeen};
use crate::rules::facts::Deadlines;
use crate::text::one_line;

/// Longest text of a BMC in a reason, bytes.
const LONGEST_QUOTE: usize = 900;

/// The reason why the power of this host's machine must not change; `None`: nothing is written to its disk.
pub fn installation(host: &Host) -> Option<String> {
    let status = host.state.status();
    let is_under_way = matches!(
        status,
        HostStatus::PreparingForInstallation
            | HostStatus::PreparingSuccessful
            | HostStatus::Installing
            | HostStatus::InstallingInProgress
    );
    is_under_way.then(|| format!("its machine is host {}, which is {}", host.id, status.name()))
}

/// Records a request. A status request while another one is under way is not recorded: that one reports the state at
/// its end.
///
/// # Errors
/// The machine is being discovered or installed, another request is under way, or the BMC refused the last login.
pub(super) fn ask(
    bmc: &mut Bmc,
    asked: PowerAsked,
    limits: &BmcLimits,
    now: Timestamp,
) -> Result<Option<Vec<NewEvent>>, BmcRefused> {
    let PowerAsked {
        action,
        force,
        installation,
    } = asked;
    let refuse = |why: String| Err(BmcRefused::NotNow(format!("BMC {}: {why}", bmc.name)));
    let looks = action == BmcPowerAction::Status;
    if let Some(pending) = bmc.power.under_way(now) {
        if looks {
            return Ok(None);
        }
        if pending.action != BmcPowerAction::Status {
            return refuse(format!(
                "its machine is being switched already ({}): try again when that has ended",
                pending.action
            ));
        }
    }
    if let Some(failure) = refused(bmc) {
        return refuse(format!(
            "the last login was refused ({failure}), and the same is not tried again: `muster bmc set` gives other credentials or accepts a certificate"
        ));
    }
    if !looks && !force {
        if bmc.stage.is_active() {
            return refuse(format!(
                "its machine is being discovered ({}): stop that first, or force it",
                bmc.stage.phase()
            ));
        }
        if let Some(why) = installation {
            return refuse(format!("{why}: wait until it is installed, or force it"));
        }
    }
    note(bmc, (action, force), limits, now);
    Ok(Some(match looks {
        true => Vec::new(),
        false => vec![events::power_asked(bmc, action, force, now)],
    }))
}

fn note<'bmc>(
    bmc: &'bmc mut Bmc,
    (action, force): (BmcPowerAction, bool),
    limits: &BmcLimits,
    now: Timestamp,
) -> &'bmc mut PowerRequest {
    let longest = match action {
        BmcPowerAction::Status => limits.power_status,
        BmcPowerAction::On | BmcPowerAction::Off | BmcPowerAction::Reset => limits.power,
    };
    let before = bmc.power.request.as_ref().map_or(0, |request| request.id);
    bmc.power.request.insert(PowerRequest {
        id: before + 1,
        action,
        force,
        from_disk: false,
        reboot_of: None,
        sleep_of: None,
        asked_at: now,
        deadline: now + longest,
        begun: false,
        outcome: BmcPowerOutcome::Pending,
        reason: "It waits for its turn".to_owned(),
        ended_at: None,
    })
}

/// The reason why the BMC cannot reboot its machine's host now, as the end of a sentence; `None`: it can.
pub fn reboot_obstacle(bmc: &Bmc, now: Timestamp) -> Option<String> {
    if bmc.host_id.is_none() {
        return Some("its machine is no host".to_owned());
    }
    if bmc.stage.is_active() {
        return Some(format!("its machine is being discovered ({})", bmc.stage.phase()));
    }
    let switched = bmc.power.under_way(now);
    if let Some(request) = switched.filter(|request| request.action != BmcPowerAction::Status) {
        return Some(format!(
            "its machine is being switched already ({})",
            request.action
        ));
    }
    refused(bmc).map(|failure| format!("its last login was refused ({failure})"))
}

/// Requests the reboot of the machine's host, once for each request.
///
/// # Errors
/// The BMC cannot reboot it now.
pub(super) fn reboot_host(
    bmc: &mut Bmc,
    requested_at: Timestamp,
    limits: &BmcLimits,
    now: Timestamp,
) -> Result<Option<Vec<NewEvent>>, BmcRefused> {
    if bmc.power.reboot(requested_at).is_some() {
        return Ok(None);
    }
    if let Some(why) = reboot_obstacle(bmc, now) {
        return Err(BmcRefused::NotNow(format!("BMC {}: {why}", bmc.name)));
    }
    let (action, force) = (BmcPowerAction::Reset, true);
    note(bmc, (action, force), limits, now).reboot_of = Some(requested_at);
    Ok(Some(vec![events::power_asked(bmc, action, force, now)]))
}

/// True if the BMC has booted its machine's host into the discovery image, and can be used.
pub fn wakes(bmc: &Bmc) -> bool {
    let is_found =
        matches!(&bmc.stage, BmcStage::Discovered { host_id, .. } if Some(*host_id) == bmc.host_id);
    let is_clean = bmc.progress.leftover.as_ref().is_none_or(|left| left.in_use);
    is_found && is_clean && refused(bmc).is_none()
}

/// The reason why the BMC cannot put its machine's host to sleep, as the end of a sentence; `None`: it has booted this host into the
/// discovery image, which is the proof that it can switch it off and wake it again.
pub fn sleep_obstacle(bmc: &Bmc, host_id: HostId, now: Timestamp) -> Option<String> {
    match &bmc.stage {
        BmcStage::Discovered { host_id: found, .. } if *found == host_id => {}
        stage => {
            return Some(format!(
                "its BMC {} has not booted it into the discovery image ({}), so that it may not be able to wake it: muster bmc discover",
                bmc.name,
                stage.phase()
            ));
        }
    }
    if bmc.progress.leftover.as_ref().is_some_and(|left| !left.in_use) {
        return Some(format!(
            "its BMC {} has the image in its drive, or may have",
            bmc.name
        ));
    }
    reboot_obstacle(bmc, now)
}

/// Requests that the machine's host is switched off, once for each request.
///
/// # Errors
/// The BMC cannot do so now.
pub(super) fn put_to_sleep(
    bmc: &mut Bmc,
    host_id: HostId,
    requested_at: Timestamp,
    limits: &BmcLimits,
    now: Timestamp,
) -> Result<Option<Vec<NewEvent>>, BmcRefused> {
    if bmc.power.sleep(requested_at).is_some() {
        return Ok(None);
    }
    if let Some(why) = sleep_obstacle(bmc, host_id, now) {
        return Err(BmcRefused::NotNow(why));
    }
    let (action, force) = (BmcPowerAction::Off, false);
    note(bmc, (action, force), limits, now).sleep_of = Some(requested_at);
    Ok(Some(vec![events::power_asked(bmc, action, force, now)]))
}

/// The request for a boot from the disk of a host that waits for that since then.
fn for_disk(bmc: &Bmc, since: Timestamp) -> Option<&PowerRequest> {
    let request = bmc.power.request.as_ref();
    request.filter(|request| request.from_disk && request.asked_at >= since)
}

/// Requests a boot from the disk for a host that waits for it since `since`: once per wait, and after its medium was
/// ejected.
pub(super) fn boot_from_disk(
    bmc: &mut Bmc,
    since: Timestamp,
    limits: &BmcLimits,
    now: Timestamp,
) -> Option<Vec<NewEvent>> {
    let host_id = bmc.host_id?;
    let is_busy = bmc.stage.is_active() || bmc.cleans_up() || bmc.power.under_way(now).is_some();
    if is_busy || for_disk(bmc, since).is_some() || refused(bmc).is_some() {
        return None;
    }
    note(bmc, (BmcPowerAction::Reset, true), limits, now).from_disk = true;
    Some(vec![events::disk_for_host(bmc, host_id, now)])
}

/// The reason why the BMC does not boot the machine from its disk for a host that waits for that; `None`: it will, or
/// is doing so. `host`: as it waits since then.
pub fn disk_boot_failure(
    bmc: &Bmc,
    host: &Host,
    since: Timestamp,
    deadlines: &Deadlines<'_>,
    now: Timestamp,
) -> Option<String> {
    let Some(request) = for_disk(bmc, since) else {
        return refused(bmc).map(|failure| format!("its last login was refused ({failure})"));
    };
    let boot = deadlines.limits.of(HostStage::Rebooting);
    let is_over = |ended: Timestamp| host.data.registered_at > ended || now > deadlines.after(ended, boot);
    match (request.outcome, request.ended_at) {
        (BmcPowerOutcome::Failed, _) => Some(request.reason.clone()),
        (BmcPowerOutcome::Done, Some(ended)) if is_over(ended) => {
            Some("its machine was switched off and on again, and did not come up from its disk".to_owned())
        }
        _ => None,
    }
}

/// Records that work on the request began.
pub(super) fn begin(bmc: &mut Bmc, id: i64) -> Option<Vec<NewEvent>> {
    let request = pending(bmc, id)?;
    request.begun = true;
    request.reason = match request.action {
        BmcPowerAction::On => "The machine is being switched on",
        BmcPowerAction::Off => "The machine is being switched off",
        BmcPowerAction::Reset => "The machine is being switched off and on again",
        BmcPowerAction::Status => "The BMC is queried",
    }
    .to_owned();
    Some(Vec::new())
}

/// Records the outcome.
pub(super) fn end(bmc: &mut Bmc, done: PowerDone, now: Timestamp) -> Option<Vec<NewEvent>> {
    let PowerDone {
        id,
        state,
        certificate,
        problem,
    } = done;
    let request = pending(bmc, id)?;
    let (action, reported) = (request.action, state.as_deref().unwrap_or("unknown"));
    request.ended_at = Some(now);
    match &problem {
        None => {
            request.outcome = BmcPowerOutcome::Done;
            request.reason = format!("The machine is {reported}");
        }
        Some(problem) => {
            request.outcome = BmcPowerOutcome::Failed;
            request.reason = one_line(&problem.reason, LONGEST_QUOTE);
        }
    }
    if let Some(state) = state {
        bmc.power.seen = Some(PowerSeen { state, at: now });
    }
    let trusted = &mut bmc.settings.certificate;
    if trusted.mode == BmcCertificateMode::Pin && trusted.fingerprint.is_none() {
        trusted.fingerprint = certificate;
    }
    if let Some(problem) = problem.as_ref().filter(|problem| !may_ask(problem.failure)) {
        block(bmc, problem);
    }
    Some(match action {
        BmcPowerAction::Status => Vec::new(),
        _ => vec![events::power_ended(bmc, now)],
    })
}

/// Prevents further logins, also those that would eject a medium.
fn block(bmc: &mut Bmc, problem: &Problem) {
    bmc.power.refused = Some(problem.failure);
    if bmc.cleans_up()
        && let Some(left) = bmc.progress.leftover.as_mut().filter(|left| !left.in_use)
    {
        left.given_up = true;
        bmc.progress.due_at = None;
    }
}

fn pending(bmc: &mut Bmc, id: i64) -> Option<&mut PowerRequest> {
    let request = bmc.power.request.as_mut()?;
    let is_it = request.id == id && request.outcome == BmcPowerOutcome::Pending;
    is_it.then_some(request)
}
