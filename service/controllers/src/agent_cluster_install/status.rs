//! The status of an AgentClusterInstall, from what was found. Source: docs/protocol/kube-controllers.md#6.3.

use muster_api::time::Timestamp;
use muster_core::cluster::Cluster;
use muster_resources::{
    AgentClusterInstallDebugInfo, AgentClusterInstallSpec, AgentClusterInstallStatus, ClusterProgress,
    HiveCondition, MachineNetwork,
};

use super::platform::platform;
use crate::conditions;

/// The conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    SpecSynced,
    RequirementsMet,
    Validated,
    Completed,
    Failed,
    Stopped,
    LastInstallationPreparationFailed,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::SpecSynced => "SpecSynced",
            Self::RequirementsMet => "RequirementsMet",
            Self::Validated => "Validated",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::Stopped => "Stopped",
            Self::LastInstallationPreparationFailed => "LastInstallationPreparationFailed",
        }
    }
}

/// Why a condition is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    SyncOk,
    InputError,
    BackendError,
    NotAvailable,
    ClusterAlreadyInstalling,
    ValidationsPassing,
    InstallationCompleted,
    InstallationNotFailed,
    NeverPrepared,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::SyncOk => "SyncOK",
            Self::InputError => "InputError",
            Self::BackendError => "BackendError",
            Self::NotAvailable => "NotAvailable",
            Self::ClusterAlreadyInstalling => "ClusterAlreadyInstalling",
            Self::ValidationsPassing => "ValidationsPassing",
            Self::InstallationCompleted => "InstallationCompleted",
            Self::InstallationNotFailed => "InstallationNotFailed",
            // A fixed sentence in the field: clients compare it.
            Self::NeverPrepared => "Cluster preparation has never been performed for this cluster",
        }
    }
}

/// Whether the record in the database is what the resources ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// It is; with what a user should know of it.
    Ok(Option<String>),
    /// A user has to mend something.
    InputError(String),
    /// It may pass.
    BackendError(String),
}

/// What is known of the cluster.
#[derive(Debug)]
pub struct Known<'a> {
    /// Its record.
    pub cluster: &'a Cluster,
    /// Where its events are told.
    pub events_url: String,
}

/// The state of a cluster that is installed, in REST and here.
const STATE: &str = "adding-hosts";

/// The status from now on; the same as `before` when nothing differs. `known`: there is a record.
pub fn status(
    spec: &AgentClusterInstallSpec,
    before: Option<&AgentClusterInstallStatus>,
    synced: &Synced,
    known: Option<&Known<'_>>,
    now: Timestamp,
) -> AgentClusterInstallStatus {
    let mut next = before.cloned().unwrap_or_default();
    for told in told(synced, known.is_some()) {
        set(&mut next.conditions, told, now);
    }
    let Some(known) = known else {
        next.debug_info = Some(AgentClusterInstallDebugInfo::default());
        return next;
    };
    let data = &known.cluster.data;
    let (platform, user_managed) = platform(spec);
    next.debug_info = Some(AgentClusterInstallDebugInfo {
        events_url: Some(known.events_url.clone()),
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

/// A condition without its times.
struct Told {
    type_: Type,
    status: &'static str,
    reason: Reason,
    message: Option<String>,
}

impl Told {
    fn new(type_: Type, status: &'static str, reason: Reason, message: &str) -> Self {
        Self {
            type_,
            status,
            reason,
            message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        }
    }
}

fn told(synced: &Synced, known: bool) -> Vec<Told> {
    let (status, reason, message) = match synced {
        // Without more to say the message is literally the reason, which clients compare.
        Synced::Ok(more) => (
            "True",
            Reason::SyncOk,
            more.as_deref().unwrap_or(Reason::SyncOk.name()),
        ),
        Synced::InputError(why) => ("False", Reason::InputError, why.as_str()),
        Synced::BackendError(why) => ("False", Reason::BackendError, why.as_str()),
    };
    let mut list = vec![Told::new(Type::SpecSynced, status, reason, message)];
    if known {
        list.extend(of_installed());
    } else {
        let unknown = [
            Type::Validated,
            Type::RequirementsMet,
            Type::Completed,
            Type::Failed,
            Type::Stopped,
        ];
        let why = "Nothing is known of the cluster; SpecSynced says why";
        list.extend(unknown.map(|type_| Told::new(type_, "Unknown", Reason::NotAvailable, why)));
    }
    list
}

fn of_installed() -> [Told; 6] {
    let installed = "The cluster is installed";
    [
        Told::new(
            Type::RequirementsMet,
            "True",
            Reason::ClusterAlreadyInstalling,
            installed,
        ),
        Told::new(
            Type::Validated,
            "True",
            Reason::ValidationsPassing,
            "Nothing has to be checked of a cluster that is installed",
        ),
        Told::new(Type::Completed, "True", Reason::InstallationCompleted, installed),
        Told::new(
            Type::Failed,
            "False",
            Reason::InstallationNotFailed,
            "The installation has not failed",
        ),
        Told::new(Type::Stopped, "True", Reason::InstallationCompleted, installed),
        Told::new(
            Type::LastInstallationPreparationFailed,
            "False",
            Reason::NeverPrepared,
            "",
        ),
    ]
}

/// One that says what it said before keeps both of its times.
fn set(list: &mut Vec<HiveCondition>, told: Told, now: Timestamp) {
    let says = |one: &HiveCondition| {
        one.type_ == told.type_.name()
            && one.status == told.status
            && one.reason.as_deref() == Some(told.reason.name())
            && one.message == told.message
    };
    if list.iter().any(says) {
        return;
    }
    let at = conditions::time(now);
    conditions::set(
        list,
        HiveCondition {
            type_: told.type_.name().to_owned(),
            status: told.status.to_owned(),
            reason: Some(told.reason.name().to_owned()),
            message: told.message,
            last_probe_time: Some(at.clone()),
            last_transition_time: Some(at),
        },
    );
}
