//! Computes the status of an AgentClusterInstall. Source: docs/protocol/kube-controllers.md#6.3.

use kube::runtime::events::EventType;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus, Synced};
use muster_controller::health::Sign;
use muster_core::record::Cluster;
use muster_resources::{
    AgentClusterInstallDebugInfo, AgentClusterInstallSpec, AgentClusterInstallStatus, ClusterProgress,
    HiveCondition, MachineNetwork,
};
use strum::{EnumString, IntoStaticStr};

use super::platform::platform;

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
enum Type {
    SpecSynced,
    RequirementsMet,
    Validated,
    Completed,
    Failed,
    Stopped,
    LastInstallationPreparationFailed,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    #[strum(serialize = "SyncOK")]
    SyncOk,
    InputError,
    BackendError,
    NotAvailable,
    ClusterAlreadyInstalling,
    ValidationsPassing,
    InstallationCompleted,
    InstallationNotFailed,
    /// Upstream's reason is a sentence: clients compare it.
    #[strum(serialize = "Cluster preparation has never been performed for this cluster")]
    NeverPrepared,
}

/// An AgentClusterInstall that is not as its spec wants it.
pub const SIGNS: [Sign; 4] = [
    Sign::stalled("SpecSynced", "False", &["InputError"]),
    Sign::stalled("Failed", "True", &[]),
    Sign::reconciling("SpecSynced", "False", &[]),
    Sign::reconciling("Completed", "Unknown", &[]),
];

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::InputError | Self::BackendError => Some(EventType::Warning),
            Self::SyncOk | Self::InstallationCompleted => (!is_new).then_some(EventType::Normal),
            // These reasons follow from the others.
            Self::NotAvailable
            | Self::ClusterAlreadyInstalling
            | Self::ValidationsPassing
            | Self::InstallationNotFailed
            | Self::NeverPrepared => None,
        }
    }

    fn is_correction(self) -> bool {
        self == Self::InputError
    }
}

muster_controller::has_conditions!(AgentClusterInstallStatus, HiveCondition, Reason);

type DesiredCondition = conditions::DesiredCondition<Type, Reason>;

/// A cluster with a record.
#[derive(Debug)]
pub struct StoredCluster<'a> {
    pub cluster: &'a Cluster,
    /// Address of its events.
    pub events_url: String,
}

/// The state of a cluster that is installed, in REST and here.
const STATE: &str = "adding-hosts";

/// The status from now on; the same as `before` when nothing differs. `stored`: the cluster's record.
pub fn status(
    spec: &AgentClusterInstallSpec,
    before: Option<&AgentClusterInstallStatus>,
    synced: &Synced,
    stored: Option<&StoredCluster<'_>>,
    now: Timestamp,
) -> AgentClusterInstallStatus {
    let mut next = before.cloned().unwrap_or_default();
    for desired in desired_conditions(synced, stored.is_some()) {
        conditions::set(&mut next.conditions, desired, now);
    }
    let Some(stored) = stored else {
        // By its address of events a lost record is found again once the database answers.
        if !matches!(synced, Synced::Backend(_)) {
            next.debug_info = Some(AgentClusterInstallDebugInfo::default());
        }
        return next;
    };
    let data = &stored.cluster.data;
    let (platform, user_managed) = platform(spec);
    next.debug_info = Some(AgentClusterInstallDebugInfo {
        events_url: Some(stored.events_url.clone()),
        logs_url: Some(String::new()),
        state: Some(STATE.into()),
        state_info: Some("The cluster is installed; hosts can be added to it".into()),
    });
    next.platform_type = Some(platform);
    next.user_managed_networking = Some(user_managed);
    next.progress = Some(ClusterProgress { total_percentage: 0 });
    next.api_vip = data.api_vips.first().cloned();
    next.api_vips.clone_from(&data.api_vips);
    next.ingress_vip = data.ingress_vips.first().cloned();
    next.ingress_vips.clone_from(&data.ingress_vips);
    next.machine_network = data
        .machine_networks
        .iter()
        .map(|cidr| MachineNetwork { cidr: cidr.clone() })
        .collect();
    next
}

fn desired_conditions(synced: &Synced, is_stored: bool) -> Vec<DesiredCondition> {
    let (status, reason, message) = match synced {
        // Without a detail the message is literally the reason, which clients compare.
        Synced::Ok(more) => (
            ConditionStatus::True,
            Reason::SyncOk,
            more.as_deref().unwrap_or(Reason::SyncOk.into()),
        ),
        Synced::Input(why) => (ConditionStatus::False, Reason::InputError, why.as_str()),
        Synced::Backend(why) => (ConditionStatus::False, Reason::BackendError, why.as_str()),
    };
    let mut list = vec![DesiredCondition::new(Type::SpecSynced, status, reason, message)];
    if is_stored {
        list.extend(of_installed());
    } else {
        let unknown = [
            Type::Validated,
            Type::RequirementsMet,
            Type::Completed,
            Type::Failed,
            Type::Stopped,
        ];
        let why = "Nothing is known of the cluster; SpecSynced gives the reason";
        list.extend(
            unknown.map(|type_| {
                DesiredCondition::new(type_, ConditionStatus::Unknown, Reason::NotAvailable, why)
            }),
        );
    }
    list
}

fn of_installed() -> [DesiredCondition; 6] {
    let installed = "The cluster is installed";
    [
        DesiredCondition::new(
            Type::RequirementsMet,
            ConditionStatus::True,
            Reason::ClusterAlreadyInstalling,
            installed,
        ),
        DesiredCondition::new(
            Type::Validated,
            ConditionStatus::True,
            Reason::ValidationsPassing,
            "Nothing has to be checked of a cluster that is installed",
        ),
        DesiredCondition::new(
            Type::Completed,
            ConditionStatus::True,
            Reason::InstallationCompleted,
            installed,
        ),
        DesiredCondition::new(
            Type::Failed,
            ConditionStatus::False,
            Reason::InstallationNotFailed,
            "The installation has not failed",
        ),
        DesiredCondition::new(
            Type::Stopped,
            ConditionStatus::True,
            Reason::InstallationCompleted,
            installed,
        ),
        DesiredCondition::new(
            Type::LastInstallationPreparationFailed,
            ConditionStatus::False,
            Reason::NeverPrepared,
            "",
        ),
    ]
}
