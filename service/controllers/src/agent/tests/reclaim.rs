//! Tests the hosts of deleted Agents: no host that runs a system of its own is forgotten without a report.

use muster_core::record::{HostState, NodeAgent};

use super::host;
use crate::agent::lifecycle::reclaim::{Fate, fate};

#[test]
fn a_node_is_reclaimed_and_awaited_and_what_cannot_come_back_is_told() {
    let mut node = host(HostState::AddedToExistingCluster);
    assert_eq!(fate(&node, true), Fate::LeftBehind, "no agent of ours runs on it");
    node.data.node_agent = NodeAgent::Installed;
    assert_eq!(fate(&node, true), Fate::Reclaimed);
    assert_eq!(
        fate(&node, false),
        Fate::LeftBehind,
        "its cluster goes, or it is to be left alone"
    );
    for state in [HostState::Reclaiming, HostState::ReclaimingRebooting] {
        assert_eq!(fate(&host(state.clone()), true), Fate::Awaited);
        assert_eq!(fate(&host(state), false), Fate::LeftBehind);
    }
    for state in [
        HostState::UnbindingPendingUserAction,
        HostState::ResettingPendingUserAction,
    ] {
        assert_eq!(fate(&host(state), true), Fate::LeftBehind);
    }
    for state in [
        HostState::KnownUnbound,
        HostState::DisconnectedUnbound,
        HostState::Known,
        HostState::Binding,
        HostState::Installing,
    ] {
        assert_eq!(fate(&host(state.clone()), true), Fate::Forgotten, "{state:?}");
    }
}
