//! The return of an installed host to its InfraEnv.

use chrono::Duration;
use muster_api::host::{HostStage, HostStatus};
use muster_api::steps::{PostStepAction, StepType};
use muster_core::lifecycle::host::{HostEvent, awaited_boot, events, node_may_be_back};
use muster_core::record::{BmcBoots, DeafTime, Host, HostState, KubeRef, NodeAgent};
use muster_core::rules::facts::{Deadlines, HostFacts};

use crate::world::{World, good_inventory};

fn stage(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

/// A node of the cluster; `agent`: with our agent on its disk.
fn node(world: &mut World, agent: bool) -> Host {
    world.kube = true;
    world.node_agent = agent;
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let host = world.after(&host, &stage(HostStage::Rebooting));
    world.after(&host, &stage(HostStage::Done))
}

fn asked(world: &World, host: &Host) -> (Vec<String>, i64, PostStepAction) {
    let steps = world.steps(host);
    let types = steps
        .instructions
        .into_iter()
        .flatten()
        .map(|step| step.step_type);
    (
        types.collect(),
        steps.next_instruction_seconds,
        steps.post_step_action,
    )
}

#[test]
fn a_node_with_our_agent_boots_into_discovery_by_itself() {
    let mut world = World::new();
    let host = node(&mut world, true);
    assert_eq!(
        asked(&world, &host),
        (vec![], 30, PostStepAction::Continue),
        "it waits"
    );
    let host = world.after(&host, &HostEvent::Reclaimed);
    assert_eq!((&host.state, host.cluster_id), (&HostState::Reclaiming, None));
    world.wait(Duration::seconds(20));
    world.poll();
    let (types, seconds, _) = asked(&world, &host);
    assert_eq!(
        (types, seconds),
        (vec![StepType::DownloadBootArtifacts.name().to_owned()], 10)
    );
    let steps = world.steps(&host).instructions.unwrap();
    assert!(
        steps[0].args[0].contains(r#""kernel_arguments":["quiet"]"#),
        "{}",
        steps[0].args[0]
    );
    let host = world.after(&host, &HostEvent::BootArtifactsDownloaded);
    assert_eq!(host.state, HostState::ReclaimingRebooting);
    let host = world.after(&host, &world.registered());
    assert_eq!(
        (&host.state, host.data.node_agent),
        (&HostState::DiscoveringUnbound, NodeAgent::Absent)
    );
    let host = world.after(&host, &HostEvent::InventoryReported(good_inventory()));
    assert_eq!(
        host.state,
        HostState::DiscoveringUnbound,
        "its disk is erased first"
    );
    let host = world.after(&host, &world.erased(&host));
    assert_eq!(host.state, HostState::KnownUnbound);
}

#[test]
fn whoever_takes_it_out_and_wherever_it_was_the_state_says_who_acts_next() {
    let cancel = || HostEvent::Cancelled {
        reason: "by user".into(),
    };
    let failed = || HostEvent::InstallationFailed {
        reason: "no disk".into(),
    };
    let (writing, rebooting, done) = (
        || stage(HostStage::WritingImageToDisk),
        || stage(HostStage::Rebooting),
        || stage(HostStage::Done),
    );
    use HostStatus::{Reclaiming, UnbindingPendingUserAction as Pending};
    for (events, agent, artifacts, wanted, words) in [
        (vec![done()], true, true, Reclaiming, "the agent on the node"),
        (vec![done()], false, true, Pending, "somebody to boot the host"),
        (vec![done()], true, false, Pending, "no live image"),
        (
            vec![rebooting(), cancel()],
            true,
            true,
            Reclaiming,
            "the agent on the node",
        ),
        (
            vec![rebooting(), cancel()],
            false,
            true,
            Pending,
            "somebody to boot the host",
        ),
        (
            vec![writing(), cancel()],
            true,
            true,
            Pending,
            "register again, which it does by itself",
        ),
        (
            vec![writing(), failed()],
            true,
            true,
            Pending,
            "register again, which it does by itself",
        ),
        (
            vec![cancel()],
            true,
            true,
            Pending,
            "register again, which it does by itself",
        ),
    ] {
        let mut world = World::new();
        world.kube = true;
        world.node_agent = agent;
        let mut host = world.known_host_of_cluster();
        host = world.after(&host, &HostEvent::InstallRequested);
        for event in &events {
            host = world.after(&host, event);
        }
        let before = host.state.status();
        let facts = HostFacts {
            boot_artifacts: world.cluster_facts().boot_artifacts.filter(|_| artifacts),
            ..world.cluster_facts()
        };
        let step =
            muster_core::lifecycle::host::advance(&host, &HostEvent::Reclaimed, &facts, world.now).unwrap();
        let case = format!("{before:?} agent {agent} artifacts {artifacts}");
        assert_eq!(step.host.state.status(), wanted, "{case}");
        assert!(
            step.host.data.status_info.contains(words),
            "{case}: {}",
            step.host.data.status_info
        );
        // A live system registers again; its polls are not a node's.
        let lives = words.contains("register again");
        if lives {
            assert_eq!(asked(&world, &step.host).2, PostStepAction::Exit, "{case}");
            let awaited = awaited_boot(&step.host, &world.cluster_facts().deadlines()).unwrap();
            assert_eq!(awaited.from - awaited.since, Duration::minutes(3), "{case}");
            let outage = [DeafTime {
                from: awaited.since + Duration::minutes(1),
                to: awaited.since + Duration::minutes(20),
            }];
            let facts = world.cluster_facts();
            let later = Deadlines {
                deaf: outage.as_slice().into(),
                ..facts.deadlines()
            };
            let after_outage = awaited_boot(&step.host, &later).unwrap();
            assert_eq!(
                after_outage.from - awaited.since,
                Duration::minutes(22),
                "{case}: what comes while the service is down is not missed"
            );
            assert!(!node_may_be_back(&step.host.state, &step.host.data));
        }
        // An unbind by a user never waits for the node.
        let by_hand = world.after(&host, &HostEvent::Unbound);
        assert_eq!(by_hand.state.status(), Pending, "{case}");
        let awaited = awaited_boot(&by_hand, &world.cluster_facts().deadlines()).unwrap();
        assert_eq!(
            awaited.from > awaited.since,
            lives || agent,
            "{case}: it may come back by itself"
        );
        // Its poll brings it back nevertheless.
        world.wait(Duration::minutes(1));
        world.poll();
        let polled = world.after(&by_hand, &HostEvent::CheckedIn);
        let returns = agent && !lives;
        assert_eq!(polled.state.status() == Reclaiming, returns, "{case}");
    }
}

#[test]
fn a_node_that_is_silent_is_given_up_after_three_minutes_and_returns_when_it_polls() {
    let mut world = World::new();
    let host = node(&mut world, true);
    world.wait(Duration::hours(2));
    let host = world.after(&host, &HostEvent::Reclaimed);
    let noted = host.due_at.unwrap();
    assert_eq!(noted, world.now + Duration::minutes(1));
    world.now = noted;
    let host = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(host.due_at, Some(noted + Duration::minutes(2)));
    world.now = host.due_at.unwrap();
    let host = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(host.state, HostState::UnbindingPendingUserAction);
    for words in [
        "has not polled for 3 minutes",
        "Power the host on",
        "boot the host into the discovery image",
    ] {
        assert!(host.data.status_info.contains(words), "{}", host.data.status_info);
    }
    let same = world.after(&host, &HostEvent::FactsChanged);
    assert_eq!(same.state, HostState::UnbindingPendingUserAction);
    // A user powered it on.
    world.wait(Duration::hours(1));
    world.poll();
    assert!(node_may_be_back(&host.state, &host.data));
    let back = world.after(&host, &HostEvent::CheckedIn);
    assert_eq!(back.state, HostState::Reclaiming);
    // Or booted the discovery image.
    let found = world.after(&host, &world.registered());
    assert_eq!(found.state, HostState::DiscoveringUnbound);
    let found = world.after(&back, &world.registered());
    assert_eq!(found.state, HostState::DiscoveringUnbound);
}

#[test]
fn a_node_that_cannot_is_left_to_a_person_and_is_not_asked_again_and_again() {
    let mut world = World::new();
    let host = node(&mut world, true);
    let host = world.after(&host, &HostEvent::Reclaimed);
    let host = world.after(&host, &HostEvent::BootArtifactsFailed);
    assert_eq!(host.state, HostState::UnbindingPendingUserAction);
    world.wait(Duration::minutes(1));
    world.poll();
    assert!(!node_may_be_back(&host.state, &host.data));
    let awaited = awaited_boot(&host, &world.cluster_facts().deadlines()).unwrap();
    assert_eq!(awaited.from, awaited.since, "nothing brings it back but a boot");
    assert_eq!(world.after(&host, &HostEvent::CheckedIn).state, host.state);
    assert_eq!(
        asked(&world, &host),
        (vec![], 30, PostStepAction::Continue),
        "its agent stays"
    );
    assert_eq!(
        world.after(&host, &world.registered()).state,
        HostState::DiscoveringUnbound
    );
}

#[test]
fn a_bmc_that_boots_the_host_is_told_instead_of_a_person_and_why_it_could_not() {
    let mut world = World::new();
    let host = node(&mut world, false);
    assert_eq!(
        awaited_boot(&host, &world.cluster_facts().deadlines()),
        None,
        "an installed host is left alone"
    );
    let at_it = HostEvent::BmcTold(BmcBoots {
        bmc: "r1u7".into(),
        failure: None,
    });
    assert!(!world.step(&host, &at_it).unwrap().changed);
    let host = world.after(&host, &HostEvent::Reclaimed);
    let told = world.after(&host, &at_it);
    let info = &told.data.status_info;
    assert!(
        info.starts_with("Its BMC r1u7 boots it") && !info.contains("somebody"),
        "{info}"
    );
    assert_eq!(
        awaited_boot(&told, &world.cluster_facts().deadlines()),
        awaited_boot(&host, &world.cluster_facts().deadlines())
    );
    world.wait(Duration::minutes(2));
    let noted = world.after(&told, &HostEvent::DeadlinePassed);
    assert!(
        noted.data.findings[0].message.contains("Its BMC boots it"),
        "{:?}",
        noted.data.findings
    );
    let failed = world.after(
        &noted,
        &HostEvent::BmcTold(BmcBoots {
            bmc: "r1u7".into(),
            failure: Some("the password is wrong".into()),
        }),
    );
    let info = &failed.data.status_info;
    assert!(
        info.contains("the password is wrong. Waits for somebody"),
        "{info}"
    );
    let finding = &failed.data.findings[0].message;
    assert!(
        finding.ends_with("Boot the host into the discovery image"),
        "{finding}"
    );
    let back = world.after(&failed, &world.registered());
    assert_eq!(
        (back.data.bmc_boot, back.state),
        (None, HostState::DiscoveringUnbound)
    );
}

#[test]
fn polls_of_a_node_are_no_registration_and_reset_nothing() {
    let mut world = World::new();
    let host = node(&mut world, true);
    for _ in 0..5 {
        world.wait(Duration::minutes(1));
        world.poll();
        let step = world.step(&host, &HostEvent::CheckedIn).unwrap();
        assert!(!step.changed);
        assert_eq!(step.host, host);
    }
    assert!(world.facts_of(&host).seen(&host) > host.data.status_updated_at);
}

#[test]
fn our_agents_poll_more_often_on_the_way_in_and_no_longer_once_they_stay_somewhere() {
    let mut world = World::new();
    let mut free = world.known_host();
    assert_eq!(asked(&world, &free).1, 60);
    free.data.approved = true;
    assert_eq!(asked(&world, &free).1, 20);
    let host = world.known_host_of_cluster();
    assert_eq!(asked(&world, &host).1, 10);
    let mut foreign = host.clone();
    foreign.data.discovery_agent_version = "quay.io/other/agent:2".into();
    assert_eq!(asked(&world, &foreign).1, 60);
    world.wait(Duration::minutes(2));
    world.poll();
    assert_eq!(asked(&world, &host).1, 60, "nobody installs it");
}

#[test]
fn name_approval_and_choices_survive_the_way_in_and_out() {
    let mut world = World::new();
    world.kube = true;
    world.infra_env.kube = Some(KubeRef::new("lab", "hw"));
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::Approved(true));
    let edit = serde_json::from_str(r#"{"host_name":"worker-7"}"#).unwrap();
    let mut host = world.after(&host, &HostEvent::Edited(edit));
    for event in [
        HostEvent::InstallRequested,
        stage(HostStage::Done),
        HostEvent::Reclaimed,
        HostEvent::BootArtifactsDownloaded,
        world.registered(),
        HostEvent::InventoryReported(good_inventory()),
    ] {
        host = world.after(&host, &event);
        assert!(host.data.approved, "{}", event.name());
        assert_eq!(host.data.requested_hostname.as_deref(), Some("worker-7"));
    }
    host = world.after(&host, &world.erased(&host));
    assert_eq!(host.state, HostState::KnownUnbound);
}

#[test]
fn a_host_that_registers_or_is_deleted_in_the_middle_says_so() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let writing = world.after(&host, &stage(HostStage::WritingImageToDisk));
    let again = world.after(&writing, &world.registered());
    assert_eq!(again.state, HostState::Error);
    assert!(
        again
            .data
            .status_info
            .contains("in the middle of its installation")
    );
    let words = events::host_deregistered(&writing, world.now).message;
    assert!(words.contains("in the middle of its installation"), "{words}");
    let mut world = World::new();
    let node = node(&mut world, true);
    let words = events::host_deregistered(&node, world.now).message;
    assert!(words.contains("goes on as a node"), "{words}");
}
