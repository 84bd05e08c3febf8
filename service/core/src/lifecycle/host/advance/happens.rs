//! Changes the record as an event requires it: one function a subject.

use muster_api::time::Timestamp;

use crate::lifecycle::host::edit::{approval, overrides};
use crate::lifecycle::host::event::HostEvent;
use crate::lifecycle::host::install::{progress, reinstall};
use crate::lifecycle::host::refresh::refresh;
use crate::lifecycle::host::reports::logs;
use crate::lifecycle::host::step::Rejection;
use crate::lifecycle::host::{
    bind, bmc_boot, cleaning, edit, events, failures, install, media, reboot, register, reports, sleep,
};
use crate::record::{Host, NewEvent};
use crate::rules::facts::HostFacts;
use crate::rules::identity;

/// Passes the event on to its subject. In the function of a subject, events of others change nothing.
pub(super) fn happens(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    match event {
        HostEvent::Registered { .. }
        | HostEvent::CheckedIn
        | HostEvent::DeadlinePassed
        | HostEvent::FactsChanged
        | HostEvent::PeersChanged
        | HostEvent::MediaLost
        | HostEvent::MediaBack => presence(next, event, facts, now),
        HostEvent::InventoryReported(_)
        | HostEvent::HealthReported(_)
        | HostEvent::NtpReported(_)
        | HostEvent::ConnectivityReported(_)
        | HostEvent::FreeAddressesReported(_)
        | HostEvent::DomainsReported(_)
        | HostEvent::ApiVipReported(_)
        | HostEvent::TangReported(_)
        | HostEvent::DiskSpeedReported { .. }
        | HostEvent::ImagesReported(_)
        | HostEvent::VipsVerified(_)
        | HostEvent::UpgradeReported(_) => reports::reported(next, event, facts, now, events),
        HostEvent::Bound { .. }
        | HostEvent::Unbound
        | HostEvent::Reclaimed
        | HostEvent::BootArtifactsDownloaded
        | HostEvent::BootArtifactsFailed
        | HostEvent::ReinstallAsked(_) => membership(next, event, facts, now),
        HostEvent::InstallRequested
        | HostEvent::Progressed { .. }
        | HostEvent::InstallationFailed { .. }
        | HostEvent::Cancelled { .. }
        | HostEvent::ResetRequested => installation(next, event, facts, now, events),
        HostEvent::LogsProgressed { .. }
        | HostEvent::LogsUploaded
        | HostEvent::AskedLogsUploaded
        | HostEvent::LogsNotSent { .. }
        | HostEvent::LogsAsked => logs_of_host(next, event, facts, now, events),
        HostEvent::RebootAsked(_)
        | HostEvent::RebootWithdrawn
        | HostEvent::RebootReported { .. }
        | HostEvent::RebootedByBmc { .. }
        | HostEvent::BmcTold(_)
        | HostEvent::Sleep(_) => power(next, event, facts, now),
        HostEvent::Edited(_)
        | HostEvent::InstallerArgsSet(_)
        | HostEvent::IgnitionOverrideSet(_)
        | HostEvent::BootstrapIgnitionSet(_)
        | HostEvent::ImageRequested(_)
        | HostEvent::Approved(_)
        | HostEvent::ValidationReset(_) => edits(next, event, facts, now, events),
        HostEvent::ErasureReported(_)
        | HostEvent::ErasureRefused { .. }
        | HostEvent::ErasureRetried
        | HostEvent::ErasureSkipped => erasure(next, event, facts, now),
        HostEvent::StepFailed { .. }
        | HostEvent::NodeFailed { .. }
        | HostEvent::FailuresForgotten
        | HostEvent::IdClaimed(_)
        | HostEvent::IdentitySettled { .. } => {
            troubles(next, event, now, events);
            Ok(())
        }
    }
}

/// Registrations and polls, their absence, and the boot medium.
fn presence(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    match event {
        HostEvent::Registered {
            agent_version,
            fingerprint,
            public_key,
        } => {
            let machine = (fingerprint.as_ref(), public_key.as_str());
            return register::again(next, agent_version, machine, facts, now);
        }
        HostEvent::CheckedIn
        | HostEvent::DeadlinePassed
        | HostEvent::FactsChanged
        | HostEvent::PeersChanged => refresh(next, facts, now),
        HostEvent::MediaLost => media::lost(next, facts, now),
        HostEvent::MediaBack => {
            let was_lost = media::back(next);
            if was_lost {
                refresh(next, facts, now);
            }
        }
        _ => {}
    }
    Ok(())
}

