//! Finds the host of a machine behind a BMC.

use std::collections::BTreeSet;

use muster_api::bmc::{BmcBoot, BmcInventory};
use muster_api::host::{HostStatus, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_bmc::matching::{self, Verdict};
use muster_core::lifecycle::bmc::{self as lifecycle, BmcEvent};
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Bmc, BmcStage, Host};
use muster_core::rules::hostname;
use muster_core::rules::stages::boots_from_disk;
use muster_operations::images::cache::ImageForm;
use muster_operations::images::discovery::DiscoveryImage;
use muster_operations::records::HostForm;
use muster_operations::{OperationError, Result};

use crate::context::Context;
use crate::differences::{compare, differences};
use crate::judge::{Judged, judge, without_a_boot};

/// Most hosts in memory at a time.
const AT_ONCE: usize = 100;

/// Most MAC addresses of a BMC in one search.
const MOST_MACS: usize = 16;

/// Checks whether changed hosts are machines that wait for their agent, or need their medium no longer.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn look_at(context: &Context, infra_env_id: InfraEnvId, ids: &[HostId]) -> Result<()> {
    let operations = &context.operations;
    let bmcs = operations.bmcs.awaiting_hosts(infra_env_id).await?;
    let bmcs: Vec<Bmc> = bmcs.into_iter().filter(awaits_a_host).collect();
    if bmcs.is_empty() {
        return Ok(());
    }
    for chunk in ids.chunks(AT_ONCE) {
        let keys: Vec<_> = chunk.iter().map(|id| (infra_env_id, *id)).collect();
        let listed = operations.hosts.read(&keys, HostForm::Whole).await?;
        for bmc in &bmcs {
            let event = match &bmc.stage {
                BmcStage::Discovered { host_id, .. } if chunk.contains(host_id) => {
                    let host = listed.iter().find(|host| host.id == *host_id);
                    host.is_none_or(needs_no_medium).then_some(BmcEvent::MediumFree)
                }
                BmcStage::WaitingForAgent => found(context, bmc, listed.iter()).await?,
                _ => None,
            };
            if let Some(event) = event {
                operations.bmcs.apply(bmc.id, Some(bmc.run), event).await?;
            }
        }
    }
    Ok(())
}

fn awaits_a_host(bmc: &Bmc) -> bool {
    match &bmc.stage {
        BmcStage::WaitingForAgent => true,
        BmcStage::Discovered { .. } => bmc.progress.leftover.as_ref().is_some_and(|left| left.in_use),
        _ => false,
    }
}

/// The event of a BMC that waits for its agent.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn look(context: &Context, bmc: &Bmc) -> Result<BmcEvent> {
    let hosts = candidates(context, bmc.infra_env_id, Among::Own, bmc.inventory.as_ref()).await?;
    let event = found(context, bmc, hosts.iter()).await?;
    Ok(event.unwrap_or(BmcEvent::Looked { note: String::new() }))
}

/// The event of a BMC with a host that runs from the medium.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn look_after(context: &Context, bmc: &Bmc, host_id: HostId) -> Result<BmcEvent> {
    let found = context.operations.hosts.find(bmc.infra_env_id, host_id).await?;
    Ok(match found {
        Some(host) if !needs_no_medium(&host) => BmcEvent::Looked { note: String::new() },
        _ => BmcEvent::MediumFree,
    })
}

fn needs_no_medium(host: &Host) -> bool {
    boots_from_disk(&host.state, &host.data)
}

/// A host that must not be switched off: it is installed, or being installed, in any InfraEnv.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn in_use(
    context: &Context,
    infra_env_id: InfraEnvId,
    told: &BmcInventory,
) -> Result<Option<Host>> {
    let mut hosts = candidates(context, infra_env_id, Among::All, Some(told)).await?;
    // Hosts of its own InfraEnv first.
    hosts.sort_by_key(|host| host.infra_env_id != infra_env_id);
    let same = hosts
        .into_iter()
        .filter(|host| compare(told, host).verdict == Verdict::Same);
    Ok(same.into_iter().find(is_in_use))
}

/// The reason why a machine that is being installed must not be switched.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn installation(context: &Context, bmc: &Bmc) -> Result<Option<String>> {
    let found = match bmc.host_id {
        Some(host_id) => context.operations.hosts.find(bmc.infra_env_id, host_id).await?,
        None => None,
    };
    if let Some(why) = found.as_ref().and_then(lifecycle::installation) {
        return Ok(Some(why));
    }
    let Some(told) = &bmc.inventory else {
        return Ok(None);
    };
    let hosts = candidates(context, bmc.infra_env_id, Among::Own, Some(told)).await?;
    let mut same = hosts
        .iter()
        .filter(|host| compare(told, host).verdict == Verdict::Same);
    Ok(same.find_map(lifecycle::installation))
}

fn is_in_use(host: &Host) -> bool {
    match host.state.status() {
        HostStatus::Installed
        | HostStatus::AddedToExistingCluster
        | HostStatus::PreparingForInstallation
        | HostStatus::PreparingSuccessful
        | HostStatus::Installing
        | HostStatus::InstallingInProgress
        | HostStatus::InstallingPendingUserAction => true,
        _ => boots_from_disk(&host.state, &host.data),
    }
}

