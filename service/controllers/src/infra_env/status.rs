//! Computes the status of an InfraEnv. Source: docs/protocol/kube-controllers.md#1.

use std::collections::BTreeMap;

use kube::runtime::events::EventType;
use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus};
use muster_controller::health::Sign;
use muster_resources::{BootArtifacts, Condition, InfraEnvDebugInfo, InfraEnvStatus, LabelSelector, names};
use strum::{EnumString, IntoStaticStr};

use super::links::Links;
use super::static_network::Networks;

/// Most names in one message; of further ones it has the number.
const NAMED: usize = 10;

/// Types of conditions. All but `ImageCreated` are Muster's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    ImageCreated,
    /// True when hosts get the network configuration of the NMStateConfigs. Absent when no NMStateConfig matches.
    StaticNetworkApplied,
    /// True when hosts use the mirror registry. Absent when the spec refers to none.
    MirrorRegistryApplied,
    /// False when the API server refuses Agents of hosts. Absent when no Agent is refused.
    AgentsCreated,
    /// The reason why a deletion waits. Absent if no deletion waits.
    DeletionBlocked,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    InfraEnvAvailable,
    ImageCreationError,
    MissingClusterDeployment,
    NotSupportedByImage,
    InvalidNMStateConfig,
    NMStateConfigsInImage,
    InvalidMirrorRegistry,
    AgentsRefused,
    HostsInUse,
    MediaInserted,
}

/// A mirror registry without effect is a notice, not a failure.
pub const SIGNS: [Sign; 4] = [
    Sign::stalled("ImageCreated", "False", &[]),
    Sign::stalled("StaticNetworkApplied", "False", &[]),
    Sign::reconciling("ImageCreated", "Unknown", &[]),
    Sign::reconciling("AgentsCreated", "False", &[]),
];

impl ConditionReason for Reason {
    fn event_type(self, _is_new: bool) -> Option<EventType> {
        Some(match self {
            Self::InfraEnvAvailable | Self::NMStateConfigsInImage | Self::MediaInserted => EventType::Normal,
            Self::ImageCreationError
            | Self::MissingClusterDeployment
            | Self::NotSupportedByImage
            | Self::InvalidNMStateConfig
            | Self::InvalidMirrorRegistry
            | Self::AgentsRefused
            | Self::HostsInUse => EventType::Warning,
        })
    }

    fn is_correction(self) -> bool {
        match self {
            Self::ImageCreationError
            | Self::MissingClusterDeployment
            | Self::InvalidNMStateConfig
            | Self::AgentsRefused
            | Self::InvalidMirrorRegistry => true,
            Self::InfraEnvAvailable
            | Self::NMStateConfigsInImage
            | Self::NotSupportedByImage
            | Self::HostsInUse
            | Self::MediaInserted => false,
        }
    }
}

muster_controller::has_conditions!(InfraEnvStatus, Condition, Reason);

type DesiredCondition = conditions::DesiredCondition<Type, Reason>;

