//! Logs that an operator requests from a host.

use chrono::Duration;
use muster_api::host::{HostLogs, HostLogsState};
use muster_api::steps::{LogsGatherRequest, StepReply, StepType};
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, RefusalClass, shown_logs};
use muster_core::record::{Host, HostState};

use crate::world::{World, reply};

/// The request in the host's next instructions.
fn request(world: &World, host: &Host) -> Option<LogsGatherRequest> {
    let steps = world.steps(host).instructions.into_iter().flatten();
    let mut asked = steps.filter(|step| step.step_type == StepType::LogsGather.name());
    let step = asked.next()?;
    assert_eq!(asked.next(), None, "asked once");
    Some(serde_json::from_str(&step.args[0]).unwrap())
}

fn shown(world: &World, host: &Host) -> HostLogs {
    shown_logs(host, &world.facts_of(host), None)
}

fn refusal(world: &World, host: &Host) -> String {
    let refused = world.step(host, &HostEvent::LogsAsked).unwrap_err();
    assert_eq!(refused.class, RefusalClass::UserConflict);
    refused.reason
}

#[test]
fn a_free_host_is_asked_with_its_next_poll_until_its_logs_have_come() {
    let mut world = World::new();
    let host = world.known_host();
    assert_eq!(request(&world, &host), None);
    assert_eq!(shown(&world, &host).state, HostLogsState::NotAsked);

    world.wait(Duration::seconds(10));
    let asked = world.after(&host, &HostEvent::LogsAsked);
    let told = request(&world, &asked).unwrap();
    assert_eq!(
        (told.cluster_id.as_str(), told.host_id),
        ("", host.id.to_string())
    );
    let state = shown(&world, &asked);
    assert_eq!(state.state, HostLogsState::Asked);
    let time = |seconds| muster_api::time::millis(Some(crate::world::start() + Duration::seconds(seconds)));
    assert_eq!(state.asked_at, Some(time(10)));
    assert_eq!(state.until, Some(time(610)));
    assert_eq!(state.next_poll_at, Some(time(60)), "it polls once a minute");

    world.wait(Duration::seconds(5));
    assert!(
        !world.step(&asked, &HostEvent::LogsAsked).unwrap().changed,
        "it is under way"
    );
    let step = world.step(&asked, &HostEvent::AskedLogsUploaded).unwrap();
    assert_eq!(step.events[0].name, "host_logs_uploaded");
    let came = step.host;
    assert_eq!(request(&world, &came), None);
    let state = shown(&world, &came);
    assert_eq!((state.state, state.until), (HostLogsState::Came, None));
    assert_eq!(
        came.data.logs, host.data.logs,
        "the protocol's fields are about installations"
    );
    // A second request is accepted.
    let again = world.after(&came, &HostEvent::LogsAsked);
    assert!(request(&world, &again).is_some());
}

#[test]
fn logs_that_do_not_come_end_with_the_reason() {
    let mut world = World::new();
    let host = world.known_host();
    let asked = world.after(&host, &HostEvent::LogsAsked);
    let answer = StepReply {
        error: "the logs were not taken:\nno space".into(),
        ..reply(StepType::LogsGather, -1, "")
    };
    let events = interpret(&answer, &Limits::default()).unwrap();
    let failed = world.after(&asked, &events[0]);
    let state = shown(&world, &failed);
    assert_eq!(state.state, HostLogsState::Failed);
    let reason = state.reason.unwrap();
    assert!(
        reason.starts_with("its agent could not send them: the logs were not taken:")
            && reason.ends_with("no space"),
        "{reason}"
    );
    assert!(
        !world.step(&host, &events[0]).unwrap().changed,
        "nobody has asked"
    );

    for seconds in [60, 300, 599] {
        let mut world = World::new();
        world.known_host();
        world.wait(Duration::seconds(seconds));
        world.poll();
        let still = world.after(&asked, &HostEvent::DeadlinePassed);
        assert_eq!(shown(&world, &still).state, HostLogsState::Asked);
        assert!(
            still.due_at <= Some(crate::world::start() + Duration::minutes(10)),
            "{:?}",
            still.due_at
        );
    }
    world.wait(Duration::minutes(10));
    let late = world.after(&asked, &HostEvent::DeadlinePassed);
    let state = shown(&world, &late);
    assert_eq!(state.state, HostLogsState::Failed);
    let reason = state.reason.unwrap();
    assert!(
        reason.contains("none came within 10 minutes") && reason.contains("last reported at 20"),
        "{reason}"
    );
    // An upload that began before the deadline.
    let came = world.after(&late, &HostEvent::AskedLogsUploaded);
    assert_eq!(shown(&world, &came).state, HostLogsState::Came);
}

#[test]
fn a_host_that_would_not_answer_is_not_asked() {
    let mut world = World::new();
    let host = world.known_host();
    world.wait(Duration::minutes(4));
    let why = refusal(&world, &host);
    assert!(
        why.contains("it last reported at 20") && why.contains("host-1"),
        "{why}"
    );
    let gone = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(gone.state, HostState::DisconnectedUnbound);
    assert!(refusal(&world, &gone).contains("it last reported at 20"));

    let mut installed = host.clone();
    installed.state = HostState::AddedToExistingCluster;
    assert!(refusal(&world, &installed).contains("runs no discovery agent"));
}

#[test]
fn an_agent_of_another_make_is_asked_only_in_a_cluster_and_sends_them_there() {
    let mut world = World::new();
    let mut free = world.known_host();
    free.data.discovery_agent_version = "quay.io/other/agent:1".into();
    assert!(refusal(&world, &free).contains("none of Muster's"));

    let mut bound = world.known_host_of_cluster();
    bound.data.discovery_agent_version = "quay.io/other/agent:1".into();
    let asked = world.after(&bound, &HostEvent::LogsAsked);
    let told = request(&world, &asked).unwrap();
    assert_eq!(told.cluster_id, world.cluster.id.to_string());
    let came = world.after(&asked, &HostEvent::LogsUploaded);
    assert_eq!(shown(&world, &came).state, HostLogsState::Came);
}

#[test]
fn a_host_whose_installation_failed_sends_them_once_to_its_cluster() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let failed = Host {
        state: HostState::Error,
        ..host
    };
    let asked = world.after(&failed, &HostEvent::LogsAsked);
    let told = request(&world, &asked).unwrap();
    assert_eq!(told.cluster_id, world.cluster.id.to_string());
    let came = world.after(&asked, &HostEvent::LogsUploaded);
    assert_eq!(shown(&world, &came).state, HostLogsState::Came);
    assert_eq!(request(&world, &came), None);
    let again = world.after(&came, &HostEvent::LogsAsked);
    assert_eq!(request(&world, &again).unwrap().cluster_id, "");
}