/// The hosts in which a machine is searched by its network cards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// Hosts of the BMC's InfraEnv.
    Own,
    /// Hosts of all InfraEnvs.
    All,
}

/// Hosts that have a network card of the machine; if its BMC reports no cards, all hosts of its InfraEnv.
async fn candidates(
    context: &Context,
    infra_env_id: InfraEnvId,
    among: Among,
    told: Option<&BmcInventory>,
) -> Result<Vec<Host>> {
    let hosts = &context.operations.hosts;
    let nics = told.iter().flat_map(|told| &told.nics);
    let macs = nics.flat_map(|nic| std::iter::once(&nic.mac).chain(&nic.permanent_mac));
    let macs: BTreeSet<String> = macs
        .filter_map(|mac| matching::mac(mac))
        .take(MOST_MACS)
        .collect();
    let mut keys = BTreeSet::new();
    for mac in &macs {
        let of = (among == Among::Own).then_some(infra_env_id);
        let found = hosts.of_mac(of, mac).await?;
        keys.extend(found.iter().map(|host| (host.infra_env_id, host.id)));
    }
    if macs.is_empty() {
        keys.extend(hosts.keys(infra_env_id).await?);
    }
    let keys: Vec<_> = keys.into_iter().collect();
    let mut found = Vec::new();
    for chunk in keys.chunks(AT_ONCE) {
        found.extend(hosts.read(chunk, HostForm::Whole).await?);
    }
    Ok(found)
}

/// Finds the machine that a BMC has booted among hosts, or a host that may be it; `None`: neither.
async fn found(context: &Context, bmc: &Bmc, hosts: impl Iterator<Item = &Host>) -> Result<Option<BmcEvent>> {
    let Some(told) = &bmc.inventory else {
        return Ok(None);
    };
    // A host that registered earlier was another boot.
    let booted = bmc.progress.booted_at.unwrap_or(bmc.created_at);
    let hosts = hosts.filter(|host| host.inventory.is_some() && host.data.registered_at >= booted);
    let mut note = None;
    for host in hosts {
        let matching = compare(told, host);
        let judged = match judge(bmc, host, &matching) {
            Judged::Unnamed => without_a_boot(bmc, host, &matching, image_names_bmc(context, bmc).await?),
            judged => judged,
        };
        match judged {
            Judged::IsIt => {
                name_after(context, bmc, host).await?;
                return Ok(Some(BmcEvent::AgentSeen {
                    host_id: host.id,
                    differences: differences(told, host, &matching),
                    runs_from_medium: runs_from_medium(context, bmc).await?,
                }));
            }
            Judged::Noteworthy(seen) => note = Some(seen),
            Judged::Another | Judged::Unnamed => {}
        }
    }
    Ok(note.map(|note| BmcEvent::Looked { note }))
}

/// Gives a host the name of its BMC, if a user named the BMC and not the host.
///
/// # Errors
/// Fails if the database does.
async fn name_after(context: &Context, bmc: &Bmc, host: &Host) -> Result<()> {
    // A BMC without a name has its address as name.
    let is_address = bmc.settings.address.ends_with(&bmc.name);
    if is_address || hostname::check(&bmc.name).is_err() || hostname::is_given(host) {
        return Ok(());
    }
    let named = HostEvent::Edited(HostUpdateParams {
        host_name: Some(bmc.name.clone()),
        ..HostUpdateParams::default()
    });
    let hosts = &context.operations.hosts;
    match hosts.apply(bmc.infra_env_id, host.id, named).await {
        Ok(_) => Ok(()),
        // It is in another state meanwhile, or deleted.
        Err(OperationError::Refused(_)) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        Err(error) => Err(error),
    }
}

/// True when the image that the BMC was given names the BMC. True also for an image that cannot be made (any more), because it should.
async fn image_names_bmc(context: &Context, bmc: &Bmc) -> Result<bool> {
    let operations = &context.operations;
    let Some(infra_env) = operations.infra_envs.find(bmc.infra_env_id).await? else {
        return Ok(true);
    };
    let named = operations.medium_names_bmc(&infra_env, bmc.id).await;
    Ok(named.unwrap_or(true))
}

/// True when ejecting would stop the live system: a full CoreOS image reads its root from the medium, all others run in memory.
async fn runs_from_medium(context: &Context, bmc: &Bmc) -> Result<bool> {
    if bmc.settings.boot != BmcBoot::VirtualMedia {
        return Ok(false);
    }
    let operations = &context.operations;
    let Some(infra_env) = operations.infra_envs.find(bmc.infra_env_id).await? else {
        return Ok(false);
    };
    if ImageForm::iso_of(&infra_env) == ImageForm::MinimalIso {
        return Ok(false);
    }
    let image = operations.discovery.of(&infra_env).await;
    Ok(!matches!(image, Ok(DiscoveryImage::Muster(_))))
}
