//! Computes an Agent's conditions from its host. Source: docs/protocol/kube-controllers.md#4.3 and recorded
//! objects.
//!
//! Two rows look odd and are kept, since clients rely on them: `Bound` stays True while an installed node is
//! reclaimed (no other cluster may take the Agent meanwhile), and `Connected` is False only when the host
//! counts as disconnected.

use kube::runtime::events::EventType;
use muster_api::host::HostFinding;
use muster_api::time::Timestamp;
use muster_controller::conditions::{self, ConditionReason, ConditionStatus, Synced};
use muster_controller::health::Sign;
use muster_core::record::{Host, HostState};
use muster_core::rules::{checks, findings};
use muster_resources::{AgentStatus, Condition};
use strum::{EnumString, IntoStaticStr};

use super::words;
use crate::join::awaited::Awaited;

/// Types of conditions, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
pub enum Type {
    /// The host matches the spec.
    SpecSynced,
    /// The host reports to the service.
    Connected,
    /// The host can be installed.
    RequirementsMet,
    /// The host's validations pass.
    Validated,
    /// The host is installed.
    Installed,
    /// The host is in a cluster.
    Bound,
    /// Present only when a deletion failed, or waits for the host to come back.
    Cleanup,
    /// The host's network is as configured. Not of the protocol; present once it was not.
    NetworkAsConfigured,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    #[strum(serialize = "SyncOK")]
    SyncOk,
    BackendError,
    InputError,
    AgentIsConnected,
    AgentIsDisconnected,
    NotAvailable,
    AgentIsReady,
    AgentAlreadyInstalling,
    AgentInstallationStopped,
    AgentIsNotApproved,
    AgentNotReady,
    Binding,
    Unbinding,
    UnknownStatus,
    ValidationsPassing,
    ValidationsFailing,
    ValidationsUserPending,
    ValidationsUnknown,
    InstallationCompleted,
    InstallationFailed,
    InstallationNotStarted,
    InstallationInProgress,
    Bound,
    Unbound,
    UnbindingPendingUserAction,
    CleanupFailed,
    Reclaiming,
    NetworkDiffers,
    NetworkAsConfigured,
}

impl ConditionReason for Reason {
    /// New Agents publish warnings only: thousands may come at once.
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::InputError
            | Self::AgentIsDisconnected
            | Self::ValidationsFailing
            | Self::InstallationFailed
            | Self::UnbindingPendingUserAction
            | Self::CleanupFailed
            | Self::NetworkDiffers => Some(EventType::Warning),
            Self::Reclaiming => Some(EventType::Normal),
            Self::SyncOk
            | Self::AgentIsConnected
            | Self::AgentIsReady
            | Self::AgentIsNotApproved
            | Self::ValidationsPassing
            | Self::ValidationsUserPending
            | Self::InstallationCompleted
            | Self::InstallationInProgress
            | Self::Bound
            | Self::Unbound
            | Self::NetworkAsConfigured => (!is_new).then_some(EventType::Normal),
            // A transition to one of the others, or the same as another condition reports.
            Self::BackendError
            | Self::NotAvailable
            | Self::AgentAlreadyInstalling
            | Self::AgentInstallationStopped
            | Self::AgentNotReady
            | Self::Binding
            | Self::Unbinding
            | Self::UnknownStatus
            | Self::ValidationsUnknown
            | Self::InstallationNotStarted => None,
        }
    }

    fn is_correction(self) -> bool {
        self == Self::InputError
    }
}

muster_controller::has_conditions!(AgentStatus, Condition, Reason);

/// A host that waits for its approval, or for a cluster, is as its spec wants it.
pub const SIGNS: [Sign; 14] = [
    Sign::stalled("SpecSynced", "False", &["InputError"]),
    Sign::stalled("Installed", "False", &["InstallationFailed"]),
    Sign::stalled("Bound", "False", &["UnbindingPendingUserAction"]),
    Sign::stalled("Connected", "False", &[]),
    Sign::stalled(
        "Validated",
        "False",
        &["ValidationsFailing", "ValidationsUserPending"],
    ),
    Sign::reconciling("SpecSynced", "False", &[]),
    Sign::reconciling("Connected", "Unknown", &[]),
    Sign::reconciling("Bound", "False", &["Binding", "Unbinding"]),
    // Its message has the stage, and that of RequirementsMet what is awaited before it begins.
    Sign::reconciling("Installed", "False", &["InstallationInProgress"]),
    Sign::reconciling("RequirementsMet", "False", &["AgentNotReady"]),
    Sign::reconciling("RequirementsMet", "False", &[]).with("Bound", "True"),
    Sign::reconciling("Installed", "False", &[]).with("Bound", "True"),
    Sign::reconciling("Installed", "Unknown", &[]),
    Sign::reconciling("Validated", "Unknown", &[]).with("Installed", "False"),
];

