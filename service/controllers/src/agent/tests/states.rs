//! The conditions of every state, by the table of docs/protocol/kube-controllers.md#4.3.

use muster_api::host::HostFinding;
use muster_controller::conditions::{ConditionStatus, Synced, set};
use muster_controller::health;
use muster_core::record::HostState;
use muster_resources::{AgentStatus, Condition};

use super::{at, host};
use crate::agent::status::conditions::{Reason, SIGNS, Type, network, of_host, without_host};

/// `(RequirementsMet, Installed, Bound)` of an approved host.
fn table(state: &HostState) -> [(ConditionStatus, Reason); 3] {
    use HostState as S;
    use {ConditionStatus as T, Reason as R};
    let not_started = (T::False, R::InstallationNotStarted);
    let (bound, unbound) = ((T::True, R::Bound), (T::False, R::Unbound));
    let unknown = (T::Unknown, R::UnknownStatus);
    match state {
        S::Known => [(T::True, R::AgentIsReady), not_started, bound],
        S::KnownUnbound => [(T::True, R::AgentIsReady), not_started, unbound],
        S::Insufficient { .. } | S::Disconnected | S::Discovering | S::PendingForInput { .. } => {
            [(T::False, R::AgentNotReady), not_started, bound]
        }
        S::InsufficientUnbound { .. } | S::DisconnectedUnbound | S::DiscoveringUnbound => {
            [(T::False, R::AgentNotReady), not_started, unbound]
        }
        S::Installing | S::InstallingInProgress | S::InstallingPendingUserAction { .. } => [
            (T::True, R::AgentAlreadyInstalling),
            (T::False, R::InstallationInProgress),
            bound,
        ],
        S::AddedToExistingCluster => [
            (T::True, R::AgentInstallationStopped),
            (T::True, R::InstallationCompleted),
            bound,
        ],
        S::Error => [
            (T::True, R::AgentInstallationStopped),
            (T::False, R::InstallationFailed),
            bound,
        ],
        S::Binding => [
            (T::False, R::Binding),
            (T::False, R::Binding),
            (T::False, R::Binding),
        ],
        S::Unbinding => [
            (T::False, R::Unbinding),
            (T::False, R::Unbinding),
            (T::False, R::Unbinding),
        ],
        S::UnbindingPendingUserAction => [
            (T::False, R::Unbinding),
            (T::False, R::Unbinding),
            (T::False, R::UnbindingPendingUserAction),
        ],
        S::Reclaiming | S::ReclaimingRebooting | S::Cancelled | S::ResettingPendingUserAction => {
            [unknown, unknown, bound]
        }
    }
}

#[test]
fn every_state_has_the_conditions_of_the_table() {
    for state in HostState::one_of_each() {
        let name = state.status().name();
        let found = of_host(&host(state.clone()), true, &Synced::Ok(None), None);
        let of = |kind: Type| {
            let one = found.iter().find(|one| one.type_ == kind).expect("each is set");
            assert!(!one.message.is_empty(), "{name} {kind:?}");
            (one.status, one.reason)
        };
        let ours = [of(Type::RequirementsMet), of(Type::Installed), of(Type::Bound)];
        assert_eq!(ours, table(&state), "{name}");
        let silent = matches!(state, HostState::Disconnected | HostState::DisconnectedUnbound);
        assert_eq!(of(Type::Connected).0 == ConditionStatus::False, silent, "{name}");
    }
}

#[test]
fn a_host_that_is_fit_waits_for_approval() {
    for state in [HostState::Known, HostState::KnownUnbound] {
        let found = of_host(&host(state), false, &Synced::Ok(None), None);
        let requirements = &found[2];
        assert_eq!(
            (requirements.status, requirements.reason),
            (ConditionStatus::False, Reason::AgentIsNotApproved)
        );
        assert!(
            requirements.message.contains("spec.approved"),
            "{}",
            requirements.message
        );
    }
}

#[test]
fn what_cannot_be_followed_is_told_with_its_reason() {
    let host = host(HostState::KnownUnbound);
    let input = &of_host(&host, true, &Synced::Input("hostname: bad".into()), None)[0];
    assert_eq!(
        (input.status, input.reason),
        (ConditionStatus::False, Reason::InputError)
    );
    assert!(input.message.contains("hostname: bad"));
    let backend = &of_host(&host, true, &Synced::Backend("no cluster".into()), None)[0];
    assert_eq!(
        (backend.status, backend.reason),
        (ConditionStatus::False, Reason::BackendError)
    );
    assert!(backend.message.contains("no cluster"));
}

#[test]
fn an_agent_without_a_host_knows_nothing() {
    let found = without_host(&Synced::Backend("gone".into()));
    assert_eq!(found.len(), 6);
    for one in &found[1..] {
        assert_eq!(
            (one.status, one.reason),
            (ConditionStatus::Unknown, Reason::NotAvailable),
            "{:?}",
            one.type_
        );
    }
}

