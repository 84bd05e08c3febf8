//! Decides if a machine may register in the place of a known host: with another key than the host's, or in another
//! InfraEnv of its namespace. A reboot loses the key, which is kept in memory, so the same machine comes back with
//! another one; without further conditions the same would be open to every holder of an image's token.

use chrono::Duration;
use muster_api::time::Timestamp;

use super::register::Machine;
use crate::record::{HostData, HostState, Phase, ReinstallStep};
use crate::rules::stages::has_agent;

/// Silence of the key's holder after which another key is accepted. Agents poll once a minute, so the machine has
/// stopped by then; and most machines need longer to start.
pub const KEY_SILENCE: Duration = Duration::seconds(90);

/// True if `machine` may register as this host. `heard`: the last request of the key's holder, or the earliest time
/// from which on one could have been received.
///
/// Silence lets other machines with a key take the place of a host in discovery, but never of one that is being
/// installed or was installed; and a machine without a fingerprint never takes the place of a host that has one.
pub fn may_register(
    state: &HostState,
    data: &HostData,
    machine: &Machine,
    heard: Timestamp,
    now: Timestamp,
) -> bool {
    let key = &machine.public_key;
    if data.public_key.is_empty() || data.public_key == *key {
        return true;
    }
    let is_compared = data.fingerprint.is_none() || machine.fingerprint.is_some();
    let in_discovery = !matches!(state.phase(), Phase::Installing | Phase::Ended);
    let is_silent = in_discovery && !key.is_empty() && now - heard >= KEY_SILENCE;
    is_compared && (expects_boot(state, data) || is_silent)
}

/// True while a host keeps its id from machines that register in another InfraEnv of its namespace: it is in a cluster
/// or moving, has a key, or sent a request recently (`heard`). A host that left for good has to be deleted by a user.
pub fn stays(state: &HostState, data: &HostData, heard: Timestamp, now: Timestamp) -> bool {
    state.phase() != Phase::Unbound || !data.public_key.is_empty() || now - heard < KEY_SILENCE
}

/// True if the next registration is expected from a machine that reboots at the service's request, or that a user
/// boots. Installed nodes with our agent poll, and count like all others.
fn expects_boot(state: &HostState, data: &HostData) -> bool {
    match state {
        // As in `reclaiming`: the node has not been instructed to reboot.
        HostState::ResettingPendingUserAction => data.reinstall_step() != Some(ReinstallStep::Download),
        HostState::UnbindingPendingUserAction
        | HostState::ReclaimingRebooting
        | HostState::InstallingPendingUserAction { .. }
        | HostState::DisconnectedUnbound
        | HostState::Disconnected => true,
        HostState::InstallingInProgress => !has_agent(data),
        HostState::DiscoveringUnbound
        | HostState::KnownUnbound
        | HostState::InsufficientUnbound { .. }
        | HostState::Binding
        | HostState::Discovering
        | HostState::Known
        | HostState::Insufficient { .. }
        | HostState::PendingForInput { .. }
        | HostState::Installing
        | HostState::AddedToExistingCluster
        | HostState::Error
        | HostState::Cancelled
        | HostState::Unbinding
        | HostState::Reclaiming => false,
    }
}

/// True from the request to install until the host is in discovery again: an operator has chosen it, and a new image
/// would not help it. A replaced token does not stop its agent, which proves the host's key.
pub fn outlasts_token(state: &HostState) -> bool {
    match state.phase() {
        Phase::Installing | Phase::Ended => true,
        Phase::Moving => !matches!(state, HostState::Binding | HostState::Unbinding),
        Phase::Unbound | Phase::PreInstall => false,
    }
}

#[cfg(test)]
mod tests {
    use muster_api::fingerprint::Fingerprint;

    use super::*;

    #[test]
    fn another_key_is_taken_when_the_first_is_silent_or_a_boot_is_expected() {
        let heard = Timestamp::UNIX_EPOCH;
        let mut data = HostData::new(heard);
        let may = |state: &HostState, data: &HostData, key: &str, after| {
            let machine = Machine {
                public_key: key.into(),
                ..Machine::default()
            };
            may_register(state, data, &machine, heard, heard + Duration::seconds(after))
        };
        for state in HostState::one_of_each() {
            assert!(
                may(&state, &data, "", 0) && may(&state, &data, "b", 0),
                "no key yet"
            );
        }
        data.public_key = "a".into();
        for state in HostState::one_of_each() {
            assert!(may(&state, &data, "a", 0));
            let expected = expects_boot(&state, &data);
            let in_discovery = matches!(state.phase(), Phase::Unbound | Phase::PreInstall | Phase::Moving);
            assert_eq!(may(&state, &data, "b", 89), expected, "{state:?}");
            assert_eq!(may(&state, &data, "b", 90), expected || in_discovery, "{state:?}");
            assert_eq!(may(&state, &data, "", 9000), expected, "{state:?}");
        }
        assert!(!may(&HostState::KnownUnbound, &data, "b", 89));
        assert!(!may(&HostState::AddedToExistingCluster, &data, "b", 89));
        assert!(may(&HostState::ReclaimingRebooting, &data, "b", 0));
        assert!(!may(&HostState::AddedToExistingCluster, &data, "b", 9000));
        data.fingerprint = Some(Fingerprint::default());
        assert!(
            !may(&HostState::ReclaimingRebooting, &data, "b", 0)
                && !may(&HostState::KnownUnbound, &data, "b", 9000)
        );
        assert!(may(&HostState::KnownUnbound, &data, "a", 0));
    }

    #[test]
    fn only_an_unbound_host_without_a_key_that_is_silent_is_left_for_another_infra_env() {
        let heard = Timestamp::UNIX_EPOCH;
        let mut data = HostData::new(heard);
        let stays_after = |state: &HostState, data: &HostData, after| {
            stays(state, data, heard, heard + Duration::seconds(after))
        };
        for state in HostState::one_of_each() {
            assert!(stays_after(&state, &data, 89), "{state:?}");
            assert_eq!(
                stays_after(&state, &data, 90),
                state.phase() != Phase::Unbound,
                "{state:?}"
            );
        }
        data.public_key = "a".into();
        for state in HostState::one_of_each() {
            assert!(stays_after(&state, &data, 9000), "{state:?}");
        }
    }
}
