//! Compares statuses with that of the recorded AgentClusterInstall.

use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_controller::conditions::Synced;
use muster_core::record::{Cluster, ClusterData};
use muster_resources::{AgentClusterInstallSpec, AgentClusterInstallStatus};
use serde_json::Value;

use super::status::{StoredCluster, status};
use crate::recorded::comparable;

const RECORDED: &str = include_str!("../recorded/agent_cluster_install_imported.json");

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn spec() -> AgentClusterInstallSpec {
    serde_json::from_value(recorded()["spec"].clone()).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap()
}

fn cluster(data: ClusterData) -> Cluster {
    Cluster {
        id: ClusterId::random(),
        kube: None,
        mirror: None,
        version: 1,
        created_at: at(0),
        updated_at: at(0),
        data,
    }
}

fn status_of(
    before: Option<&AgentClusterInstallStatus>,
    synced: &Synced,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> AgentClusterInstallStatus {
    let stored = cluster.map(|cluster| StoredCluster {
        cluster,
        events_url: "http://muster.example.test/events".into(),
    });
    status(&spec(), before, synced, stored.as_ref(), now)
}

fn reasons(status: &AgentClusterInstallStatus) -> Vec<(&str, &str, &str)> {
    let reason = |one: &'_ muster_resources::HiveCondition| one.reason.as_deref().map(str::len);
    assert!(status.conditions.iter().all(|one| reason(one).is_some()));
    status
        .conditions
        .iter()
        .map(|one| {
            (
                one.type_.as_str(),
                one.status.as_str(),
                one.reason.as_deref().unwrap_or_default(),
            )
        })
        .collect()
}

#[test]
fn an_imported_cluster_has_the_recorded_status() {
    let cluster = cluster(ClusterData::default());
    let made = status_of(None, &Synced::Ok(None), Some(&cluster), at(0));
    let synced = &made.conditions[0];
    assert_eq!(
        (synced.type_.as_str(), synced.message.as_deref()),
        ("SpecSynced", Some("SyncOK"))
    );
    let order: Vec<_> = made.conditions.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(
        order,
        [
            "SpecSynced",
            "RequirementsMet",
            "Validated",
            "Completed",
            "Failed",
            "Stopped",
            "LastInstallationPreparationFailed"
        ]
    );
    let made = comparable(&serde_json::to_value(&made).unwrap());
    assert_eq!(made, recorded()["status"]);
}

#[test]
fn a_cluster_that_is_not_known_has_unknown_conditions() {
    let why = Synced::Input("spec.clusterDeploymentRef: there is none".into());
    let made = status_of(None, &why, None, at(0));
    assert_eq!(
        reasons(&made),
        [
            ("SpecSynced", "False", "InputError"),
            ("Validated", "Unknown", "NotAvailable"),
            ("RequirementsMet", "Unknown", "NotAvailable"),
            ("Completed", "Unknown", "NotAvailable"),
            ("Failed", "Unknown", "NotAvailable"),
            ("Stopped", "Unknown", "NotAvailable"),
        ]
    );
    assert_eq!(
        serde_json::to_value(&made.debug_info).unwrap(),
        serde_json::json!({})
    );
}

#[test]
fn a_status_that_was_told_is_told_the_same_later_on() {
    let cluster = cluster(ClusterData::default());
    let first = status_of(None, &Synced::Ok(None), Some(&cluster), at(0));
    assert_eq!(
        status_of(Some(&first), &Synced::Ok(None), Some(&cluster), at(3600)),
        first
    );
}

#[test]
fn a_mistake_in_the_spec_leaves_what_is_known_of_the_cluster() {
    let cluster = cluster(ClusterData {
        api_vips: vec!["198.51.100.5".into()],
        machine_networks: vec!["198.51.100.0/24".into()],
        ..ClusterData::default()
    });
    let first = status_of(None, &Synced::Ok(None), Some(&cluster), at(0));
    let why = Synced::Input("spec.apiVIPs: \"x\" is not an IP address".into());
    let second = status_of(Some(&first), &why, Some(&cluster), at(60));
    assert_eq!(second.conditions[0].reason.as_deref(), Some("InputError"));
    assert_ne!(
        second.conditions[0].last_transition_time,
        first.conditions[0].last_transition_time
    );
    assert_eq!(second.conditions[1..], first.conditions[1..]);
    assert_eq!(second.api_vip.as_deref(), Some("198.51.100.5"));
    assert_eq!(second.machine_network[0].cidr, "198.51.100.0/24");
}