pub type DesiredCondition = conditions::DesiredCondition<Type, Reason>;

/// Returns the conditions of an Agent with a host.
///
/// `waits`: the reason why a host that is ready is not installed yet.
pub fn of_host(host: &Host, approved: bool, synced: &Synced, waits: Option<&str>) -> Vec<DesiredCondition> {
    vec![
        spec_synced(synced),
        connected(host),
        requirements_met(host, approved, (synced, waits)),
        validated(host),
        installed(host),
        bound(host),
    ]
}

/// Like [`of_host`], with the reason in `Installed` for which the host's cluster keeps it waiting.
pub fn with_awaited(
    mut conditions: Vec<DesiredCondition>,
    awaited: Option<&Awaited>,
) -> Vec<DesiredCondition> {
    let installed = conditions
        .iter_mut()
        .find(|one| one.type_ == Type::Installed && one.reason == Reason::InstallationInProgress);
    if let (Some(awaited), Some(installed)) = (awaited, installed) {
        let message = installed.message.trim_end_matches('.');
        // The detail of the stage may contain it already.
        let more = if message.contains(&awaited.what) {
            awaited.todo.clone()
        } else {
            awaited.text()
        };
        installed.message = format!("{message}. {more}").trim_end().to_owned();
    }
    conditions
}

/// Reports what differs in the host's network, or, when nothing does and an earlier status had a difference, that it is gone.
pub fn network(host: &Host, before: &AgentStatus) -> Option<DesiredCondition> {
    let is_about_it = |finding: &&HostFinding| {
        [findings::NETWORK_NOT_AS_CONFIGURED, findings::KERNEL_ARGUMENT].contains(&finding.kind.as_str())
    };
    let differences: Vec<&str> = host
        .data
        .findings
        .iter()
        .filter(is_about_it)
        .map(|finding| finding.message.as_str())
        .collect();
    let (truth, reason, message) = if !differences.is_empty() {
        (
            ConditionStatus::False,
            Reason::NetworkDiffers,
            differences.join(". "),
        )
    } else if before
        .conditions
        .iter()
        .any(|one| one.type_ == <&str>::from(Type::NetworkAsConfigured))
    {
        (
            ConditionStatus::True,
            Reason::NetworkAsConfigured,
            "The network of the host is as requested".to_owned(),
        )
    } else {
        return None;
    };
    Some(DesiredCondition::new(
        Type::NetworkAsConfigured,
        truth,
        reason,
        message,
    ))
}

/// Returns the conditions of an Agent without a host.
pub fn without_host(synced: &Synced) -> Vec<DesiredCondition> {
    let types = [
        Type::Connected,
        Type::RequirementsMet,
        Type::Validated,
        Type::Installed,
        Type::Bound,
    ];
    let unknown = types.map(|type_| {
        DesiredCondition::new(
            type_,
            ConditionStatus::Unknown,
            Reason::NotAvailable,
            "The service knows no host with this Agent's name in this namespace",
        )
    });
    [spec_synced(synced)].into_iter().chain(unknown).collect()
}

/// Since when the spec is not followed; `None`: it is.
pub fn unsynced_since(before: &AgentStatus, synced: &Synced, now: Timestamp) -> Option<Timestamp> {
    if matches!(synced, Synced::Ok(_)) {
        return None;
    }
    let is_unsynced = |one: &&Condition| one.type_ == <&str>::from(Type::SpecSynced) && one.status == "False";
    let since = before
        .conditions
        .iter()
        .find(is_unsynced)
        .and_then(|one| one.last_transition_time.as_ref());
    let since = since.and_then(|time| Timestamp::from_timestamp(time.0.as_second(), 0));
    Some(since.unwrap_or(now))
}

/// True if a condition shows that the spec is followed.
pub fn is_synced(status: &AgentStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|one| one.type_ == <&str>::from(Type::SpecSynced) && one.status == "True")
}

/// True if the message of a condition contains these words.
pub fn say(status: &AgentStatus, words: &str) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|one| {
        one.message
            .as_ref()
            .is_some_and(|message| message.contains(words))
    })
}

