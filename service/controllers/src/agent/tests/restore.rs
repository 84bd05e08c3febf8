//! Tests hosts that are restored from their Agents, for databases that were lost.

use std::collections::BTreeMap;

use muster_api::fingerprint::Fingerprint;
use muster_api::host::HostRole;
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::record::{Host, HostState};
use muster_resources::{Agent, AgentSpec};

use super::{at, cluster_id, host};
use crate::agent::lifecycle::restore::{Place, restored};
use crate::agent::metadata;

fn agent_of(host: &Host) -> Agent {
    let mut agent = Agent::new(
        &host.id.to_string(),
        AgentSpec {
            approved: true,
            ..AgentSpec::default()
        },
    );
    let annotations = metadata::annotations(host);
    agent.metadata.annotations = Some(
        annotations
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    );
    agent
}

fn place(host: &Host, cluster_id: Option<ClusterId>) -> Place {
    Place {
        id: host.id,
        infra_env_id: host.infra_env_id,
        cluster_id,
    }
}

#[test]
fn what_the_agent_tells_comes_back() {
    let mut lost = host(HostState::Known);
    lost.data.role = HostRole::Worker;
    lost.data.public_key = "aa".into();
    lost.data.fingerprint = Some(Fingerprint {
        system_serial: "S1".into(),
        ..Fingerprint::default()
    });
    let found = restored(&agent_of(&lost), place(&lost, Some(cluster_id())), at(9)).expect("it tells enough");
    assert_eq!(found.inventory, lost.inventory);
    assert_eq!(found.cluster_id, lost.cluster_id);
    assert_eq!((found.data.role, found.data.approved), (HostRole::Worker, true));
    assert_eq!(found.state, HostState::Discovering, "its checks are made anew");
    assert_eq!(found.data.agent_disk_reasons.len(), 3);
    let machine = |host: &Host| {
        (
            host.data.public_key.clone(),
            host.data.fingerprint.clone(),
            host.data.created_at,
        )
    };
    assert_eq!(
        machine(&found),
        machine(&lost),
        "nobody else registers as this host"
    );
}

#[test]
fn every_state_comes_back_as_one_that_can_go_on() {
    for state in HostState::one_of_each() {
        let lost = host(state);
        let name = lost.state.status().name();
        let found =
            restored(&agent_of(&lost), place(&lost, lost.cluster_id), at(9)).expect("it tells enough");
        let expected = match name {
            "discovering" | "known" | "disconnected" | "insufficient" | "pending-for-input" | "binding" => {
                "discovering"
            }
            "added-to-existing-cluster" | "cancelled" | "unbinding-pending-user-action" => name,
            "installing"
            | "installing-in-progress"
            | "installing-pending-user-action"
            | "error"
            | "resetting-pending-user-action" => "error",
            "reclaiming" | "reclaiming-rebooting" => "unbinding-pending-user-action",
            _ => "discovering-unbound",
        };
        assert_eq!(found.state.status().name(), expected, "{name}");
        assert_eq!(
            found.cluster_id.is_some(),
            expected != "discovering-unbound" && lost.cluster_id.is_some(),
            "{name}"
        );
    }
}

#[test]
fn an_agent_that_tells_nothing_restores_nothing() {
    let mut agent = agent_of(&host(HostState::KnownUnbound));
    agent.metadata.annotations = Some(BTreeMap::new());
    let nowhere = Place {
        id: HostId::random(),
        infra_env_id: InfraEnvId::random(),
        cluster_id: None,
    };
    assert_eq!(restored(&agent, nowhere, at(0)), None);
}

#[test]
fn failures_that_the_status_shows_still_count() {
    let lost = host(HostState::KnownUnbound);
    let mut agent = agent_of(&lost);
    let failures = |agent: &Agent| {
        let found = restored(agent, place(&lost, None), at(9)).expect("it tells enough");
        found.data.failures
    };
    assert_eq!(failures(&agent), None);
    agent.status = Some(muster_resources::AgentStatus {
        failures: Some(muster_resources::AgentFailures {
            count: Some(2),
            last_time: Some(muster_controller::conditions::time(at(3))),
            ..Default::default()
        }),
        ..Default::default()
    });
    let found = failures(&agent).expect("two");
    assert_eq!((found.count, found.last_at), (2, at(3)));
}