/// The result of reconciling an InfraEnv.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The image is available.
    Available(Available<'a>),
    /// The image is not available, for a reason that a user can correct. `events`: address of its events, if the
    /// database has the InfraEnv.
    Unusable { why: String, events: Option<String> },
    /// `spec.clusterRef` cannot be resolved.
    MissingCluster(String),
    /// The InfraEnv is being deleted, and these hosts prevent that.
    Blocked(&'a [(HostId, HostStatus)]),
    /// The InfraEnv is being deleted, and its image is being taken out of these BMCs.
    Ejecting(&'a [String]),
}

/// An image that can be downloaded.
#[derive(Debug)]
pub struct Available<'a> {
    /// Addresses of the image.
    pub links: &'a Links,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// True if an Ignition override is stored that the image does not apply.
    pub ignition_override_unapplied: bool,
    /// The reason why machines that boot the image do not become hosts, when there is no agent for them.
    pub no_agent: Option<String>,
    /// The NMStateConfigs that match.
    pub networks: &'a Networks,
    /// `None`: the spec refers to no mirror registry; else the error in the registry, if there is one.
    pub mirror_registry: Option<Result<(), String>>,
    /// The number of Agents that the API server refuses, and the reason for one of them.
    pub refused_agents: Option<(usize, String)>,
}

/// The status from now on; the same as `before` when nothing differs.
pub fn status(
    name: &str,
    before: Option<&InfraEnvStatus>,
    outcome: &Outcome<'_>,
    now: Timestamp,
) -> InfraEnvStatus {
    let mut next = before.cloned().unwrap_or_default();
    next.agent_label_selector = Some(LabelSelector {
        match_labels: Some(BTreeMap::from([(
            names::label::INFRA_ENV.to_owned(),
            name.to_owned(),
        )])),
        match_expressions: None,
    });
    let mut list = std::mem::take(&mut next.conditions);
    match outcome {
        Outcome::Available(available) => {
            addresses(&mut next, available);
            conditions::set(&mut list, image_created(available), now);
            set_or_remove(
                &mut list,
                Type::StaticNetworkApplied,
                static_network(available.networks),
                now,
            );
            set_or_remove(
                &mut list,
                Type::MirrorRegistryApplied,
                available.mirror_registry.as_ref().map(mirror_registry),
                now,
            );
            set_or_remove(
                &mut list,
                Type::AgentsCreated,
                available.refused_agents.as_ref().map(agents_refused),
                now,
            );
        }
        Outcome::Unusable { why, events } => {
            next.iso_download_url = None;
            next.created_time = None;
            if let Some(events) = events {
                next.debug_info.get_or_insert_default().events_url = Some(events.clone());
            }
            let no_image = DesiredCondition::new(
                Type::ImageCreated,
                ConditionStatus::False,
                Reason::ImageCreationError,
                format!("There is no image: {why}"),
            );
            conditions::set(&mut list, no_image, now);
        }
        Outcome::MissingCluster(why) => {
            let unknown = DesiredCondition::new(
                Type::ImageCreated,
                ConditionStatus::Unknown,
                Reason::MissingClusterDeployment,
                format!("The cluster of spec.clusterRef is not there: {why}"),
            );
            conditions::set(&mut list, unknown, now);
        }
        Outcome::Blocked(_) | Outcome::Ejecting(_) => {}
    }
    let blocked = match outcome {
        Outcome::Blocked(hosts) => Some(blocked(hosts)),
        Outcome::Ejecting(bmcs) => Some(ejecting(bmcs)),
        Outcome::Available(_) | Outcome::Unusable { .. } | Outcome::MissingCluster(_) => None,
    };
    set_or_remove(&mut list, Type::DeletionBlocked, blocked, now);
    next.conditions = list;
    next
}

fn addresses(next: &mut InfraEnvStatus, available: &Available<'_>) {
    let links = available.links;
    if next.iso_download_url.as_deref() != Some(&links.iso) || next.created_time.is_none() {
        next.iso_download_url = Some(links.iso.clone());
        next.created_time = Some(conditions::time(available.updated_at));
    }
    next.boot_artifacts = Some(BootArtifacts {
        discovery_ignition_url: Some(links.discovery_ignition.clone()),
        initrd: Some(links.initrd.clone()),
        ipxe_script: Some(links.ipxe_script.clone()),
        kernel: Some(links.kernel.clone()),
        rootfs: Some(links.rootfs.clone()),
    });
    let networks = !available.networks.accepted.is_empty();
    next.debug_info = Some(InfraEnvDebugInfo {
        events_url: Some(links.events.clone()),
        static_network_download_url: networks.then(|| links.static_network.clone()),
    });
}

fn image_created(available: &Available<'_>) -> DesiredCondition {
    let mut message = "The discovery image can be downloaded".to_owned();
    if available.ignition_override_unapplied {
        message.push_str(
            "; it does not apply spec.ignitionConfigOverride: the Muster live image has no Ignition. discovery.ign carries it, for CoreOS images",
        );
    }
    if let Some(why) = &available.no_agent {
        message.push_str(&format!("; but {why}"));
    }
    DesiredCondition::new(
        Type::ImageCreated,
        ConditionStatus::True,
        Reason::InfraEnvAvailable,
        message,
    )
}

fn static_network(networks: &Networks) -> Option<DesiredCondition> {
    if networks.is_empty() {
        return None;
    }
    let state = |truth, reason, message| {
        Some(DesiredCondition::new(
            Type::StaticNetworkApplied,
            truth,
            reason,
            message,
        ))
    };
    let all = networks.len();
    if !networks.refused.is_empty() {
        let message = format!(
            "{} of {all} NMStateConfigs that match cannot be used: {}. The others are stored",
            networks.refused.len(),
            named(&networks.refused),
        );
        return state(ConditionStatus::False, Reason::InvalidNMStateConfig, message);
    }
    if !networks.unapplied.is_empty() {
        let message = format!(
            "The Muster live image cannot apply {} of {all} NMStateConfigs that match: {}. Hosts with their cards are discovered by DHCP or not at all",
            networks.unapplied.len(),
            named(&networks.unapplied),
        );
        return state(ConditionStatus::False, Reason::NotSupportedByImage, message);
    }
    let mut message = format!("{all} NMStateConfig(s) match, and the image applies them");
    if !networks.by_place.is_empty() {
        // No error: they may be the kernel's names of these cards.
        message += &format!(
            ". Cards that are not in spec.interfaces have to be there under these names: {}",
            named(&networks.by_place)
        );
    }
    state(ConditionStatus::True, Reason::NMStateConfigsInImage, message)
}

/// Names the first of some objects, each with what is wrong with it.
fn named(objects: &[(String, String)]) -> String {
    let shown: Vec<String> = objects
        .iter()
        .take(NAMED)
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    match objects.len().saturating_sub(NAMED) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

fn mirror_registry(found: &Result<(), String>) -> DesiredCondition {
    let (reason, what) = match found {
        Ok(()) => (Reason::NotSupportedByImage, String::new()),
        Err(why) => (Reason::InvalidMirrorRegistry, format!("{why}; and ")),
    };
    DesiredCondition::new(
        Type::MirrorRegistryApplied,
        ConditionStatus::False,
        reason,
        format!(
            "{what}the Muster live image pulls no container images, so a mirror registry has no effect on it"
        ),
    )
}

fn agents_refused((count, why): &(usize, String)) -> DesiredCondition {
    DesiredCondition::new(
        Type::AgentsCreated,
        ConditionStatus::False,
        Reason::AgentsRefused,
        format!(
            "{count} hosts have no Agents, for the API server refuses them; they are tried again. One of them: {why}"
        ),
    )
}

fn blocked(hosts: &[(HostId, HostStatus)]) -> DesiredCondition {
    let named: Vec<String> = hosts
        .iter()
        .take(NAMED)
        .map(|(id, status)| format!("{id} ({})", status.name()))
        .collect();
    let more = hosts.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    DesiredCondition::new(
        Type::DeletionBlocked,
        ConditionStatus::True,
        Reason::HostsInUse,
        format!(
            "These hosts belong to a cluster and are not installed: {}{more}. Unbind them (remove spec.clusterDeploymentName of their Agents) or delete their Agents",
            named.join(", ")
        ),
    )
}

fn ejecting(bmcs: &[String]) -> DesiredCondition {
    let named = bmcs.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>();
    let more = match bmcs.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    DesiredCondition::new(
        Type::DeletionBlocked,
        ConditionStatus::True,
        Reason::MediaInserted,
        format!(
            "The image is being taken out of these BMCs: {}{more}. After ten minutes that is given up",
            named.join(", ")
        ),
    )
}

/// Sets `desired`, or removes the condition of this type.
fn set_or_remove(list: &mut Vec<Condition>, type_: Type, desired: Option<DesiredCondition>, now: Timestamp) {
    match desired {
        Some(desired) => conditions::set(list, desired, now),
        None => conditions::remove(list, type_),
    }
}