/// Reports that an Agent could not be deleted.
pub fn cleanup_failed(why: &str) -> DesiredCondition {
    DesiredCondition::new(
        Type::Cleanup,
        ConditionStatus::False,
        Reason::CleanupFailed,
        format!("The host could not be forgotten, and this is tried again: {why}"),
    )
}

/// Reports that an Agent is deleted when its host is back.
pub fn reclaiming(info: &str) -> DesiredCondition {
    DesiredCondition::new(
        Type::Cleanup,
        ConditionStatus::False,
        Reason::Reclaiming,
        format!("The host is brought back before its Agent goes: {info}"),
    )
}

fn spec_synced(synced: &Synced) -> DesiredCondition {
    let (truth, reason, message) = match synced {
        Synced::Ok(_) => (
            ConditionStatus::True,
            Reason::SyncOk,
            "The host is as the spec wants it".to_owned(),
        ),
        Synced::Input(why) => (
            ConditionStatus::False,
            Reason::InputError,
            format!("The spec cannot be followed as it is; correct it: {why}"),
        ),
        Synced::Backend(why) => (
            ConditionStatus::False,
            Reason::BackendError,
            format!("The spec could not be followed yet, and this is tried again: {why}"),
        ),
    };
    DesiredCondition::new(Type::SpecSynced, truth, reason, message)
}

fn connected(host: &Host) -> DesiredCondition {
    let disconnected = matches!(
        host.state,
        HostState::Disconnected | HostState::DisconnectedUnbound
    );
    let (truth, reason, message) = if disconnected {
        (
            ConditionStatus::False,
            Reason::AgentIsDisconnected,
            format!("The host is silent: {}", info(host)),
        )
    } else {
        (
            ConditionStatus::True,
            Reason::AgentIsConnected,
            "The host reports to the service, or is not expected to at this point".into(),
        )
    };
    DesiredCondition::new(Type::Connected, truth, reason, message)
}

fn requirements_met(
    host: &Host,
    approved: bool,
    (synced, waits): (&Synced, Option<&str>),
) -> DesiredCondition {
    use {ConditionStatus as T, Reason as R};
    let (truth, reason, message) = match (&host.state, waits) {
        (HostState::Known, Some(why)) => (
            T::False,
            R::AgentNotReady,
            format!("The host is fit, and its installation waits: {why}"),
        ),
        (state, _) => by_state(host, state, approved, synced),
    };
    DesiredCondition::new(Type::RequirementsMet, truth, reason, message)
}

fn by_state(
    host: &Host,
    state: &HostState,
    approved: bool,
    synced: &Synced,
) -> (ConditionStatus, Reason, String) {
    use {ConditionStatus as T, Reason as R};
    match state {
        HostState::Known | HostState::KnownUnbound if approved => {
            (T::True, R::AgentIsReady, words::ready(state, synced).to_owned())
        }
        HostState::Known | HostState::KnownUnbound => (
            T::False,
            R::AgentIsNotApproved,
            "The host is fit, and waits for approval: set spec.approved to true".into(),
        ),
        HostState::Insufficient { .. }
        | HostState::InsufficientUnbound { .. }
        | HostState::PendingForInput { .. }
        | HostState::Discovering
        | HostState::DiscoveringUnbound
        | HostState::Disconnected
        | HostState::DisconnectedUnbound => (T::False, R::AgentNotReady, info(host).to_owned()),
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. } => (
            T::True,
            R::AgentAlreadyInstalling,
            "The host is being installed".into(),
        ),
        HostState::AddedToExistingCluster | HostState::Error => (
            T::True,
            R::AgentInstallationStopped,
            "The installation has ended; see Installed for how".into(),
        ),
        HostState::Binding => (T::False, R::Binding, on_its_way_in(host)),
        HostState::Unbinding | HostState::UnbindingPendingUserAction => {
            (T::False, R::Unbinding, on_its_way_out(host))
        }
        HostState::Reclaiming
        | HostState::ReclaimingRebooting
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction => (T::Unknown, R::UnknownStatus, neither(host)),
    }
}