/// The cluster that the host is bound to, its way back from there, and an installation again in it.
fn membership(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    match event {
        HostEvent::Bound { cluster_id } => {
            bind::bound(next, *cluster_id, facts)?;
            sleep::claimed(next, facts, now);
        }
        HostEvent::Unbound => bind::unbound(next, false, facts)?,
        HostEvent::Reclaimed => bind::unbound(next, true, facts)?,
        HostEvent::BootArtifactsDownloaded => {
            media::back(next);
            if !reinstall::downloaded(next, now) {
                bind::downloaded(next)?;
            }
        }
        HostEvent::BootArtifactsFailed => {
            let is_taken = reinstall::not_downloaded(next, now);
            if !is_taken {
                bind::not_downloaded(next)?;
            }
        }
        HostEvent::ReinstallAsked(request) => reinstall::asked(next, request, facts, now),
        _ => {}
    }
    Ok(())
}

fn installation(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    match event {
        HostEvent::InstallRequested => install::requested(next, facts, now, events),
        HostEvent::Progressed { stage, info } => {
            progress::progressed(next, (*stage, info), facts, now, events)?;
            refresh(next, facts, now);
            Ok(())
        }
        HostEvent::InstallationFailed { reason } => install::failed(next, reason),
        HostEvent::Cancelled { reason } => install::cancelled(next, reason, now, events),
        HostEvent::ResetRequested => install::reset(next, now, events),
        _ => Ok(()),
    }
}

fn logs_of_host(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    match event {
        HostEvent::LogsProgressed { state } => logs::progressed(next, *state, now),
        HostEvent::LogsUploaded => logs::uploaded(next, now, events),
        HostEvent::AskedLogsUploaded => logs::asked_ones_came(next, now, events),
        HostEvent::LogsNotSent { reason } => logs::not_sent(next, reason),
        HostEvent::LogsAsked => logs::asked(next, facts, now)?,
        _ => {}
    }
    Ok(())
}

/// Reboots, boots by the BMC, and sleep.
fn power(next: &mut Host, event: &HostEvent, facts: &HostFacts<'_>, now: Timestamp) -> Result<(), Rejection> {
    match event {
        HostEvent::RebootAsked(_)
        | HostEvent::RebootWithdrawn
        | HostEvent::RebootReported { .. }
        | HostEvent::RebootedByBmc { .. } => reboot::happened(next, event, facts, now),
        HostEvent::BmcTold(boots) => bmc_boot::told(next, boots),
        HostEvent::Sleep(of_sleep) => {
            sleep::happened(next, of_sleep, facts, now)?;
            refresh(next, facts, now);
        }
        _ => {}
    }
    Ok(())
}

/// Settings by users and controllers.
fn edits(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Rejection> {
    match event {
        HostEvent::InstallerArgsSet(args) => {
            return overrides::set_installer_args(next, args, now, events);
        }
        HostEvent::IgnitionOverrideSet(ignition) => {
            return overrides::set_ignition(next, ignition, facts, now, events);
        }
        HostEvent::Approved(approved) => return approval::set(next, *approved, facts, now, events),
        HostEvent::Edited(params) => edit::apply(next, params, facts, now, events)?,
        HostEvent::BootstrapIgnitionSet(ignition) => overrides::set_bootstrap(next, ignition, facts)?,
        HostEvent::ImageRequested(wish) => overrides::request_image(next, wish)?,
        HostEvent::ValidationReset(id) => overrides::reset_validation(next, id)?,
        _ => return Ok(()),
    }
    refresh(next, facts, now);
    Ok(())
}

fn erasure(
    next: &mut Host,
    event: &HostEvent,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    match event {
        HostEvent::ErasureReported(response) => {
            media::back(next);
            cleaning::reported(next, response, now);
        }
        HostEvent::ErasureRefused { reason } => cleaning::refused(next, reason),
        HostEvent::ErasureRetried => cleaning::retried(next, facts, now)?,
        HostEvent::ErasureSkipped => cleaning::skipped(next, now)?,
        _ => return Ok(()),
    }
    refresh(next, facts, now);
    Ok(())
}

/// Failures of steps and nodes, and other machines with the host's id.
fn troubles(next: &mut Host, event: &HostEvent, now: Timestamp, events: &mut Vec<NewEvent>) {
    match event {
        HostEvent::StepFailed { exit_code, reason } => {
            events.push(events::muster_step_failed(next, *exit_code, reason, now));
        }
        HostEvent::NodeFailed { reason } => failures::node_failed(next, reason, now),
        HostEvent::FailuresForgotten => failures::forget(next),
        HostEvent::IdClaimed(finding) => identity::note(next, finding.clone()),
        HostEvent::IdentitySettled { other } => identity::settle(next, *other),
        _ => {}
    }
}
