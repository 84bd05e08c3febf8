//! Reboots of installed hosts that a controller requests.

use chrono::Duration;
use muster_api::bmc::{BmcCreateParams, BmcFailure, BmcPowerOutcome};
use muster_api::host::HostStage;
use muster_api::ids::{BmcId, ClusterId, HostId, InfraEnvId};
use muster_api::steps::{RebootNodeRequest, StepReply, StepType};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{
    BmcEvent, BmcRefused, PowerDone, Problem, advance, create, reboot_obstacle,
};
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, RebootAsked};
use muster_core::record::{Bmc, BmcLimits, Host, HostState, NodeAgent, RebootOutcome, RebootWay};

use crate::world::{World, reply, start};

fn stage(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

/// A node of the cluster, with our agent on its disk.
fn node(world: &mut World) -> Host {
    world.kube = true;
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let host = world.after(&host, &stage(HostStage::Rebooting));
    world.after(&host, &stage(HostStage::Done))
}

fn request(world: &World, requested_at: Timestamp, bmc: Option<&str>) -> HostEvent {
    HostEvent::RebootAsked(RebootAsked {
        requested_at,
        cluster_id: Some(world.cluster.id),
        bmc: bmc.map(str::to_owned),
    })
}

fn way(host: &Host) -> Option<RebootWay> {
    host.data.asked_reboot.as_ref().unwrap().way.clone()
}

fn outcome(host: &Host) -> Option<RebootOutcome> {
    host.data.asked_reboot.as_ref().unwrap().outcome.clone()
}

fn why(host: &Host) -> String {
    match outcome(host) {
        Some(RebootOutcome::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The request in the next instructions for the agent on the node.
fn step(world: &World, host: &Host) -> Option<RebootNodeRequest> {
    let steps = world.steps(host).instructions.into_iter().flatten();
    let mut found = steps.filter(|step| step.step_type == StepType::RebootNode.name());
    let step = found.next()?;
    assert_eq!(found.next(), None);
    Some(serde_json::from_str(&step.args[0]).unwrap())
}

fn names(events: &[muster_core::record::NewEvent]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_ref()).collect()
}

#[test]
fn the_agent_on_the_node_reboots_it_once_for_each_request() {
    let mut world = World::new();
    let host = node(&mut world);
    assert_eq!(step(&world, &host), None);
    world.wait(Duration::seconds(10));
    let event = request(&world, world.now, None);
    let asked = world.step(&host, &event).unwrap();
    assert_eq!(names(&asked.events), ["muster_host_reboot_asked"]);
    let asked = asked.host;
    assert_eq!((way(&asked), outcome(&asked)), (Some(RebootWay::NodeAgent), None));
    assert!(!world.step(&asked, &event).unwrap().changed, "it is known");
    // The argument has the age of the request: a node that booted since then does not reboot again.
    for seconds in [20, 30] {
        world.wait(Duration::seconds(seconds));
        world.poll();
        let age = (world.now - start()).num_seconds() - 10;
        assert_eq!(step(&world, &asked).unwrap().requested_seconds_ago, age);
    }
    let good = interpret(&reply(StepType::RebootNode, 0, ""), &Limits::default()).unwrap();
    let done = world.step(&asked, &good[0]).unwrap();
    assert_eq!(names(&done.events), ["muster_host_rebooted"]);
    let done = done.host;
    assert_eq!(outcome(&done), Some(RebootOutcome::Done));
    assert_eq!(step(&world, &done), None);
    assert_eq!(done.due_at, None);
    for late in [&event, &good[0], &HostEvent::RebootWithdrawn] {
        assert!(!world.step(&done, late).unwrap().changed, "{late:?}");
    }
    // Another request is followed, an older one is not.
    let older = request(&world, world.now - Duration::seconds(55), None);
    assert!(!world.step(&done, &older).unwrap().changed);
    let again = world.after(&done, &request(&world, world.now, None));
    assert!(step(&world, &again).is_some());
}

#[test]
fn an_agent_that_cannot_reboot_its_node_ends_the_request_with_the_reason() {
    let mut world = World::new();
    let host = node(&mut world);
    let asked = world.after(&host, &request(&world, world.now, None));
    // An older agent does not know the step; its reply names no type.
    let failed = StepReply {
        step_type: None,
        step_id: "reboot-node-0123abcd".into(),
        exit_code: -1,
        error: "unknown\nstep".into(),
        ..StepReply::default()
    };
    let events = interpret(&failed, &Limits::default()).unwrap();
    let ended = world.step(&asked, &events[0]).unwrap();
    assert_eq!(names(&ended.events), ["muster_host_reboot_failed"]);
    let why = why(&ended.host);
    assert!(
        why.starts_with("the agent on its node could not: unknown") && !why.contains('\n'),
        "{why}"
    );
    assert!(
        !world.step(&host, &events[0]).unwrap().changed,
        "nothing was requested"
    );
}

#[test]
fn a_request_that_is_not_carried_out_in_time_is_not_carried_out_later() {
    let mut world = World::new();
    let host = node(&mut world);
    let asked = world.after(&host, &request(&world, world.now, None));
    assert_eq!(asked.due_at, Some(start() + Duration::minutes(5)));
    world.wait(Duration::minutes(5));
    world.poll();
    assert_eq!(step(&world, &asked), None, "it polls again at last");
    let ended = world.after(&asked, &HostEvent::DeadlinePassed);
    assert_eq!(why(&ended), "the agent on its node did not do so in time");
    assert_eq!(ended.due_at, None);
    // Withdrawn, or its host is taken out of the cluster.
    for event in [HostEvent::RebootWithdrawn, HostEvent::Reclaimed] {
        let ended = world.after(&asked, &event);
        assert!(!why(&ended).is_empty());
        assert_eq!(step(&world, &ended), None, "{event:?}");
    }
}

#[test]
fn a_host_is_rebooted_for_the_cluster_alone_that_it_is_a_node_of() {
    let mut world = World::new();
    let host = node(&mut world);
    let refused = |world: &World, host: &Host, event: &HostEvent| {
        let step = world.step(host, event).unwrap();
        assert_eq!(names(&step.events), ["muster_host_reboot_failed"], "{event:?}");
        assert_eq!(way(&step.host), None);
        why(&step.host)
    };
    for cluster_id in [None, Some(ClusterId::random())] {
        let event = HostEvent::RebootAsked(RebootAsked {
            requested_at: world.now,
            cluster_id,
            bmc: Some("r1u7".into()),
        });
        assert!(refused(&world, &host, &event).contains("another cluster"));
    }
    let early = request(&world, start() - Duration::seconds(1), Some("r1u7"));
    assert!(refused(&world, &host, &early).contains("older than its membership"));
    let late = request(&world, start() + Duration::minutes(6), Some("r1u7"));
    assert!(refused(&world, &host, &late).contains("in the future"));
    // A refused one from the future blocks none of the present.
    let future = world.after(&host, &late);
    let present = world.after(&future, &request(&world, world.now, Some("r1u7")));
    assert_eq!(way(&present), Some(RebootWay::Bmc("r1u7".into())));
    for state in HostState::one_of_each() {
        if state == HostState::AddedToExistingCluster {
            continue;
        }
        let other = Host {
            state: state.clone(),
            ..host.clone()
        };
        let event = request(&world, world.now, Some("r1u7"));
        let why = match world.after(&other, &event).data.asked_reboot.unwrap().outcome {
            Some(RebootOutcome::Failed(why)) => why,
            other => panic!("{state:?}: {other:?}"),
        };
        assert!(why.contains("only a node of a cluster"), "{why}");
    }
}

#[test]
fn without_a_bmc_and_an_agent_that_polls_nothing_reboots_a_host() {
    let mut world = World::new();
    let mut host = node(&mut world);
    for agent in [NodeAgent::Absent, NodeAgent::GaveUp] {
        host.data.node_agent = agent;
        let refused = world.after(&host, &request(&world, world.now, None));
        assert_eq!(
            why(&refused),
            "it has no BMC that can be used, and no agent of this service runs on its node"
        );
    }
    host.data.node_agent = NodeAgent::Installed;
    world.wait(Duration::minutes(4));
    let refused = world.after(&host, &request(&world, world.now, None));
    assert!(why(&refused).contains("last polled at 20"), "{}", why(&refused));
    // A BMC goes first in any case.
    let asked = world.after(&host, &request(&world, world.now, Some("r1u7")));
    assert_eq!(way(&asked), Some(RebootWay::Bmc("r1u7".into())));
    assert_eq!(step(&world, &asked), None, "the agent on the node does nothing");
    assert_eq!(asked.due_at, Some(world.now + Duration::minutes(20)));
    let ended = |requested_at, failure: Option<&str>| HostEvent::RebootedByBmc {
        requested_at,
        failure: failure.map(str::to_owned),
    };
    let other = ended(world.now - Duration::seconds(9), None);
    assert!(!world.step(&asked, &other).unwrap().changed, "another request");
    let node_says = HostEvent::RebootReported { failure: None };
    assert!(!world.step(&asked, &node_says).unwrap().changed);
    let done = world.after(&asked, &ended(world.now, None));
    assert_eq!(outcome(&done), Some(RebootOutcome::Done));
    let failed = world.after(&asked, &ended(world.now, Some("no power")));
    assert_eq!(why(&failed), "its BMC could not: no power");
}

fn bmc(host: bool) -> Bmc {
    let params = BmcCreateParams {
        name: None,
        address: "h".into(),
        user_name: "root".into(),
        password: "secret".into(),
        certificate: None,
        system_id: None,
        boot: None,
        discover: Some(false),
    };
    let mut bmc = create(params, InfraEnvId::random(), BmcId::random(), start()).unwrap();
    bmc.host_id = host.then(HostId::random);
    bmc
}

fn send(bmc: &Bmc, event: BmcEvent) -> Result<Option<Bmc>, String> {
    match advance(bmc, event, &BmcLimits::default(), start()) {
        Ok(step) => Ok(step.map(|step| step.bmc)),
        Err(BmcRefused::NotNow(why)) => Err(why),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_bmc_reboots_its_machines_host_once_for_each_request_and_when_nothing_else_is_done_with_it() {
    let reboots = |seconds: i64| BmcEvent::HostReboots {
        requested_at: start() + Duration::seconds(seconds),
    };
    assert!(send(&bmc(false), reboots(1)).unwrap_err().contains("is no host"));
    let bmc = bmc(true);
    assert_eq!(reboot_obstacle(&bmc, start()), None);
    let asked = send(&bmc, reboots(1)).unwrap().unwrap();
    let request = asked.power.pending().unwrap();
    assert!(request.force && !request.from_disk);
    assert_eq!(request.reboot_of, Some(start() + Duration::seconds(1)));
    assert_eq!(send(&asked, reboots(1)), Ok(None));
    assert!(
        send(&asked, reboots(2))
            .unwrap_err()
            .contains("being switched already")
    );
    let done = |failure: Option<BmcFailure>| {
        BmcEvent::PowerDone(PowerDone {
            id: 1,
            state: Some("On".into()),
            certificate: None,
            problem: failure.map(|failure| Problem {
                failure,
                reason: "no".into(),
                passing: false,
            }),
        })
    };
    let ended = send(&asked, done(None)).unwrap().unwrap();
    let request = ended.power.reboot(start() + Duration::seconds(1)).unwrap();
    assert_eq!(request.outcome, BmcPowerOutcome::Done);
    assert_eq!(send(&ended, reboots(1)), Ok(None), "also when it has ended");
    assert!(send(&ended, reboots(2)).unwrap().is_some());
    let refused = send(&asked, done(Some(BmcFailure::Credentials)))
        .unwrap()
        .unwrap();
    assert!(
        send(&refused, reboots(2))
            .unwrap_err()
            .contains("login was refused")
    );
    let discovered = send(&bmc, BmcEvent::Discover).unwrap().unwrap();
    assert!(
        send(&discovered, reboots(2))
            .unwrap_err()
            .contains("being discovered")
    );
}
