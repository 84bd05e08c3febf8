//! Tests moves into clusters and out of them, by docs/protocol/kube-controllers.md#4.1 and §4.4.

use muster_api::ids::ClusterId;
use muster_core::record::{HostState, KubeRef};
use muster_resources::{AgentSpec, ClusterReference};
use uuid::Uuid;

use super::{cluster_id, host};
use crate::agent::spec::membership::{Clusters, Move, next};

fn wants(name: &str) -> AgentSpec {
    AgentSpec {
        cluster_deployment_name: Some(ClusterReference {
            name: name.into(),
            namespace: "lab".into(),
        }),
        ..AgentSpec::default()
    }
}

fn known(wanted: Option<ClusterId>) -> Clusters<'static> {
    Clusters {
        wanted,
        ..Clusters::default()
    }
}

#[test]
fn a_host_is_given_to_its_cluster_as_soon_as_it_is_fit_and_the_cluster_is_there() {
    let (spec, here) = (wants("a"), known(Some(cluster_id())));
    assert_eq!(
        next(&spec, &host(HostState::KnownUnbound), &here),
        Move::Bind(cluster_id())
    );
    assert_eq!(next(&spec, &host(HostState::Known), &here), Move::Stay);
    let early = next(&spec, &host(HostState::DiscoveringUnbound), &here);
    assert!(
        matches!(&early, Move::Later(why) if why.contains("known-unbound")),
        "{early:?}"
    );
    let untaken = Clusters {
        untaken: Some("there is no ClusterDeployment lab/a"),
        ..Clusters::default()
    };
    let waits = next(&spec, &host(HostState::KnownUnbound), &untaken);
    assert!(
        matches!(&waits, Move::Unknown(why) if why.contains("there is no ClusterDeployment lab/a")),
        "{waits:?}"
    );
}

#[test]
fn a_host_leaves_its_cluster_in_every_state_that_allows_it() {
    for state in HostState::one_of_each() {
        let host = host(state);
        let found = next(&AgentSpec::default(), &host, &Clusters::default());
        let name = host.state.status().name();
        match name {
            "known"
            | "discovering"
            | "disconnected"
            | "insufficient"
            | "pending-for-input"
            | "error"
            | "cancelled"
            | "added-to-existing-cluster" => assert_eq!(found, Move::Unbind { cancel: false }, "{name}"),
            "installing" | "installing-in-progress" | "installing-pending-user-action" => {
                assert_eq!(found, Move::Unbind { cancel: true }, "{name}");
            }
            _ if host.cluster_id.is_none() => assert_eq!(found, Move::Stay, "{name}"),
            _ => assert!(matches!(found, Move::Later(_)), "{name}: {found:?}"),
        }
    }
}

#[test]
fn a_host_of_a_bound_infra_env_stays() {
    let clusters = Clusters {
        infra_env: Some(cluster_id()),
        ..Clusters::default()
    };
    let found = next(&AgentSpec::default(), &host(HostState::Known), &clusters);
    assert!(matches!(found, Move::Never(_)), "{found:?}");
}

#[test]
fn another_cluster_means_leaving_first() {
    let other = known(Some(ClusterId(Uuid::from_u128(0xd))));
    let host = host(HostState::Known);
    assert_eq!(next(&wants("b"), &host, &other), Move::Unbind { cancel: false });
    let name = KubeRef::new("lab", "a");
    let going = Clusters {
        present: Some(&name),
        ..Clusters::default()
    };
    assert_eq!(
        next(&wants("a"), &host, &going),
        Move::Stay,
        "its cluster is just being forgotten"
    );
}
