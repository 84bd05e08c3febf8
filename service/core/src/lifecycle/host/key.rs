//! Decides when a machine may register with another key than the host's. A reboot loses the key, which is kept in memory, so the same machine
//! comes back with another one; whoever has the token of the image could, too, if no more was asked.

use chrono::Duration;
use muster_api::time::Timestamp;

use crate::record::{HostData, HostState, Phase};
use crate::rules::stages::has_agent;

/// Silence of the key's holder after which another key is taken. Agents poll once a minute, so the machine itself has stopped by then; and
/// most machines need longer to start.
pub const KEY_SILENCE: Duration = Duration::seconds(90);

/// True when a machine with `key` (empty: it has none) may register as this host. `heard`: the last request of the key's holder, or the time
/// from which on it could have been heard.
pub fn may_register(state: &HostState, data: &HostData, key: &str, heard: Timestamp, now: Timestamp) -> bool {
    data.public_key.is_empty()
        || data.public_key == key
        || expects_boot(state, data)
        || now - heard >= KEY_SILENCE
}

/// True when the next registration comes from a machine that was told to boot, or that somebody boots. Installed nodes with our agent poll,
/// and count as others do.
fn expects_boot(state: &HostState, data: &HostData) -> bool {
    match state {
        HostState::ResettingPendingUserAction
        | HostState::UnbindingPendingUserAction
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

/// True from the request to install until the host is in discovery again: an operator has chosen it, and a new image would not help it. Its
/// agent goes on with a replaced token when it proves the host's key.
pub fn outlasts_token(state: &HostState) -> bool {
    match state.phase() {
        Phase::Installing | Phase::Ended => true,
        Phase::Moving => !matches!(state, HostState::Binding | HostState::Unbinding),
        Phase::Unbound | Phase::PreInstall => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_is_taken_when_the_first_is_silent_or_a_boot_is_expected() {
        let heard = Timestamp::UNIX_EPOCH;
        let mut data = HostData::new(heard);
        let may = |state: &HostState, data: &HostData, key: &str, after| {
            may_register(state, data, key, heard, heard + Duration::seconds(after))
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
            assert!(may(&state, &data, "b", 90) && may(&state, &data, "", 90));
            assert_eq!(may(&state, &data, "b", 89), may(&state, &data, "", 89));
        }
        assert!(!may(&HostState::KnownUnbound, &data, "b", 89));
        assert!(!may(&HostState::AddedToExistingCluster, &data, "b", 89));
        assert!(may(&HostState::ReclaimingRebooting, &data, "b", 0));
    }
}
