//! Registers a machine in an InfraEnv, for the first time or again. Source: docs/protocol/host-lifecycle.md#3.1.
//!
//! Upstream agents hang forever on 401, 403, 404 and 409, and retry after any other status; so the classes of the
//! refusals here are the protocol's: `BadInput` (400), and `UserConflict` (409) only for a deleted cluster.

use std::sync::Arc;

use muster_api::fingerprint::Fingerprint;
use muster_api::host::{HostKind, HostRole, HostStage};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::ImageType;
use muster_api::time::Timestamp;

use super::install::not_booted;
use super::step::{RefusalClass, Refused, Rejection, Step};
use super::transition::{WAITS_FOR_INVENTORY, move_to};
use super::{events, sleep, wipe};
use crate::record::{Host, HostData, HostState, InfraEnv, InstalledAs, NodeAgent, Secret};
use crate::rules::facts::HostFacts;
use crate::text::one_line;

/// Longest agent version that is kept, bytes: image references are shorter.
const MAX_AGENT_VERSION: usize = 512;

/// The machine's identity as our agents report it; other agents report none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Distinguishes the machine from others of the same id.
    pub fingerprint: Option<Fingerprint>,
    /// Key with which the machine proves in later requests that it is the one that registered; empty: it has none.
    pub public_key: String,
}

/// The record of a host that registers for the first time. For one that is known already, see [`advance`](super::advance::advance).
/// `facts.cluster` is the cluster of the InfraEnv, if it has one.
///
/// Its checks are evaluated with its first report.
///
/// # Errors
/// `BadInput` when the InfraEnv's image is for machines that never register (`disconnected-iso`); `UserConflict` when
/// the InfraEnv's cluster does not exist.
pub fn register(
    id: HostId,
    infra_env_id: InfraEnvId,
    agent_version: &str,
    machine: Machine,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    let refused = |class, reason| Refused {
        class,
        status: None,
        event: "registration",
        reason,
    };
    check_open(facts, &machine.public_key).map_err(|reason| refused(RefusalClass::BadInput, reason))?;
    let cluster_id = facts.infra_env.cluster_id;
    if cluster_id.is_some() && facts.cluster.map(|facts| facts.cluster.id) != cluster_id {
        let reason = format!(
            "The InfraEnv {} belongs to a cluster that is gone; delete the InfraEnv and boot an image of another one",
            facts.infra_env.name
        );
        return Err(refused(RefusalClass::UserConflict, reason));
    }
    let mut data = HostData {
        status_info: WAITS_FOR_INVENTORY.into(),
        discovery_agent_version: one_line(agent_version, MAX_AGENT_VERSION),
        fingerprint: machine.fingerprint,
        public_key: machine.public_key,
        ..HostData::new(now)
    };
    if cluster_id.is_some() {
        data.kind = HostKind::AddToExistingClusterHost;
        data.role = HostRole::Worker;
        data.suggested_role = HostRole::Worker;
        data.machine_config_pool_name = HostRole::Worker.name().into();
    }
    let host = Host {
        id,
        infra_env_id,
        cluster_id,
        state: if cluster_id.is_some() {
            HostState::Discovering
        } else {
            HostState::DiscoveringUnbound
        },
        version: 0,
        due_at: Some(now + facts.limits.silence()),
        checked_in_at: now,
        inventory: None,
        reports: Arc::default(),
        bootstrap_ignition: Secret::default(),
        data,
    };
    let events = vec![events::host_registration_succeeded(&host, now)];
    Ok(Step {
        host,
        events,
        transition: None,
        changed: true,
        only_due_at: false,
    })
}

/// The refusal of a new host in an InfraEnv that has reached its limit. Existing hosts keep working.
pub fn full(infra_env: &InfraEnv, most: u32) -> Refused {
    Refused {
        class: RefusalClass::BadInput,
        status: None,
        event: "registration",
        reason: format!(
            "The InfraEnv {} has {most} hosts, and no more are taken (--max-hosts). Delete hosts that are gone, or raise the limit",
            infra_env.name
        ),
    }
}