fn validated(host: &Host) -> DesiredCondition {
    use {ConditionStatus as T, Reason as R};
    let outcomes = &host.data.validations;
    let (truth, reason, message) = match &host.state {
        HostState::Insufficient { failed } | HostState::InsufficientUnbound { failed } => {
            (T::False, R::ValidationsFailing, words::not_passed(host, failed))
        }
        HostState::PendingForInput { failed } => (
            T::False,
            R::ValidationsUserPending,
            format!(
                "Checks of the host wait for somebody's decision: {}",
                checks::summary(outcomes, failed)
            ),
        ),
        HostState::Binding => (T::False, R::Binding, on_its_way_in(host)),
        HostState::Unbinding | HostState::UnbindingPendingUserAction => {
            (T::False, R::Unbinding, on_its_way_out(host))
        }
        HostState::Discovering | HostState::DiscoveringUnbound if host.inventory.is_none() => unknown_yet(),
        HostState::Discovering
        | HostState::DiscoveringUnbound
        | HostState::Known
        | HostState::KnownUnbound
        | HostState::Disconnected
        | HostState::DisconnectedUnbound
        | HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => {
            if outcomes.is_empty() {
                unknown_yet()
            } else {
                (
                    T::True,
                    R::ValidationsPassing,
                    "The checks that an installation depends on pass".into(),
                )
            }
        }
    };
    DesiredCondition::new(Type::Validated, truth, reason, message)
}

fn unknown_yet() -> (ConditionStatus, Reason, String) {
    (
        ConditionStatus::Unknown,
        Reason::ValidationsUnknown,
        "The checks are made when the host has reported its inventory".into(),
    )
}

fn installed(host: &Host) -> DesiredCondition {
    use {ConditionStatus as T, Reason as R};
    let (truth, reason, message) = match &host.state {
        HostState::Known
        | HostState::KnownUnbound
        | HostState::Insufficient { .. }
        | HostState::InsufficientUnbound { .. }
        | HostState::PendingForInput { .. }
        | HostState::Discovering
        | HostState::DiscoveringUnbound
        | HostState::Disconnected
        | HostState::DisconnectedUnbound => (
            T::False,
            R::InstallationNotStarted,
            "The installation has not begun".to_owned(),
        ),
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. } => (
            T::False,
            R::InstallationInProgress,
            format!("The installation goes on: {}{}", info(host), detail(host)),
        ),
        HostState::AddedToExistingCluster => (
            T::True,
            R::InstallationCompleted,
            format!("The installation is complete: {}", info(host)),
        ),
        HostState::Error => (
            T::False,
            R::InstallationFailed,
            format!("The installation failed: {}", info(host)),
        ),
        HostState::Binding => (T::False, R::Binding, on_its_way_in(host)),
        HostState::Unbinding | HostState::UnbindingPendingUserAction => {
            (T::False, R::Unbinding, on_its_way_out(host))
        }
        HostState::Reclaiming
        | HostState::ReclaimingRebooting
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction => (T::Unknown, R::UnknownStatus, neither(host)),
    };
    DesiredCondition::new(Type::Installed, truth, reason, message)
}

fn bound(host: &Host) -> DesiredCondition {
    use {ConditionStatus as T, Reason as R};
    let (truth, reason, message) = match &host.state {
        HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::DiscoveringUnbound
        | HostState::DisconnectedUnbound => (
            T::False,
            R::Unbound,
            "The host belongs to no cluster; set spec.clusterDeploymentName to give it to one".to_owned(),
        ),
        HostState::Binding => (T::False, R::Binding, on_its_way_in(host)),
        HostState::Unbinding => (T::False, R::Unbinding, on_its_way_out(host)),
        HostState::UnbindingPendingUserAction => {
            (T::False, R::UnbindingPendingUserAction, on_its_way_out(host))
        }
        HostState::Reclaiming | HostState::ReclaimingRebooting => (
            T::True,
            R::Bound,
            format!("The node is on its way back to the pool: {}", info(host)),
        ),
        HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Discovering
        | HostState::Disconnected
        | HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction { .. }
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled
        | HostState::ResettingPendingUserAction => {
            (T::True, R::Bound, "The host belongs to a cluster".into())
        }
    };
    DesiredCondition::new(Type::Bound, truth, reason, message)
}

fn on_its_way_in(host: &Host) -> String {
    format!("The host is on its way into its cluster: {}", info(host))
}

fn on_its_way_out(host: &Host) -> String {
    format!("The host is on its way out of its cluster: {}", info(host))
}

fn neither(host: &Host) -> String {
    let status = host.state.status().name();
    format!(
        "A host that is {status} is neither ready nor installed: {}",
        info(host)
    )
}

/// The host's detail of its stage, such as a percentage.
fn detail(host: &Host) -> String {
    let progress = host.data.progress.as_ref();
    progress
        .filter(|progress| !progress.info.is_empty() && host.state == HostState::InstallingInProgress)
        .map_or_else(String::new, |progress| format!(" ({})", progress.info))
}

fn info(host: &Host) -> &str {
    &host.data.status_info
}
