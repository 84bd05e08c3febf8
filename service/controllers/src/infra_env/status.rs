//! The status of an InfraEnv, from what was found. Source: docs/protocol/kube-controllers.md#1.

use std::collections::BTreeMap;

use muster_api::host::HostStatus;
use muster_api::ids::HostId;
use muster_api::time::Timestamp;
use muster_resources::{BootArtifacts, Condition, InfraEnvDebugInfo, InfraEnvStatus, LabelSelector, names};

use super::links::Links;
use super::static_network::Networks;
use crate::conditions;

/// Names told in one message; of more, the number.
const NAMED: usize = 10;

/// The conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    /// Whether there is an image: the only one of the field.
    ImageCreated,
    /// Ours: whether hosts get the network configuration of the NMStateConfigs. Only there when some match.
    StaticNetworkApplied,
    /// Ours: whether hosts use the mirror registry. Only there when one is referred to.
    MirrorRegistryApplied,
    /// Ours: what a deletion waits for. Only there while it waits.
    DeletionBlocked,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::ImageCreated => "ImageCreated",
            Self::StaticNetworkApplied => "StaticNetworkApplied",
            Self::MirrorRegistryApplied => "MirrorRegistryApplied",
            Self::DeletionBlocked => "DeletionBlocked",
        }
    }
}

/// Why a condition is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    InfraEnvAvailable,
    ImageCreationError,
    MissingClusterDeployment,
    NotSupportedByImage,
    InvalidNMStateConfig,
    InvalidMirrorRegistry,
    HostsInUse,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::InfraEnvAvailable => "InfraEnvAvailable",
            Self::ImageCreationError => "ImageCreationError",
            Self::MissingClusterDeployment => "MissingClusterDeployment",
            Self::NotSupportedByImage => "NotSupportedByImage",
            Self::InvalidNMStateConfig => "InvalidNMStateConfig",
            Self::InvalidMirrorRegistry => "InvalidMirrorRegistry",
            Self::HostsInUse => "HostsInUse",
        }
    }
}

/// What came of a look at an InfraEnv.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// There is an image.
    Available(Available<'a>),
    /// There is none, for a reason that a user can mend. `events`: where more is told, when there is an InfraEnv in the database.
    Unusable { why: String, events: Option<String> },
    /// `spec.clusterRef` leads to nothing.
    MissingCluster(String),
    /// It is being deleted, and these hosts keep it.
    Blocked(&'a [(HostId, HostStatus)]),
}

/// What is told of an image.
#[derive(Debug)]
pub struct Available<'a> {
    /// Its addresses.
    pub links: &'a Links,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Settings that are stored and that the image does not apply, as the resource names them.
    pub unapplied: Vec<&'static str>,
    /// What became of the NMStateConfigs.
    pub networks: &'a Networks,
    /// `None`: no mirror registry is referred to; else what is wrong with it, if something is.
    pub mirror_registry: Option<Result<(), String>>,
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
            replace(&mut list, Type::ImageCreated, Some(image_created(available)), now);
            replace(
                &mut list,
                Type::StaticNetworkApplied,
                static_network(available.networks),
                now,
            );
            replace(
                &mut list,
                Type::MirrorRegistryApplied,
                available.mirror_registry.as_ref().map(mirror_registry),
                now,
            );
        }
        Outcome::Unusable { why, events } => {
            next.iso_download_url = None;
            next.created_time = None;
            if let Some(events) = events {
                next.debug_info.get_or_insert_default().events_url = Some(events.clone());
            }
            let told = Told::new(
                "False",
                Reason::ImageCreationError,
                format!("There is no image: {why}"),
            );
            replace(&mut list, Type::ImageCreated, Some(told), now);
        }
        Outcome::MissingCluster(why) => {
            let told = Told::new(
                "Unknown",
                Reason::MissingClusterDeployment,
                format!("The cluster of spec.clusterRef is not there: {why}"),
            );
            replace(&mut list, Type::ImageCreated, Some(told), now);
        }
        Outcome::Blocked(_) => {}
    }
    let blocked = match outcome {
        Outcome::Blocked(hosts) => Some(blocked(hosts)),
        Outcome::Available(_) | Outcome::Unusable { .. } | Outcome::MissingCluster(_) => None,
    };
    replace(&mut list, Type::DeletionBlocked, blocked, now);
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

/// A condition without its times.
struct Told {
    status: &'static str,
    reason: Reason,
    message: String,
}

impl Told {
    fn new(status: &'static str, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
        }
    }
}

fn image_created(available: &Available<'_>) -> Told {
    let mut message = "The discovery image can be downloaded".to_owned();
    if !available.unapplied.is_empty() {
        message.push_str(&format!(
            "; it does not apply {}: the Muster live image has no Ignition and nobody can log in to it. discovery.ign carries them, for other images",
            available.unapplied.join(" and ")
        ));
    }
    Told::new("True", Reason::InfraEnvAvailable, message)
}

fn static_network(networks: &Networks) -> Option<Told> {
    if networks.is_empty() {
        return None;
    }
    let unapplied = "the Muster live image configures its network by DHCP and router advertisements only, so hosts without these will not be discovered";
    if networks.refused.is_empty() {
        return Some(Told::new(
            "False",
            Reason::NotSupportedByImage,
            format!(
                "{} NMStateConfig(s) match and are stored, but {unapplied}",
                networks.len()
            ),
        ));
    }
    let named: Vec<String> = networks
        .refused
        .iter()
        .take(NAMED)
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    let more = networks.refused.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    Some(Told::new(
        "False",
        Reason::InvalidNMStateConfig,
        format!(
            "{} of {} NMStateConfigs that match cannot be used: {}{more}. The others are stored, but {unapplied}",
            networks.refused.len(),
            networks.len(),
            named.join("; "),
        ),
    ))
}

fn mirror_registry(found: &Result<(), String>) -> Told {
    let (reason, what) = match found {
        Ok(()) => (Reason::NotSupportedByImage, String::new()),
        Err(why) => (Reason::InvalidMirrorRegistry, format!("{why}; and ")),
    };
    Told::new(
        "False",
        reason,
        format!(
            "{what}the Muster live image pulls no container images, so a mirror registry has no effect on it"
        ),
    )
}

fn blocked(hosts: &[(HostId, HostStatus)]) -> Told {
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
    Told::new(
        "True",
        Reason::HostsInUse,
        format!(
            "These hosts belong to a cluster and are not installed: {}{more}. Unbind them (remove spec.clusterDeploymentName of their Agents) or delete their Agents",
            named.join(", ")
        ),
    )
}

/// Sets the condition of this type, or takes it away.
fn replace(list: &mut Vec<Condition>, type_: Type, told: Option<Told>, now: Timestamp) {
    let Some(told) = told else {
        list.retain(|condition| condition.type_ != type_.name());
        return;
    };
    let reason = told.reason.name();
    conditions::set(
        list,
        conditions::condition(type_.name(), told.status, reason, told.message, now),
    );
}
