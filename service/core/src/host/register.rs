//! A machine appears in a pool, for the first time or again. Source: host-lifecycle.md §3.1.

use muster_api::host::HostKind;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::ImageType;
use muster_api::time::Timestamp;

use super::facts::{HostFacts, SILENCE_LIMIT};
use super::refresh::WAITS_FOR_INVENTORY;
use super::step::{RefusalClass, Refused, Step};
use super::{Host, HostData, HostReports, HostState, news};
use crate::text::one_line;

/// Longest agent version that is kept, bytes: image references are shorter.
const MAX_AGENT_VERSION: usize = 512;

/// The record of a host that registers for the first time. For one that is known already, see [`advance`](super::advance::advance).
///
/// Its checks are made with its first report: until then there is nothing to say but that it is waited for.
///
/// # Errors
/// `BadInput` when the InfraEnv's image is for machines that never register (`disconnected-iso`).
pub fn register(
    id: HostId,
    infra_env_id: InfraEnvId,
    agent_version: &str,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<Step, Refused> {
    check_open(facts, None)?;
    let host = Host {
        id,
        infra_env_id,
        cluster_id: None,
        state: HostState::DiscoveringUnbound,
        version: 0,
        due_at: Some(now + SILENCE_LIMIT),
        checked_in_at: now,
        inventory: None,
        reports: HostReports::default(),
        data: HostData {
            status_info: WAITS_FOR_INVENTORY.into(),
            discovery_agent_version: one_line(agent_version, MAX_AGENT_VERSION),
            ..HostData::new(now)
        },
    };
    let events = vec![news::host_registration_succeeded(&host, now)];
    Ok(Step {
        host,
        events,
        transition: None,
        changed: true,
        only_due_at: false,
    })
}

/// A known host registers again: what an earlier boot told is forgotten, what users chose stays.
pub(super) fn again(
    host: &mut Host,
    agent_version: &str,
    facts: &HostFacts<'_>,
    now: Timestamp,
) -> Result<(), Refused> {
    check_open(facts, Some(host))?;
    host.state = match host.state {
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DisconnectedUnbound => HostState::DiscoveringUnbound,
    };
    host.inventory = None;
    let data = &mut host.data;
    data.kind = HostKind::Host;
    data.status_info = WAITS_FOR_INVENTORY.into();
    data.registered_at = now;
    data.discovery_agent_version = one_line(agent_version, MAX_AGENT_VERSION);
    data.ntp_sources = None;
    data.agent_disk_reasons = Vec::new();
    // A new session reads the medium anew.
    data.media_status = None;
    Ok(())
}

fn check_open(facts: &HostFacts<'_>, host: Option<&Host>) -> Result<(), Refused> {
    match facts.infra_env.settings.image_type {
        ImageType::FullIso | ImageType::MinimalIso => Ok(()),
        ImageType::DisconnectedIso => Err(Refused {
            class: RefusalClass::BadInput,
            status: host.map(|host| host.state.status()),
            event: "registration",
            reason: format!(
                "The InfraEnv {} makes images for disconnected installation, whose hosts do not register; boot an image of an InfraEnv of type full-iso or minimal-iso",
                facts.infra_env.id
            ),
        }),
    }
}
