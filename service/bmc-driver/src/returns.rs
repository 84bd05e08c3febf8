//! Hosts that wait for somebody to boot them into the discovery image, or from their disk: their BMC does it
//! (docs/protocol/host-lifecycle.md#8).
//!
//! Who waits is read from the database again and again, so that neither a restart nor another replica forgets it. A host that may come
//! back by itself is given its time first, and one that came back is left alone.

use muster_api::host::HostStage;
use muster_core::lifecycle::bmc::{BmcEvent, disk_boot_failure};
use muster_core::lifecycle::host::{AWAITING_BOOT, AwaitedSystem, HostEvent, awaited_boot};
use muster_core::record::{Bmc, BmcBoots, BmcStage, Host};
use muster_operations::{Result, chain, now};

use crate::context::Context;

/// Looks at each host with a BMC that waits for a boot, or that the BMC works for.
pub(crate) async fn sweep(context: &Context) {
    let listed = context
        .operations
        .store
        .list_bmcs_of_hosts_in(&AWAITING_BOOT)
        .await;
    let bmcs = match listed {
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
    let Some(awaited) = awaited_boot(&host, context.operations.hosts.limits()) else {
        return Ok(());
    };
    if now() < awaited.from {
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
        AwaitedSystem::Disk => {
            let boot = context.operations.hosts.limits().of(HostStage::Rebooting);
            disk_boot_failure(bmc, &host, since, boot, now())
        }
    };
    tell(context, &host, bmc, failure).await
}

/// Says on the host what its BMC does about it.
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
        // One that is found moves on with its next report.
        BmcStage::Waiting
        | BmcStage::Checking
        | BmcStage::Inserting
        | BmcStage::Booting
        | BmcStage::WaitingForAgent
        | BmcStage::Discovered { .. } => None,
    }
}

/// True when the run was begun for a host that waits for it no longer: its machine must not be switched off.
///
/// # Errors
/// Those of the database.
pub(crate) async fn is_back(context: &Context, bmc: &Bmc) -> Result<bool> {
    Ok(bmc.progress.for_host && !awaits(context, bmc, AwaitedSystem::DiscoveryImage).await?)
}

/// True while the machine's host waits for a boot of that system.
///
/// # Errors
/// Those of the database.
pub(crate) async fn awaits(context: &Context, bmc: &Bmc, system: AwaitedSystem) -> Result<bool> {
    let host = host_of(context, bmc).await?;
    let awaited = host.and_then(|host| awaited_boot(&host, context.operations.hosts.limits()));
    Ok(awaited.is_some_and(|awaited| awaited.system == system))
}

async fn host_of(context: &Context, bmc: &Bmc) -> Result<Option<Host>> {
    match bmc.host_id {
        Some(host_id) => Ok(context.operations.hosts.find(bmc.infra_env_id, host_id).await?),
        None => Ok(None),
    }
}