#[test]
fn what_a_ready_host_still_needs_is_told() {
    let of = |state, synced: &Synced| of_host(&host(state), true, synced, None).remove(2).message;
    let ok = Synced::Ok(None);
    assert_eq!(of(HostState::Known, &ok), "The host may be installed");
    assert!(of(HostState::KnownUnbound, &ok).contains("spec.clusterDeploymentName"));
    let refused = Synced::Input("hostname: bad".into());
    for state in [HostState::Known, HostState::KnownUnbound] {
        assert!(of(state, &refused).contains("see SpecSynced"));
    }
}

#[test]
fn a_network_that_is_not_as_it_was_asked_for_is_a_condition_until_it_is() {
    let mut host = host(HostState::KnownUnbound);
    let mut status = AgentStatus::default();
    assert!(network(&host, &status).is_none(), "nothing was ever wrong");
    host.data.findings = vec![HostFinding {
        kind: "network-not-as-configured".into(),
        about: "bond0".into(),
        others: Vec::new(),
        message: "bond0: its mode is balance-rr, and 802.3ad is configured".into(),
    }];
    let told = network(&host, &status).expect("it is told");
    assert_eq!(
        (told.type_, told.status, told.reason),
        (
            Type::NetworkAsConfigured,
            ConditionStatus::False,
            Reason::NetworkDiffers
        )
    );
    assert!(told.message.contains("802.3ad"), "{}", told.message);
    set(&mut status.conditions, told, at(0));
    host.data.findings.clear();
    let mended = network(&host, &status).expect("that it is gone is told, too");
    assert_eq!(mended.status, ConditionStatus::True);
}

#[test]
fn a_check_without_a_result_is_not_told_as_failing() {
    use muster_api::validation::ValidationStatus::{Failure, Pending};
    use muster_core::record::CheckId;
    let told = |ntp, memory| {
        let failed = vec![CheckId::NtpSynced, CheckId::HasMinMemory];
        let mut host = host(HostState::Insufficient { failed });
        let check = |id: &str, status, message: &str| muster_api::validation::ValidationResult {
            id: id.into(),
            status,
            message: message.into(),
        };
        let checks = vec![
            check("ntp-synced", ntp, "Waits"),
            check("has-min-memory", memory, "Has 1"),
        ];
        host.data.validations.insert("hardware".into(), checks);
        let validated = of_host(&host, true, &Synced::Ok(None), None).remove(3);
        assert_eq!(validated.reason, Reason::ValidationsFailing);
        validated.message
    };
    assert_eq!(
        told(Pending, Pending),
        "Checks of the host have no result yet: Waits ; Has 1"
    );
    assert_eq!(told(Failure, Failure), "Checks of the host fail: Waits ; Has 1");
    assert_eq!(told(Pending, Failure), "Checks of the host fail: Has 1 ; Waits");
}

#[test]
fn failed_checks_are_told_in_their_own_words() {
    let failed = vec![muster_core::record::CheckId::HasMinMemory];
    let mut host = host(HostState::Insufficient { failed });
    host.data.status_info = "Not fit yet: It has 1 GiB and needs 8".into();
    let check = muster_api::validation::ValidationResult {
        id: "has-min-memory".into(),
        status: muster_api::validation::ValidationStatus::Failure,
        message: "It has 1 GiB and needs 8".into(),
    };
    host.data.validations.insert("hardware".into(), vec![check]);
    let conditions = of_host(&host, true, &Synced::Ok(None), None);
    let of = |type_| conditions.iter().find(|one| one.type_ == type_).unwrap();
    assert_eq!(
        of(Type::RequirementsMet).message,
        "Not fit yet: It has 1 GiB and needs 8"
    );
    let validated = of(Type::Validated);
    assert_eq!(validated.reason, Reason::ValidationsFailing);
    assert!(
        validated.message.contains("It has 1 GiB and needs 8"),
        "{}",
        validated.message
    );
}

/// What generic programs read: nothing of a host that waits for its approval or a cluster, or is a node.
#[test]
fn hosts_on_their_way_and_hosts_that_go_no_further_are_told_apart() {
    for state in HostState::one_of_each() {
        let mut list: Vec<Condition> = Vec::new();
        let host = host(state.clone());
        for desired in of_host(&host, true, &Synced::Ok(None), None) {
            set(&mut list, desired, at(0));
        }
        health::show(&mut list, &SIGNS, at(0));
        let shown = list
            .iter()
            .map(|one| one.type_.as_str())
            .find(|type_| ["Reconciling", "Stalled"].contains(type_));
        let wanted = match &state {
            HostState::AddedToExistingCluster => None,
            HostState::Error
            | HostState::Disconnected
            | HostState::DisconnectedUnbound
            | HostState::Insufficient { .. }
            | HostState::InsufficientUnbound { .. }
            | HostState::PendingForInput { .. }
            | HostState::UnbindingPendingUserAction => Some("Stalled"),
            // Validated is unknown, as no check was made.
            _ => Some("Reconciling"),
        };
        assert_eq!(shown, wanted, "{state:?}");
    }
    for reason in SIGNS.iter().flat_map(|sign| sign.reasons()) {
        assert!(reason.parse::<Reason>().is_ok(), "{reason}");
    }
}
