//! The erasure of disks after a host has left a cluster.

use chrono::Duration;
use muster_api::host::HostStage;
use muster_api::infra_env::{Cleaning, CleaningDepth};
use muster_api::inventory::{Inventory, Truncation};
use muster_api::steps::{
    DiskErasure, EraseDisksRequest, EraseDisksResponse, ErasureDepth, ErasureMethod, ErasureState, StepType,
};
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, SleepAsked, SleepEvent, Step};
use muster_core::record::{CleaningOutcome, CleaningStage, DeafTime, Host, HostState, SleepCause};
use muster_core::rules::cleaning::describe_end;
use muster_core::rules::findings::CANNOT_BE_ERASED;

use crate::world::{AGENT, World, disk, good_inventory, reply};

mod two_infra_envs;

fn progress(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

fn world(cleaning: Cleaning) -> World {
    let mut world = World::new();
    world.kube = true;
    world.infra_env.settings.cleaning = cleaning;
    world
}

fn of(depth: CleaningDepth) -> Cleaning {
    Cleaning {
        depth,
        ..Cleaning::default()
    }
}

/// A host that was installed up to `stage`, taken out of its cluster, and has registered in discovery.
fn left_at(world: &mut World, stage: HostStage) -> Host {
    let host = world.known_host_of_cluster();
    let mut host = world.after(&host, &HostEvent::InstallRequested);
    for event in [
        progress(stage),
        HostEvent::Cancelled {
            reason: "by user".into(),
        },
        HostEvent::Reclaimed,
        world.registered(),
    ] {
        // A node is not cancelled.
        if let Ok(step) = world.step(&host, &event) {
            host = step.host;
        }
    }
    assert_eq!(
        (&host.state, host.cluster_id),
        (&HostState::DiscoveringUnbound, None)
    );
    host
}

fn reports(world: &World, host: &Host, inventory: Inventory) -> Host {
    world.after(host, &HostEvent::InventoryReported(inventory))
}

fn left_with(world: &mut World, inventory: Inventory) -> Host {
    let host = left_at(world, HostStage::Done);
    reports(world, &host, inventory)
}

fn asked(world: &World, host: &Host) -> Option<EraseDisksRequest> {
    let steps = world.steps(host).instructions.into_iter().flatten();
    let mut found = steps.filter(|step| step.step_type == StepType::EraseDisks.name());
    let args = found.next()?.args;
    Some(serde_json::from_str(&args[0]).unwrap())
}

fn names(step: &Step) -> Vec<&str> {
    step.events.iter().map(|event| &*event.name).collect()
}

fn answer(host: &Host, state: ErasureState, bytes_done: i64, message: &str) -> HostEvent {
    let cleaning = host.data.cleaning.as_ref().unwrap();
    HostEvent::ErasureReported(EraseDisksResponse {
        id: cleaning.id.clone(),
        is_over: matches!(state, ErasureState::Erased | ErasureState::Failed),
        disks: vec![DiskErasure {
            id: cleaning.disks[0].disk.id.clone(),
            state,
            method: Some(ErasureMethod::NvmeSanitize),
            bytes_done,
            bytes_total: 1000,
            message: message.into(),
            ..DiskErasure::default()
        }],
    })
}

#[test]
fn only_a_disk_that_may_have_been_written_to_is_erased() {
    use HostStage as S;
    for (stage, is_erased) in [
        (S::StartingInstallation, false),
        (S::Installing, false),
        (S::WritingImageToDisk, true),
        (S::Rebooting, true),
        (S::Done, true),
    ] {
        let mut world = world(Cleaning::default());
        let host = left_at(&mut world, stage);
        assert_eq!(asked(&world, &host), None, "{stage:?}: no inventory yet");
        let host = reports(&world, &host, good_inventory());
        let request = asked(&world, &host);
        assert_eq!(request.is_some(), is_erased, "{stage:?}");
        let steps = world.steps(&host).instructions.unwrap();
        let is_measured = steps.iter().any(|step| step.step_type == StepType::Health.name());
        assert_eq!(
            is_measured, !is_erased,
            "{stage:?}: disks that are erased get no commands"
        );
        assert_eq!(host.state == HostState::KnownUnbound, !is_erased, "{stage:?}");
        if let Some(request) = request {
            let ids: Vec<&str> = request.disks.iter().map(|disk| disk.id.as_str()).collect();
            assert_eq!(ids, ["/dev/disk/by-id/wwn-sda"], "the other disk is not ours");
            assert_eq!(
                (request.depth, request.overwrite),
                (ErasureDepth::Metadata, false)
            );
        }
    }
}

#[test]
fn a_host_whose_disks_are_to_be_erased_does_not_sleep() {
    let mut world = world(Cleaning::default());
    let pending = left_with(&mut world, good_inventory());
    let sleeps = HostEvent::Sleep(SleepEvent::Asked(SleepAsked {
        bmc: "r1u7".into(),
        cause: SleepCause::Person,
    }));
    let refused = world.step(&pending, &sleeps).unwrap_err();
    assert!(refused.reason.contains("known-unbound"), "{refused}");
    let not_evaluated_yet = Host {
        state: HostState::KnownUnbound,
        ..pending.clone()
    };
    let refused = world.step(&not_evaluated_yet, &sleeps).unwrap_err();
    assert!(refused.reason.contains("erased first"), "{refused}");
    let erased = world.after(&pending, &answer(&pending, ErasureState::Erased, 1000, ""));
    assert_eq!(erased.state, HostState::KnownUnbound);
    assert!(world.after(&erased, &sleeps).data.sleep.is_some());
}

#[test]
fn the_settings_choose_depth_method_and_disks() {
    let all = |depth, overwrite, all_disks| Cleaning {
        depth,
        overwrite,
        all_disks,
    };
    let mut inventory = good_inventory();
    inventory.disks.push(disk("sdc", 10));
    inventory.disks[2].removable = true;
    inventory.disks.push(disk("sdd", 10));
    inventory.disks[3].drive_type = "FC".into();
    let mut world = world(all(CleaningDepth::Full, true, true));
    let host = left_with(&mut world, inventory.clone());
    let request = asked(&world, &host).unwrap();
    let ids: Vec<&str> = request.disks.iter().map(|disk| disk.id.as_str()).collect();
    assert_eq!(
        ids,
        ["/dev/disk/by-id/wwn-sda", "/dev/disk/by-id/wwn-sdb"],
        "nothing that is removable or shared"
    );
    assert_eq!((request.depth, request.overwrite), (ErasureDepth::Full, true));
    let mut kept = left_at(&mut world, HostStage::Done);
    kept.data.skip_formatting_disks = vec!["/dev/disk/by-id/wwn-sdb".into()];
    let kept = reports(&world, &kept, inventory);
    assert_eq!(asked(&world, &kept).unwrap().disks.len(), 1, "a user protects it");
}

#[test]
fn more_disks_than_an_agent_takes_are_not_erased_in_part() {
    let mut world = world(Cleaning {
        all_disks: true,
        ..Cleaning::default()
    });
    let mut inventory = good_inventory();
    let more = (0..128).map(|number| disk(&format!("nvme{number}n1"), 10));
    inventory.disks.extend(more);
    let host = left_with(&mut world, inventory);
    assert_eq!(asked(&world, &host), None);
    assert!(
        host.data
            .status_info
            .contains("130 disks are to be erased, and at most 128"),
        "{}",
        host.data.status_info
    );
}

#[test]
fn none_erases_nothing_and_says_so() {
    let mut world = world(of(CleaningDepth::None));
    let host = left_with(&mut world, good_inventory());
    assert_eq!(host.state, HostState::KnownUnbound);
    let cleaned = host.data.cleaned.last().unwrap();
    assert_eq!(cleaned.outcome, CleaningOutcome::NotErased);
    assert!(host.data.written_disks.is_empty() && host.data.cleaning.is_none());
}

#[test]
fn progress_is_shown_and_evidence_is_kept() {
    let mut world = world(of(CleaningDepth::Full));
    let host = left_with(&mut world, good_inventory());
    world.wait(Duration::minutes(1));
    world.poll();
    let host = world.after(&host, &answer(&host, ErasureState::Erasing, 430, ""));
    let info = &host.data.status_info;
    assert!(
        info.starts_with("Erases disk sda: 43 % (NVMe sanitize), since 2025-11-21"),
        "{info}"
    );
    assert_eq!(host.state, HostState::DiscoveringUnbound);
    let step = world
        .step(&host, &answer(&host, ErasureState::Erased, 1000, ""))
        .unwrap();
    assert!(
        names(&step).ends_with(&["muster_host_erased", "host_status_updated"]),
        "{:?}",
        names(&step)
    );
    let host = step.host;
    assert_eq!(host.state, HostState::KnownUnbound);
    let text = describe_end(host.data.cleaned.last().unwrap());
    assert!(text.contains("sda: NVMe sanitize, 1000 bytes"), "{text}");
    assert!(host.data.written_disks.is_empty());
    let again = world.step(&host, &world.registered()).unwrap().host;
    let again = reports(&world, &again, good_inventory());
    assert_eq!(
        again.state,
        HostState::KnownUnbound,
        "a registration alone erases nothing"
    );
}

#[test]
fn a_late_reply_and_one_about_another_erasure_change_nothing() {
    let mut world = world(Cleaning::default());
    let host = left_with(&mut world, good_inventory());
    let mut other = EraseDisksResponse {
        id: "other".into(),
        is_over: true,
        disks: Vec::new(),
    };
    let step = world
        .step(&host, &HostEvent::ErasureReported(other.clone()))
        .unwrap();
    assert!(!step.changed);
    other.id.clone_from(&host.data.cleaning.as_ref().unwrap().id);
    let step = world.step(&host, &HostEvent::ErasureReported(other)).unwrap();
    let failed = &step.host.data.cleaning.as_ref().unwrap().stage;
    assert!(
        matches!(failed, CleaningStage::Failed { .. }),
        "over without the disk: {failed:?}"
    );
    let fresh = world.known_host();
    let erased = world.step(&fresh, &answer_of("1", &step.host)).unwrap();
    assert!(!erased.changed, "a host with nothing to erase");
}

fn answer_of(id: &str, host: &Host) -> HostEvent {
    let disks = host.data.cleaning.iter().flat_map(|cleaning| &cleaning.disks);
    HostEvent::ErasureReported(EraseDisksResponse {
        id: id.into(),
        is_over: true,
        disks: disks
            .map(|known| DiskErasure {
                id: known.disk.id.clone(),
                state: ErasureState::Erased,
                ..DiskErasure::default()
            })
            .collect(),
    })
}

#[test]
fn a_disk_that_refuses_quarantines_the_host_until_a_person_frees_it() {
    let mut world = world(Cleaning::default());
    let host = left_with(&mut world, good_inventory());
    let step = world
        .step(
            &host,
            &answer(&host, ErasureState::Failed, 0, "the disk is frozen"),
        )
        .unwrap();
    assert!(
        names(&step).contains(&"muster_host_erasure_failed"),
        "{:?}",
        names(&step)
    );
    let failed = step.host;
    assert_eq!(failed.state, HostState::DiscoveringUnbound);
    assert!(
        failed
            .data
            .findings
            .iter()
            .any(|finding| finding.kind == CANNOT_BE_ERASED)
    );
    assert!(
        failed.data.status_info.contains("sda: the disk is frozen")
            && failed.data.status_info.contains("--retry"),
        "{}",
        failed.data.status_info
    );
    assert_eq!(asked(&world, &failed), None);
    let cluster_id = world.cluster.id;
    assert!(world.step(&failed, &HostEvent::Bound { cluster_id }).is_err());
    let again = reports(
        &world,
        &world.after(&failed, &world.registered()),
        good_inventory(),
    );
    assert_eq!(
        again.state,
        HostState::DiscoveringUnbound,
        "a boot does not free it"
    );
    world.wait(Duration::seconds(1));
    let retried = world.after(&again, &HostEvent::ErasureRetried);
    let (first, second) = (asked(&world, &host).unwrap(), asked(&world, &retried).unwrap());
    assert_ne!(first.id, second.id, "the agent begins again");
    assert!(
        world.step(&retried, &HostEvent::ErasureSkipped).is_err(),
        "it is being erased"
    );
    let skipped = world.after(&again, &HostEvent::ErasureSkipped);
    assert_eq!(skipped.state, HostState::KnownUnbound);
    assert_eq!(
        skipped.data.cleaned.last().unwrap().outcome,
        CleaningOutcome::Skipped
    );
    assert!(
        !skipped
            .data
            .findings
            .iter()
            .any(|finding| finding.kind == CANNOT_BE_ERASED)
    );
    assert!(world.step(&skipped, &HostEvent::ErasureSkipped).is_err());
    assert!(world.step(&skipped, &HostEvent::ErasureRetried).is_err());
}

#[test]
fn an_agent_that_does_not_know_the_step_is_told_of_and_given_up_after_its_time() {
    let mut world = world(Cleaning::default());
    let mut host = left_with(&mut world, good_inventory());
    let mut failed = reply(StepType::EraseDisks, -1, "");
    failed.error = "unknown step erase-disks".into();
    for event in interpret(&failed, &Limits::default()).unwrap() {
        host = world.after(&host, &event);
    }
    assert!(
        host.data.status_info.contains("unknown step erase-disks"),
        "{}",
        host.data.status_info
    );
    world.wait(Duration::minutes(14));
    world.poll();
    host = world.after(&host, &HostEvent::DeadlinePassed);
    assert!(asked(&world, &host).is_some());
    world.wait(Duration::minutes(1));
    world.poll();
    host = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(asked(&world, &host), None);
    assert!(
        host.data.status_info.contains("no progress in time"),
        "{}",
        host.data.status_info
    );
    let skipped = world.step(&host, &HostEvent::ErasureSkipped);
    assert!(skipped.is_ok(), "it has reported nothing, so nothing goes on");
}

#[test]
fn progress_moves_the_deadline_and_outages_do_not_count() {
    let mut world = world(Cleaning::default());
    let mut host = left_with(&mut world, good_inventory());
    for done in [1, 2, 3] {
        world.wait(Duration::minutes(14));
        world.poll();
        host = world.after(&host, &answer(&host, ErasureState::Erasing, done, ""));
    }
    let since = world.now;
    world.wait(Duration::minutes(60));
    world.deaf = vec![DeafTime {
        from: since,
        to: since + Duration::minutes(50),
    }];
    world.poll();
    host = world.after(&host, &HostEvent::DeadlinePassed);
    assert!(asked(&world, &host).is_some(), "{}", host.data.status_info);
    world.wait(Duration::minutes(5));
    world.poll();
    host = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(asked(&world, &host), None);
    assert!(
        world.step(&host, &HostEvent::ErasureSkipped).is_err(),
        "its agent may still be at it"
    );
    let rebooted = world.after(&host, &world.registered());
    assert!(world.step(&rebooted, &HostEvent::ErasureSkipped).is_ok());
}

#[test]
fn a_host_that_was_silent_gets_its_time_again_and_one_that_boots_begins_again() {
    let mut world = world(Cleaning::default());
    let host = left_with(&mut world, good_inventory());
    world.wait(Duration::minutes(5));
    let silent = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(silent.state, HostState::DisconnectedUnbound);
    world.wait(Duration::hours(5));
    world.poll();
    let back = world.after(&silent, &HostEvent::CheckedIn);
    assert_eq!(asked(&world, &back), asked(&world, &host));
    let booted = world.after(&back, &world.registered());
    assert_eq!(asked(&world, &booted), None, "it has to report its disks first");
    let booted = reports(&world, &booted, good_inventory());
    assert_eq!(asked(&world, &booted), asked(&world, &host));
}

#[test]
fn a_machine_that_restarts_in_the_middle_again_and_again_is_given_up() {
    let mut world = world(Cleaning::default());
    let mut host = left_with(&mut world, good_inventory());
    for restart in 1..=10 {
        assert!(asked(&world, &host).is_some(), "{restart}");
        host = world.after(&host, &world.registered());
        host = reports(&world, &host, good_inventory());
    }
    assert_eq!(asked(&world, &host), None);
    assert!(
        host.data.status_info.contains("registered again 10 times"),
        "{}",
        host.data.status_info
    );
    let retried = world.after(&host, &HostEvent::ErasureRetried);
    assert!(asked(&world, &retried).is_some());
}

#[test]
fn the_time_of_an_erasure_goes_on_without_an_inventory() {
    let mut world = world(Cleaning::default());
    let host = left_with(&mut world, good_inventory());
    let without_contents = Inventory {
        truncation: Some(Truncation {
            kind: "full".into(),
            reasons: vec!["too large".into()],
        }),
        ..Inventory::default()
    };
    let mut host = reports(&world, &host, without_contents);
    assert_eq!(host.state, HostState::DiscoveringUnbound);
    world.wait(Duration::minutes(15));
    world.poll();
    host = world.after(&host, &HostEvent::DeadlinePassed);
    let stage = &host.data.cleaning.as_ref().unwrap().stage;
    assert!(matches!(stage, CleaningStage::Failed { .. }), "{stage:?}");
    assert!(host.due_at.is_none_or(|due| due > world.now), "{:?}", host.due_at);
}

#[test]
fn a_disk_that_is_gone_is_told_and_stays_known() {
    let mut world = world(Cleaning::default());
    let mut without = good_inventory();
    without.disks.remove(0);
    without.disks.push(disk("sdx", 480));
    let waiting = left_with(&mut world, without);
    assert_eq!(waiting.state, HostState::DiscoveringUnbound);
    assert!(
        waiting
            .data
            .status_info
            .contains("sda is not there; it is waited for until"),
        "{}",
        waiting.data.status_info
    );
    let late = reports(&world, &waiting, good_inventory());
    assert!(asked(&world, &late).is_some(), "it has come late");
    world.wait(Duration::minutes(5));
    world.poll();
    let host = world.after(&waiting, &HostEvent::DeadlinePassed);
    assert_eq!(host.state, HostState::KnownUnbound);
    let text = describe_end(host.data.cleaned.last().unwrap());
    assert!(text.contains("sda: not present"), "{text}");
    assert_eq!(host.data.written_disks.len(), 1);
}

#[test]
fn an_agent_of_another_make_is_not_asked_and_the_host_is_available_as_ever() {
    let mut world = world(Cleaning::default());
    let host = left_at(&mut world, HostStage::Done);
    let other = HostEvent::Registered {
        agent_version: "quay.io/other/agent:2".into(),
        fingerprint: None,
        public_key: String::new(),
    };
    let host = world.after(&host, &other);
    let step = world
        .step(&host, &HostEvent::InventoryReported(good_inventory()))
        .unwrap();
    assert_eq!(step.host.state, HostState::KnownUnbound);
    assert!(
        names(&step).contains(&"muster_host_not_erased"),
        "{:?}",
        names(&step)
    );
}

#[test]
fn hosts_of_earlier_versions_are_left_alone_in_the_pool_and_erased_after_a_cluster() {
    let mut world = world(Cleaning::default());
    let pooled = world.known_host();
    let pooled = reports(
        &world,
        &world.after(&pooled, &world.registered()),
        good_inventory(),
    );
    assert_eq!(pooled.state, HostState::KnownUnbound);
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let mut node = world.after(&host, &progress(HostStage::Done));
    node.data.written_disks.clear();
    let mut host = world.after(&node, &HostEvent::Reclaimed);
    host = world.after(&host, &world.registered());
    host = reports(&world, &host, good_inventory());
    assert!(asked(&world, &host).is_some());
}

#[test]
fn a_machine_that_is_a_node_through_another_infra_env_is_not_erased() {
    let mut world = world(Cleaning::default());
    let host = left_at(&mut world, HostStage::Done);
    world.in_cluster_through = Some("other".into());
    let host = reports(&world, &host, good_inventory());
    assert_eq!(asked(&world, &host), None);
    assert!(
        host.data.status_info.contains("InfraEnv other"),
        "{}",
        host.data.status_info
    );
    world.in_cluster_through = None;
    let host = reports(&world, &host, good_inventory());
    assert!(asked(&world, &host).is_some());
}

#[test]
fn the_agent_is_not_replaced_while_it_erases() {
    use muster_core::lifecycle::host::instructions::{Offer, handover};
    let mut world = world(Cleaning::default());
    let host = left_with(&mut world, good_inventory());
    let offer = Offer {
        version: AGENT.into(),
        program: muster_api::steps::AgentProgram {
            sha256: "cd".repeat(32),
            ..muster_api::steps::AgentProgram::default()
        },
    };
    let build = "ab".repeat(32);
    assert!(
        handover(&host, &build, &offer).is_some(),
        "its program may lack the step"
    );
    let busy = world.after(&host, &answer(&host, ErasureState::Erasing, 1, ""));
    assert_eq!(handover(&busy, &build, &offer), None);
}
