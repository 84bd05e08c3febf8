//! Boots waiting hosts by their BMC: into the discovery image, or from their disk (docs/protocol/host-lifecycle.md#8).
//!
//! The waiting hosts are read from the database at every interval, so that neither a restart nor another replica loses one. A host that may
//! come back without help first gets the time for it, and one that came back is not touched.

use muster_api::bmc::BmcPowerOutcome;
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{BmcEvent, disk_boot_failure};
use muster_core::lifecycle::host::{AWAITING_BOOT, AwaitedSystem, HostEvent, awaited_boot};
use muster_core::record::{Bmc, BmcBoots, BmcStage, Host, HostState, RebootWay, SleepStage};
use muster_operations::{Result, chain, now};

use crate::context::Context;

/// Checks each host with a BMC that waits for a boot, or that the BMC is booting.
pub(crate) async fn sweep(context: &Context) {
    let bmcs = match context.operations.bmcs.of_hosts_in(&AWAITING_BOOT).await {
        Ok(bmcs) => bmcs,
        Err(error) => {
            tracing::warn!(
                error = chain(&error),
                "hosts that wait for a boot could not be read; trying again"
            );
            return;
        }
    };
    for bmc in bmcs {
        if let Err(error) = look(context, &bmc).await {
            tracing::debug!(bmc.id = %bmc.id, error = chain(&error), "the host of a BMC was not looked at; trying again");
        }
    }
}

async fn look(context: &Context, bmc: &Bmc) -> Result<()> {
    let Some(host) = host_of(context, bmc).await? else {
        return Ok(());
    };
    let deadlines = context.operations.hosts.deadlines(&host);
    let Some(awaited) = awaited_boot(&host, &deadlines) else {
        return Ok(());
    };
    if now() < awaited.from {
        return Ok(());
    }
    if awaited.system == AwaitedSystem::Disk && !booted_medium(bmc, &host) {
        return Ok(());
    }
    let since = awaited.since;
    let event = match awaited.system {
        AwaitedSystem::DiscoveryImage => BmcEvent::HostWaits { since },
        AwaitedSystem::Disk => BmcEvent::HostAwaitsDisk { since },
    };
    let begun = context
        .operations
        .bmcs
        .apply(bmc.id, Some(bmc.run), event)
        .await?;
    let bmc = begun.as_ref().unwrap_or(bmc);
    let failure = match awaited.system {
        AwaitedSystem::DiscoveryImage => failure(bmc),
        AwaitedSystem::Disk => disk_boot_failure(bmc, &host, since, &deadlines, now()),
    };
    tell(context, &host, bmc, failure).await
}

/// True when the BMC's own image was read since the host was to boot from its disk. Otherwise only a registration shows that the host came
/// up from the discovery image, and any holder of the image's token can send one: a node is not switched off for that.
fn booted_medium(bmc: &Bmc, host: &Host) -> bool {
    let since = host
        .data
        .progress
        .as_ref()
        .map(|progress| progress.stage_started_at);
    since.is_some_and(|since| bmc.image.last_at.is_some_and(|read| read >= since))
}

/// Reports on the host what its BMC does.
async fn tell(context: &Context, host: &Host, bmc: &Bmc, failure: Option<String>) -> Result<()> {
    let boots = BmcBoots {
        bmc: bmc.name.clone(),
        failure,
    };
    if host.data.bmc_boot.as_ref() == Some(&boots) {
        return Ok(());
    }
    let event = HostEvent::BmcTold(boots);
    match context
        .operations
        .hosts
        .apply(host.infra_env_id, host.id, event)
        .await
    {
        Err(error) if !error.is_missing() => Err(error),
        _ => Ok(()),
    }
}

fn failure(bmc: &Bmc) -> Option<String> {
    match &bmc.stage {
        BmcStage::Failed { .. } | BmcStage::Stopped => Some(bmc.progress.reason.clone()),
        // A host that is found continues with its next report.
        BmcStage::Waiting
        | BmcStage::Checking
        | BmcStage::Inserting
        | BmcStage::Booting
        | BmcStage::WaitingForAgent
        | BmcStage::Discovered { .. } => None,
    }
}

/// True when the run was begun for a host that no longer waits for it: its machine must not be switched off.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn is_back(context: &Context, bmc: &Bmc) -> Result<bool> {
    Ok(bmc.progress.for_host && !awaits(context, bmc, AwaitedSystem::DiscoveryImage).await?)
}

/// True while the machine's host waits for a boot of that system.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn awaits(context: &Context, bmc: &Bmc, system: AwaitedSystem) -> Result<bool> {
    let Some(host) = host_of(context, bmc).await? else {
        return Ok(false);
    };
    let awaited = awaited_boot(&host, &context.operations.hosts.deadlines(&host));
    Ok(awaited.is_some_and(|awaited| awaited.system == system))
}

/// True while the machine's host is to be rebooted by its BMC, as was requested at that time.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn awaits_reboot(context: &Context, bmc: &Bmc, requested_at: Timestamp) -> Result<bool> {
    let host = host_of(context, bmc).await?;
    let pending = host.as_ref().and_then(|host| host.data.pending_reboot());
    Ok(pending.is_some_and(|asked| {
        asked.requested_at == requested_at && asked.way == Some(RebootWay::Bmc(bmc.name.clone()))
    }))
}

/// True while the machine's host is to be switched off by its BMC, as was requested at that time: no cluster has it.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn awaits_sleep(context: &Context, bmc: &Bmc, requested_at: Timestamp) -> Result<bool> {
    let host = host_of(context, bmc).await?;
    let host = host.filter(|host| host.state == HostState::KnownUnbound && host.cluster_id.is_none());
    let sleep = host.and_then(|host| host.data.sleep);
    Ok(sleep.is_some_and(|sleep| sleep.asked_at == requested_at && sleep.stage == SleepStage::Falling))
}

/// Reports on the host that the request for its reboot has ended. A report that is lost is made up for by the controller of its Agent.
pub(crate) async fn tell_of_reboot(context: &Context, bmc: &Bmc) {
    let Some((host_id, event)) = end_of_reboot(bmc) else {
        return;
    };
    let told = context
        .operations
        .hosts
        .apply(bmc.infra_env_id, host_id, event)
        .await;
    if let Err(error) = told {
        tracing::debug!(bmc.id = %bmc.id, error = chain(&error), "the end of a reboot was not noted on the host");
    }
}

fn end_of_reboot(bmc: &Bmc) -> Option<(HostId, HostEvent)> {
    let request = bmc.power.request.as_ref()?;
    let failure = match request.outcome {
        BmcPowerOutcome::Pending => return None,
        BmcPowerOutcome::Done => None,
        BmcPowerOutcome::Failed => Some(request.reason.clone()),
    };
    let event = HostEvent::RebootedByBmc {
        requested_at: request.reboot_of?,
        failure,
    };
    Some((bmc.host_id?, event))
}

async fn host_of(context: &Context, bmc: &Bmc) -> Result<Option<Host>> {
    match bmc.host_id {
        Some(host_id) => Ok(context.operations.hosts.find(bmc.infra_env_id, host_id).await?),
        None => Ok(None),
    }
}