/// A known host registers again.
pub(super) fn again(
    host: &mut Host,
    agent_version: &str,
    machine: (Option<&Fingerprint>, &str),
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Rejection> {
    let (fingerprint, public_key) = machine;
    check_open(facts, public_key).map_err(|reason| Rejection::plain(RefusalClass::BadInput, reason))?;
    match host.state {
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound
        | HostState::Unbinding
        | HostState::UnbindingPendingUserAction
        // The agent of the installed node never registers: a user booted the discovery image.
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => anew(host, HostState::DiscoveringUnbound, agent_version),
        HostState::Binding
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Disconnected
        | HostState::ResettingPendingUserAction => anew(host, HostState::Discovering, agent_version),
        HostState::InstallingInProgress | HostState::AddedToExistingCluster
            if should_boot_from_disk(host) =>
        {
            not_booted::booted_discovery(host);
        }
        HostState::Installing | HostState::InstallingInProgress => {
            let info = "The host restarted unexpectedly in the middle of its installation";
            move_to(host, HostState::Error, info);
        }
        // Nothing else is written: the logs can still be fetched.
        HostState::Error => {
            public_key.clone_into(&mut host.data.public_key);
            return Ok(());
        }
        // Its BMC has tried to boot it from its disk. This registration shows that the machine booted the discovery
        // image instead.
        HostState::InstallingPendingUserAction { .. } if host.data.bmc_boot.is_some() => {}
        HostState::InstallingPendingUserAction { .. } => {
            return Err(Rejection::bad_input(
                "it must boot from its disk; put that first in its boot order and reboot it",
            ));
        }
        HostState::AddedToExistingCluster => {
            return Err(Rejection::bad_input(
                "it is a node of its cluster; reset or unbind it first",
            ));
        }
        HostState::Cancelled => {
            return Err(Rejection::bad_input(
                "its installation was cancelled; reset or unbind it first",
            ));
        }
    }
    host.data.registered_at = now;
    public_key.clone_into(&mut host.data.public_key);
    if let Some(fingerprint) = fingerprint {
        host.data.fingerprint = Some(fingerprint.clone());
    }
    Ok(())
}

/// Deletes the reports of an earlier boot and keeps the users' choices.
fn anew(host: &mut Host, state: HostState, agent_version: &str) {
    // A node that is installed again keeps its name, whatever its network calls it now.
    let installed_as = host.data.pending_reinstall().and(host.data.installed_as.clone());
    wipe::session(host);
    sleep::is_awake(host);
    host.data.installed_as = installed_as.map(|kept| InstalledAs {
        calls_itself: String::new(),
        ..kept
    });
    move_to(host, state, WAITS_FOR_INVENTORY);
    host.data.node_agent = NodeAgent::Absent;
    host.data.kind = if host.cluster_id.is_some() {
        HostKind::AddToExistingClusterHost
    } else {
        HostKind::Host
    };
    host.data.discovery_agent_version = one_line(agent_version, MAX_AGENT_VERSION);
}

/// True after the instruction to reboot from the disk was sent.
fn should_boot_from_disk(host: &Host) -> bool {
    let progress = host.data.progress.as_ref();
    progress.is_some_and(|progress| matches!(progress.stage, HostStage::Rebooting | HostStage::Done))
}

fn check_open(facts: &HostFacts<'_>, public_key: &str) -> Result<(), String> {
    if facts.infra_env.settings.require_host_keys && public_key.is_empty() {
        return Err(format!(
            "The InfraEnv {} takes only machines that prove who they are (require_host_keys); boot its Muster image",
            facts.infra_env.name
        ));
    }
    match facts.infra_env.settings.image_type {
        ImageType::FullIso | ImageType::MinimalIso => Ok(()),
        ImageType::DisconnectedIso => Err(format!(
            "The InfraEnv {} makes images for disconnected installation, whose hosts do not register; boot an image of an InfraEnv of type full-iso or minimal-iso",
            facts.infra_env.name
        )),
    }
}
