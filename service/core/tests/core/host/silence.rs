//! Silence, deadlines, and lost media.

use chrono::Duration;
use muster_api::host::{HostStage, HostStatus};
use muster_api::steps::StepType;
use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{DeafTime, HostState};

use crate::world::{World, said, start};

#[test]
fn a_silent_host_is_disconnected_at_its_deadline_and_comes_back_with_its_next_poll() {
    let mut world = World::new();
    let host = world.known_host();
    let due = host.due_at.unwrap();
    assert_eq!(due, start() + Duration::minutes(3));
    world.now = due;
    let step = world.step(&host, &HostEvent::DeadlinePassed).unwrap();
    assert_eq!(step.host.state, HostState::DisconnectedUnbound);
    assert_eq!(step.host.due_at, None);
    let (from, to, why) = step.transition.unwrap();
    assert_eq!(
        (from, to),
        (HostStatus::KnownUnbound, HostStatus::DisconnectedUnbound)
    );
    assert!(why.contains("3 minutes"), "{why}");
    world.wait(Duration::minutes(10));
    world.poll();
    let back = world.step(&step.host, &HostEvent::CheckedIn).unwrap();
    assert_eq!(back.host.state, HostState::KnownUnbound);
    assert_eq!(back.host.due_at, Some(world.now + Duration::minutes(3)));
    assert_eq!(back.host.checked_in_at, world.now);
}

#[test]
fn a_deadline_of_a_host_that_polls_only_moves_on() {
    let mut world = World::new();
    let host = world.known_host();
    world.wait(Duration::minutes(2));
    world.poll();
    world.now = host.due_at.unwrap();
    let step = world.step(&host, &HostEvent::DeadlinePassed).unwrap();
    assert!(step.changed && step.only_due_at);
    assert_eq!(step.host.due_at, Some(start() + Duration::minutes(5)));
    assert_eq!(step.host.state, host.state);
    assert_eq!(step.host.data.updated_at, host.data.updated_at);
    assert!(step.events.is_empty());
}

#[test]
fn a_restart_of_the_service_disconnects_nobody_who_then_polls() {
    let mut world = World::new();
    let host = world.known_host();
    world.wait(Duration::hours(5));
    world.last_seen = None;
    world.listening_since = Some(world.now);
    let step = world.step(&host, &HostEvent::DeadlinePassed).unwrap();
    assert_eq!(step.host.state, HostState::KnownUnbound);
    assert_eq!(step.host.due_at, Some(world.now + Duration::minutes(3)));
    world.wait(Duration::minutes(3));
    let step = world.step(&step.host, &HostEvent::DeadlinePassed).unwrap();
    assert_eq!(step.host.state, HostState::DisconnectedUnbound);
}

#[test]
fn repeating_what_is_known_writes_nothing() {
    let mut world = World::new();
    let host = world.known_host();
    world.wait(Duration::seconds(60));
    world.poll();
    for event in [
        HostEvent::CheckedIn,
        HostEvent::FactsChanged,
        HostEvent::MediaBack,
        HostEvent::InventoryReported(crate::world::good_inventory()),
    ] {
        let step = world.step(&host, &event).unwrap();
        assert!(!step.changed, "{}", event.name());
        assert_eq!(step.host, host);
    }
}

#[test]
fn a_lost_medium_disconnects_until_a_step_goes_well() {
    let mut world = World::new();
    let host = world.known_host();
    let lost = world.step(&host, &HostEvent::MediaLost).unwrap();
    assert_eq!(lost.host.state, HostState::DisconnectedUnbound);
    let names: Vec<&str> = lost.events.iter().map(|event| &*event.name).collect();
    assert_eq!(
        names,
        [
            "host_media_disconnected",
            "host_validation_failed",
            "host_status_updated"
        ]
    );
    assert!(!world.step(&lost.host, &HostEvent::MediaLost).unwrap().changed);
    assert!(!world.step(&lost.host, &HostEvent::CheckedIn).unwrap().changed);
    let ntp = said(StepType::NtpSynchronizer, r#"{"ntp_sources":[]}"#);
    let back = world.after(&lost.host, &ntp[0]);
    assert_eq!(back.state, HostState::KnownUnbound);
}

#[test]
fn registering_again_forgets_the_last_boot_and_keeps_what_users_chose() {
    let mut world = World::new();
    let mut host = world.known_host();
    host.data.requested_hostname = Some("worker-1".into());
    host.data.node_labels = vec![("a".into(), "b".into())];
    world.wait(Duration::hours(1));
    let registered = HostEvent::Registered {
        public_key: String::new(),
        agent_version: "other/agent:2".into(),
        fingerprint: None,
    };
    let step = world.step(&host, &registered).unwrap();
    let again = &step.host;
    assert_eq!(again.state, HostState::DiscoveringUnbound);
    assert!(again.inventory.is_none() && again.data.ntp_sources.is_none());
    assert_eq!(again.data.discovery_agent_version, "other/agent:2");
    assert_eq!(again.data.registered_at, world.now);
    assert_eq!(again.data.created_at, start());
    assert_eq!(again.data.requested_hostname.as_deref(), Some("worker-1"));
    assert_eq!(again.data.installation_disk_id, host.data.installation_disk_id);
    assert_eq!(again.due_at, Some(world.now + Duration::minutes(3)));
    let names: Vec<&str> = step.events.iter().map(|event| &*event.name).collect();
    assert_eq!(names, ["host_status_updated"]);
}

#[test]
fn an_infra_env_for_disconnected_installation_takes_no_hosts() {
    let mut world = World::new();
    let host = world.known_host();
    world.infra_env.settings.image_type = muster_api::infra_env::ImageType::DisconnectedIso;
    let registered = HostEvent::Registered {
        public_key: String::new(),
        agent_version: "x".into(),
        fingerprint: None,
    };
    let refused = world.step(&host, &registered).unwrap_err();
    assert_eq!(
        refused.class,
        muster_core::lifecycle::host::RefusalClass::BadInput
    );
}

#[test]
fn time_in_which_nothing_was_heard_is_added_to_the_limits_of_stages() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let installing = world.after(&host, &HostEvent::InstallRequested);
    let writing = HostEvent::Progressed {
        stage: Some(HostStage::WritingImageToDisk),
        info: String::new(),
    };
    let writing = world.after(&installing, &writing);
    let began = world.now;
    world.deaf = vec![DeafTime {
        from: began + Duration::minutes(10),
        to: began + Duration::minutes(50),
    }];
    let mut host = writing;
    for (minutes, wanted) in [
        (60, HostState::InstallingInProgress),
        (69, HostState::InstallingInProgress),
        (70, HostState::Error),
    ] {
        world.now = began + Duration::minutes(minutes);
        world.poll();
        host = world.after(&host, &HostEvent::DeadlinePassed);
        assert_eq!(
            host.state, wanted,
            "after {minutes} minutes: {}",
            host.data.status_info
        );
    }
}

#[test]
fn times_of_a_clock_that_was_ahead_count_from_when_it_was_set_back() {
    let mut world = World::new();
    world.wait(Duration::hours(5));
    let host = world.known_host();
    world.now = start();
    world.last_seen = None;
    world.listening_since = Some(world.now);
    let again = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(again.state, HostState::KnownUnbound);
    assert_eq!(again.checked_in_at, world.now);
    assert_eq!(again.data.status_updated_at, world.now);
    assert_eq!(again.due_at, Some(world.now + Duration::minutes(3)));
    world.wait(Duration::minutes(3));
    let lost = world.after(&again, &HostEvent::DeadlinePassed);
    assert_eq!(lost.state, HostState::DisconnectedUnbound);
}
