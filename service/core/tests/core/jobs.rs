//! What a job over many hosts does with a host.

use muster_api::bmc::BmcPowerAction;
use muster_api::host::{HostRoleUpdate, KeyValue};
use muster_api::ids::ClusterId;
use muster_api::jobs::{DiskRule, JobAction, JobPower};
use muster_core::lifecycle::host::{HostEvent, JobStep};
use muster_core::record::{Host, HostState};

use crate::world::World;

fn host() -> Host {
    World::new().known_host()
}

fn event(action: &JobAction, value: &str, host: &Host) -> HostEvent {
    match JobStep::of(action, value, host) {
        JobStep::Event(event) => *event,
        other => panic!("{other:?}"),
    }
}

fn is_already(action: &JobAction, value: &str, host: &Host) -> bool {
    JobStep::of(action, value, host) == JobStep::Already
}

#[test]
fn a_host_that_is_so_already_is_left_alone() {
    let mut host = host();
    let cluster = ClusterId::random();
    let bind = JobAction::Bind { cluster };
    assert_eq!(event(&bind, "", &host), HostEvent::Bound { cluster_id: cluster });
    assert!(is_already(&JobAction::Unbind, "", &host));
    assert!(is_already(&JobAction::RevokeApproval, "", &host));
    assert_eq!(
        JobStep::of(&JobAction::Approve, "", &host),
        JobStep::Approval(true)
    );
    host.cluster_id = Some(cluster);
    host.data.approved = true;
    assert!(is_already(&bind, "", &host) && is_already(&JobAction::Approve, "", &host));
    assert_eq!(event(&JobAction::Unbind, "", &host), HostEvent::Unbound);
    // Of another cluster: the event is refused with the reason.
    let elsewhere = JobAction::Bind {
        cluster: ClusterId::random(),
    };
    assert!(!is_already(&elsewhere, "", &host));
    assert_eq!(event(&JobAction::Install, "", &host), HostEvent::InstallRequested);
    for state in [
        HostState::Installing,
        HostState::InstallingInProgress,
        HostState::AddedToExistingCluster,
    ] {
        host.state = state;
        assert!(is_already(&JobAction::Install, "", &host));
    }
}

#[test]
fn settings_are_edited_where_they_differ() {
    let mut host = host();
    let names = JobAction::Hostname {
        pattern: Some("node-{n}".into()),
        names: Default::default(),
    };
    let HostEvent::Edited(params) = event(&names, "node-1", &host) else {
        panic!("it is no edit");
    };
    assert_eq!(params.host_name.as_deref(), Some("node-1"));
    host.data.requested_hostname = Some("node-1".into());
    assert!(is_already(&names, "node-1", &host));

    let role = JobAction::Role {
        role: HostRoleUpdate::Worker,
    };
    let HostEvent::Edited(params) = event(&role, "", &host) else {
        panic!("it is no edit");
    };
    assert_eq!(params.host_role, Some(HostRoleUpdate::Worker));

    let rule = DiskRule::Path {
        path: "/dev/sda".into(),
    };
    let disk = JobAction::Disk { rule };
    let HostEvent::Edited(params) = event(&disk, "disk-1", &host) else {
        panic!("it is no edit");
    };
    assert_eq!(params.disks_selected_config.unwrap()[0].id, "disk-1");
    host.data.requested_disk_id = "disk-1".into();
    assert!(is_already(&disk, "disk-1", &host));
}

#[test]
fn labels_are_set_beside_the_others() {
    let mut host = host();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    host.data.node_labels = vec![pair("zone", "a"), pair("rack", "r1"), pair("old", "")];
    let labels = |set: &[(&str, &str)], remove: &[&str]| JobAction::Labels {
        set: set.iter().map(|(key, value)| pair(key, value)).collect(),
        remove: remove.iter().map(|key| (*key).to_owned()).collect(),
    };
    let HostEvent::Edited(params) = event(&labels(&[("rack", "r2"), ("new", "x")], &["old"]), "", &host)
    else {
        panic!("it is no edit");
    };
    let expected = [("zone", "a"), ("rack", "r2"), ("new", "x")].map(|(key, value)| KeyValue {
        key: key.into(),
        value: value.into(),
    });
    assert_eq!(params.node_labels.unwrap(), expected);
    assert!(is_already(&labels(&[("rack", "r1")], &["none"]), "", &host));
}

#[test]
fn power_discovery_and_deletion_are_no_events_of_the_host() {
    let host = host();
    for (power, action) in [
        (JobPower::On, BmcPowerAction::On),
        (JobPower::Off, BmcPowerAction::Off),
        (JobPower::Reset, BmcPowerAction::Reset),
    ] {
        let step = JobStep::of(&JobAction::Power { power }, "", &host);
        assert_eq!(step, JobStep::Power(action));
    }
    assert_eq!(JobStep::of(&JobAction::Discover, "", &host), JobStep::Discovery);
    assert_eq!(JobStep::of(&JobAction::Delete, "", &host), JobStep::Deletion);
    assert_eq!(event(&JobAction::Logs, "", &host), HostEvent::LogsAsked);
}
