//! Computes the conditions of a BMC from its record.

use kube::runtime::events::EventType;
use muster_api::bmc::{BmcFailure, BmcOutcome};
use muster_controller::conditions::ConditionStatus::{False, True, Unknown};
use muster_controller::conditions::{self, ConditionReason, Synced};
use muster_controller::health::Sign;
use muster_core::record::{self, BmcStage};
use muster_resources::{BmcStatus, StandardCondition};
use strum::{EnumString, IntoStaticStr};

/// Types of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum Type {
    /// The record matches the spec.
    SpecSynced,
    /// The BMC can boot its machine.
    ChecksPassed,
    /// The machine is an Agent.
    Discovered,
    /// The reason why a deletion waits. Absent if no deletion waits.
    DeletionBlocked,
}

/// Reasons of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
pub enum Reason {
    #[strum(serialize = "SyncOK")]
    SyncOk,
    InputError,
    /// The change is made when something else has ended.
    Pending,
    NotChecked,
    CheckFailed,
    ChecksPassed,
    NotMade,
    Waiting,
    Checking,
    Inserting,
    Booting,
    WaitingForAgent,
    Discovered,
    Stopped,
    CredentialsRefused,
    CertificateNotTrusted,
    AddressNotUsable,
    Unreachable,
    SystemNotUsable,
    MediaNotUsable,
    ImageNotUsable,
    BootRefused,
    InUse,
    NoAgent,
    Refused,
    MediumInserted,
}

impl ConditionReason for Reason {
    fn event_type(self, is_new: bool) -> Option<EventType> {
        match self {
            Self::InputError
            | Self::CredentialsRefused
            | Self::CertificateNotTrusted
            | Self::AddressNotUsable
            | Self::Unreachable
            | Self::SystemNotUsable
            | Self::MediaNotUsable
            | Self::ImageNotUsable
            | Self::BootRefused
            | Self::InUse
            | Self::NoAgent
            | Self::Refused => Some(EventType::Warning),
            Self::Discovered | Self::MediumInserted => Some(EventType::Normal),
            Self::Stopped => (!is_new).then_some(EventType::Normal),
            // A transition to one of the others, or shown by another condition.
            Self::SyncOk
            | Self::Pending
            | Self::NotChecked
            | Self::CheckFailed
            | Self::ChecksPassed
            | Self::NotMade
            | Self::Waiting
            | Self::Checking
            | Self::Inserting
            | Self::Booting
            | Self::WaitingForAgent => None,
        }
    }

    fn is_correction(self) -> bool {
        self == Self::InputError
    }
}

muster_controller::has_conditions!(BmcStatus, StandardCondition, Reason);

/// A BMC that somebody has stopped is as they want it.
pub const SIGNS: [Sign; 4] = [
    Sign::stalled("SpecSynced", "False", &["InputError"]),
    Sign::reconciling("SpecSynced", "False", &[]),
    Sign::stalled(
        "Discovered",
        "False",
        &[
            "CredentialsRefused",
            "CertificateNotTrusted",
            "AddressNotUsable",
            "Unreachable",
            "SystemNotUsable",
            "MediaNotUsable",
            "ImageNotUsable",
            "BootRefused",
            "InUse",
            "NoAgent",
            "Refused",
        ],
    ),
    Sign::reconciling(
        "Discovered",
        "False",
        &[
            "NotMade",
            "Waiting",
            "Checking",
            "Inserting",
            "Booting",
            "WaitingForAgent",
        ],
    ),
];

pub type DesiredCondition = conditions::DesiredCondition<Type, Reason>;

/// The state of a BMC.
#[derive(Debug)]
pub struct Found<'a> {
    /// The BMC's record; `None`: none could be made yet.
    pub record: Option<&'a record::Bmc>,
    pub synced: Synced,
    /// The reason why the record follows the spec only later.
    pub waits: Option<&'a str>,
    /// The reason why the deletion waits.
    pub blocked: Option<&'a str>,
}

/// Returns all conditions; `DeletionBlocked` only while a deletion waits.
pub fn of(found: &Found<'_>) -> Vec<DesiredCondition> {
    let blocked = found
        .blocked
        .map(|why| DesiredCondition::new(Type::DeletionBlocked, True, Reason::MediumInserted, why));
    [
        spec_synced(found),
        checks_passed(found.record),
        discovered(found.record),
    ]
    .into_iter()
    .chain(blocked)
    .collect()
}

fn spec_synced(found: &Found<'_>) -> DesiredCondition {
    let state =
        |truth, reason, message: &str| DesiredCondition::new(Type::SpecSynced, truth, reason, message);
    match (&found.synced, found.waits) {
        (Synced::Input(why) | Synced::Backend(why), _) => state(False, Reason::InputError, why),
        (Synced::Ok(_), Some(what)) => state(False, Reason::Pending, what),
        (Synced::Ok(_), None) => state(
            True,
            Reason::SyncOk,
            "The BMC is registered as the spec describes",
        ),
    }
}

fn checks_passed(record: Option<&record::Bmc>) -> DesiredCondition {
    let state =
        |truth, reason, message: String| DesiredCondition::new(Type::ChecksPassed, truth, reason, message);
    let checks = record
        .map(|record| record.progress.checks.as_slice())
        .unwrap_or_default();
    if checks.is_empty() {
        return state(
            Unknown,
            Reason::NotChecked,
            "The BMC was not looked at yet".to_owned(),
        );
    }
    let failed = checks.iter().filter(|check| check.outcome == BmcOutcome::Fail);
    let failed: Vec<String> = failed
        .map(|check| match check.advice.as_str() {
            "" => format!("{}: {}", check.id, check.seen),
            advice => format!("{}: {}; {advice}", check.id, check.seen),
        })
        .collect();
    if failed.is_empty() {
        let message = format!("{} checks passed", checks.len());
        return state(True, Reason::ChecksPassed, message);
    }
    state(False, Reason::CheckFailed, failed.join(". "))
}

fn discovered(record: Option<&record::Bmc>) -> DesiredCondition {
    let Some(record) = record else {
        let message = "There is no BMC yet: SpecSynced gives the reason";
        return DesiredCondition::new(Type::Discovered, False, Reason::NotMade, message);
    };
    let (truth, reason) = match &record.stage {
        BmcStage::Waiting => (False, Reason::Waiting),
        BmcStage::Checking => (False, Reason::Checking),
        BmcStage::Inserting => (False, Reason::Inserting),
        BmcStage::Booting => (False, Reason::Booting),
        BmcStage::WaitingForAgent => (False, Reason::WaitingForAgent),
        BmcStage::Discovered { .. } => (True, Reason::Discovered),
        BmcStage::Failed { failure } => (False, failed(*failure)),
        BmcStage::Stopped => (False, Reason::Stopped),
    };
    DesiredCondition::new(Type::Discovered, truth, reason, record.progress.reason.clone())
}

fn failed(failure: BmcFailure) -> Reason {
    match failure {
        BmcFailure::Credentials => Reason::CredentialsRefused,
        BmcFailure::Certificate => Reason::CertificateNotTrusted,
        BmcFailure::Address => Reason::AddressNotUsable,
        BmcFailure::Unreachable => Reason::Unreachable,
        BmcFailure::System => Reason::SystemNotUsable,
        BmcFailure::Media => Reason::MediaNotUsable,
        BmcFailure::Image => Reason::ImageNotUsable,
        BmcFailure::Boot => Reason::BootRefused,
        BmcFailure::InUse => Reason::InUse,
        BmcFailure::NoAgent => Reason::NoAgent,
        BmcFailure::Refused => Reason::Refused,
    }
}
