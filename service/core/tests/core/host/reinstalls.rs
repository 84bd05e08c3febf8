//! Nodes that are installed again in their cluster.

use chrono::Duration;
use muster_api::host::{HostStage, HostStatus};
use muster_api::inventory::Inventory;
use muster_api::steps::{PostStepAction, StepType};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host::{HostEvent, ReinstallAsked, awaited_boot, node_may_be_back};
use muster_core::record::{Host, HostState, NodeAgent, RebootOutcome, ReinstallStep};

use crate::world::{World, cluster_is_reached, good_inventory};

fn stage(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

/// A node of the cluster.
fn node(world: &mut World) -> Host {
    world.kube = true;
    let host = world.known_host_of_cluster();
    installed(world, &host)
}

fn installed(world: &World, host: &Host) -> Host {
    let host = world.after(host, &HostEvent::InstallRequested);
    let host = world.after(&host, &stage(HostStage::Rebooting));
    world.after(&host, &stage(HostStage::Done))
}

fn request(world: &World, requested_at: Timestamp) -> HostEvent {
    HostEvent::ReinstallAsked(ReinstallAsked {
        requested_at,
        cluster_id: Some(world.cluster.id),
    })
}

fn asked(world: &mut World, host: &Host) -> Host {
    world.wait(Duration::seconds(10));
    world.poll();
    world.after(host, &request(world, world.now))
}

fn step(host: &Host) -> Option<ReinstallStep> {
    host.data.reinstall_step()
}

fn outcome(host: &Host) -> Option<RebootOutcome> {
    host.data.asked_reinstall.as_ref().unwrap().outcome.clone()
}

fn instructed(world: &World, host: &Host) -> (Vec<String>, PostStepAction) {
    let steps = world.steps(host);
    let types = steps.instructions.into_iter().flatten();
    (types.map(|step| step.step_type).collect(), steps.post_step_action)
}

/// The same machine with another name from its network, and another disk that holds something bootable.
fn changed_inventory() -> Inventory {
    let mut inventory = good_inventory();
    inventory.hostname = "dhcp-17".into();
    for disk in &mut inventory.disks {
        disk.bootable = true;
    }
    inventory
}

fn known_again(world: &World, host: &Host, inventory: Inventory) -> Host {
    let mut host = world.after(host, &world.registered());
    host = world.after(&host, &HostEvent::InventoryReported(inventory));
    for event in cluster_is_reached() {
        host = world.after(&host, &event);
    }
    host
}

#[test]
fn a_node_boots_into_discovery_and_is_installed_again_with_its_name_and_disk() {
    let mut world = World::new();
    let host = node(&mut world);
    let disk = host.data.installation_disk_id.clone();
    let before = (
        host.id,
        host.cluster_id,
        host.data.installed_as.clone().unwrap().hostname,
    );
    let host = asked(&mut world, &host);
    assert_eq!(host.state, HostState::ResettingPendingUserAction);
    assert_eq!(step(&host), Some(ReinstallStep::Download));
    let (steps, _) = instructed(&world, &host);
    assert_eq!(steps, [StepType::DownloadBootArtifacts.name()]);
    let host = world.after(&host, &HostEvent::BootArtifactsDownloaded);
    assert_eq!(step(&host), Some(ReinstallStep::Reboot));
    let rebooting = (
        vec![StepType::RebootForReclaim.name().to_owned()],
        PostStepAction::Exit,
    );
    assert_eq!(instructed(&world, &host), rebooting);

    let host = known_again(&world, &host, changed_inventory());
    assert_eq!(host.state, HostState::Known, "{}", host.data.status_info);
    assert_eq!(step(&host), Some(ReinstallStep::Install));
    assert_eq!(host.data.installation_disk_id, disk);
    assert_eq!(
        host.data.disks_to_be_formatted,
        [disk],
        "the other disk holds data of the node"
    );
    let host = installed(&world, &host);
    assert_eq!(host.state, HostState::AddedToExistingCluster);
    assert_eq!(outcome(&host), Some(RebootOutcome::Done));
    let after = (
        host.id,
        host.cluster_id,
        host.data.installed_as.clone().unwrap().hostname,
    );
    assert_eq!(after, before);
    assert_eq!(host.data.node_agent, NodeAgent::Installed);
}

#[test]
fn a_reset_after_one_that_failed_formats_no_other_disk_either() {
    let mut world = World::new();
    let host = node(&mut world);
    let disk = host.data.installation_disk_id.clone();
    let host = asked(&mut world, &host);
    let host = known_again(&world, &host, changed_inventory());
    let host = world.after(&host, &HostEvent::InstallRequested);
    let host = world.after(&host, &stage(HostStage::WritingImageToDisk));
    let failed = HostEvent::InstallationFailed {
        reason: "input/output error".into(),
    };
    let host = world.after(&host, &failed);
    assert!(matches!(outcome(&host), Some(RebootOutcome::Failed(_))));
    let host = world.after(&host, &HostEvent::ResetRequested);
    let host = known_again(&world, &host, changed_inventory());
    assert_eq!(host.data.disks_to_be_formatted, std::slice::from_ref(&disk));
    let host = installed(&world, &host);
    assert_eq!(host.data.installation_disk_id, disk);
}

#[test]
fn no_other_disk_takes_the_place_of_one_that_is_gone() {
    let mut world = World::new();
    let host = node(&mut world);
    let disk = host.data.installation_disk_id.clone();
    let host = asked(&mut world, &host);
    let mut inventory = good_inventory();
    for other in &mut inventory.disks {
        other.size_bytes = 480_000_000_000;
    }
    inventory.disks.retain(|one| one.id != disk);
    let host = known_again(&world, &host, inventory);
    assert_eq!(host.state.status(), HostStatus::Insufficient);
    assert_eq!(host.data.installation_disk_id, "");
    assert!(world.step(&host, &HostEvent::InstallRequested).is_err());
}

#[test]
fn a_node_that_does_not_do_its_part_waits_for_a_boot_and_says_so() {
    let mut world = World::new();
    let node = node(&mut world);
    // It cannot download.
    let host = asked(&mut world, &node);
    let boot = |world: &World, host: &Host| {
        let facts = world.cluster_facts();
        awaited_boot(host, &facts.deadlines()).map(|boot| boot.from <= world.now)
    };
    assert_eq!(boot(&world, &host), None, "its BMC lets the node do it");
    let failed = world.after(&host, &HostEvent::BootArtifactsFailed);
    assert_eq!(step(&failed), Some(ReinstallStep::Boot));
    assert_eq!(failed.data.node_agent, NodeAgent::GaveUp);
    assert!(
        failed.data.status_info.contains("muster-node-agent"),
        "{}",
        failed.data.status_info
    );
    assert_eq!(boot(&world, &failed), Some(true));
    // It does not come back.
    let host = world.after(&host, &HostEvent::BootArtifactsDownloaded);
    let mut late = host;
    for _ in 0..3 {
        world.now = late.due_at.unwrap_or(world.now);
        late = world.after(&late, &HostEvent::DeadlinePassed);
    }
    assert_eq!(step(&late), Some(ReinstallStep::Boot));
    assert!(
        late.data.status_info.contains("60 minutes"),
        "{}",
        late.data.status_info
    );
    assert_eq!(outcome(&late), None, "it waits, and goes on after a boot");
    let back = known_again(&world, &late, good_inventory());
    assert_eq!(step(&back), Some(ReinstallStep::Install));
}

#[test]
fn a_silent_node_goes_on_with_its_next_poll() {
    let mut world = World::new();
    let host = node(&mut world);
    let mut host = asked(&mut world, &host);
    for _ in 0..3 {
        world.now = host.due_at.unwrap_or(world.now);
        host = world.after(&host, &HostEvent::DeadlinePassed);
    }
    assert_eq!(step(&host), Some(ReinstallStep::Boot));
    assert!(
        host.data.status_info.contains("has not polled"),
        "{}",
        host.data.status_info
    );
    assert!(node_may_be_back(&host.state, &host.data));
    world.wait(Duration::minutes(30));
    world.poll();
    let host = world.after(&host, &HostEvent::CheckedIn);
    assert_eq!(step(&host), Some(ReinstallStep::Download));
}

#[test]
fn a_node_without_our_agent_waits_for_a_boot_at_once() {
    let mut world = World::new();
    world.node_agent = false;
    let host = node(&mut world);
    let host = asked(&mut world, &host);
    assert_eq!(step(&host), Some(ReinstallStep::Boot));
    assert!(
        host.data
            .status_info
            .contains("boot the host into the discovery image")
    );
}

#[test]
fn one_that_failed_counts_and_may_be_requested_again_but_no_first_installation() {
    let mut world = World::new();
    world.kube = true;
    let fresh = world.known_host_of_cluster();
    let fail = |world: &World, host: &Host| {
        let host = world.after(host, &HostEvent::InstallRequested);
        let host = world.after(&host, &stage(HostStage::WritingImageToDisk));
        world.after(
            &host,
            &HostEvent::InstallationFailed {
                reason: "input/output error".into(),
            },
        )
    };
    let first = fail(&world, &fresh);
    let refused = asked(&mut world, &first);
    assert_eq!(refused.state, HostState::Error);
    assert!(matches!(outcome(&refused), Some(RebootOutcome::Failed(why)) if why.contains("error")));

    let mut world = World::new();
    let host = node(&mut world);
    let host = asked(&mut world, &host);
    let host = known_again(&world, &host, good_inventory());
    let host = fail(&world, &host);
    assert!(matches!(outcome(&host), Some(RebootOutcome::Failed(why)) if why.contains("input/output")));
    assert_eq!(
        host.data.failures.as_ref().map(|failures| failures.count),
        Some(1)
    );
    let host = asked(&mut world, &host);
    assert_eq!(host.state, HostState::ResettingPendingUserAction);
    assert!(host.data.comes_back, "the live system still runs");
    let host = known_again(&world, &host, good_inventory());
    let host = installed(&world, &host);
    assert_eq!(
        (outcome(&host), host.data.failures),
        (Some(RebootOutcome::Done), None)
    );
}

#[test]
fn requests_for_others_or_of_other_times_are_refused_and_known_ones_change_nothing() {
    let mut world = World::new();
    let host = node(&mut world);
    world.wait(Duration::minutes(10));
    world.poll();
    let elsewhere = HostEvent::ReinstallAsked(ReinstallAsked {
        requested_at: world.now,
        cluster_id: None,
    });
    let old = request(&world, host.data.status_updated_at - Duration::seconds(1));
    let future = request(&world, world.now + Duration::minutes(6));
    for (event, words) in [(elsewhere, "another cluster"), (old, "older"), (future, "future")] {
        let refused = world.after(&host, &event);
        assert_eq!(refused.state, HostState::AddedToExistingCluster);
        assert!(
            matches!(outcome(&refused), Some(RebootOutcome::Failed(why)) if why.contains(words)),
            "{words}"
        );
    }
    let good = request(&world, world.now);
    let host = world.after(&host, &good);
    assert!(!world.step(&host, &good).unwrap().changed);
    // One that is being carried out goes on.
    let other = request(&world, world.now + Duration::seconds(1));
    assert!(!world.step(&host, &other).unwrap().changed);
}

#[test]
fn a_host_may_leave_its_cluster_in_the_middle() {
    let mut world = World::new();
    let host = node(&mut world);
    let downloading = asked(&mut world, &host);
    let rebooting = world.after(&downloading, &HostEvent::BootArtifactsDownloaded);
    let waiting = world.after(&downloading, &HostEvent::BootArtifactsFailed);
    for (host, state) in [
        (downloading, HostState::Reclaiming),
        (rebooting, HostState::ReclaimingRebooting),
        (waiting, HostState::UnbindingPendingUserAction),
    ] {
        let left = world.after(&host, &HostEvent::Reclaimed);
        assert_eq!((&left.state, left.cluster_id), (&state, None));
        assert!(matches!(outcome(&left), Some(RebootOutcome::Failed(why)) if why.contains("left")));
        let back = world.after(&left, &world.registered());
        assert_eq!(back.state, HostState::DiscoveringUnbound);
        assert_eq!(back.data.requested_disk_id, "");
        assert!(back.data.cleaning.is_some(), "what the node left is erased");
    }
}
