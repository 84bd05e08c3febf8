//! The requirements of an installation before it begins, and the ends of the waits of one that has begun.

mod cloud_images;
mod images;

use std::net::IpAddr;
use std::sync::Arc;

use chrono::Duration;
use muster_api::host::{DiskConfigParams, DiskRole, HostFinding, HostStage, HostUpdateParams};
use muster_api::inventory::{Boot, Inventory};
use muster_api::steps::StepType;
use muster_core::lifecycle::host::{HostEvent, RefusalClass, obstacle};
use muster_core::record::{Host, HostState, NewEvent, Secret};
use muster_core::rules::findings::{DISK_MISSING, NAME_CHANGED, WAITING};
use muster_core::rules::hostname;
use muster_core::rules::limits::{USUAL_SILENCE, WaitLimits};
use muster_core::rules::os_image::{Availability, Source, parse};
use serde_json::{Value, json};

use crate::world::{World, disk, good_inventory};

const FOREIGN: &str = "quay.io/edge-infrastructure/assisted-installer-agent:latest";

/// The argument of the install step; `None`: the host gets no such step.
fn asked(world: &World, host: &Host) -> Option<Value> {
    let steps = world.steps(host).instructions.into_iter().flatten();
    let step = steps
        .into_iter()
        .find(|step| step.step_type == StepType::Install.name())?;
    Some(serde_json::from_str(&step.args[0]).unwrap())
}

fn finding<'a>(host: &'a Host, kind: &str) -> Option<&'a HostFinding> {
    host.data.findings.iter().find(|finding| finding.kind == kind)
}

/// The host at the end of the wait for `limit`, if no report arrives.
fn at_its_deadline(world: &mut World, host: &Host) -> Host {
    world.now = host.due_at.expect("a deadline runs");
    world.after(host, &HostEvent::DeadlinePassed)
}

#[test]
fn without_an_image_nothing_is_begun_and_the_reason_says_what_to_do() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    world.os_images.clear();
    let refused = world.step(&host, &HostEvent::InstallRequested).unwrap_err();
    assert_eq!(refused.class, RefusalClass::UserConflict);
    assert!(refused.reason.contains("--os-images"), "{}", refused.reason);
    assert_eq!(
        obstacle(&host, &world.cluster_facts()).as_deref(),
        refused.reason.split("install: ").nth(1)
    );

    world.os_images = World::new().os_images;
    world.cluster.data.openshift_version = "4.15.1".into();
    let why = obstacle(&host, &world.cluster_facts()).unwrap();
    assert!(why.contains("version 4.15.1 on x86_64"), "{why}");
    world.cluster.data.openshift_version.clear();
    assert_eq!(
        obstacle(&host, &world.cluster_facts()),
        None,
        "the default is taken"
    );
}

#[test]
fn a_file_of_the_service_is_named_once_it_is_checked() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    world.os_images = parse(&format!(
        r#"[{{"openshift_version":"4.16.3","cpu_architecture":"x86_64","version":"416.3","metal_url":"/srv/metal.raw.xz","metal_sha256":"{}"}}]"#,
        "cd".repeat(32)
    ))
    .unwrap();
    assert!(matches!(
        world.os_images[0].metal.as_ref().unwrap().source,
        Source::Path(_)
    ));
    assert!(
        obstacle(&host, &world.cluster_facts())
            .unwrap()
            .contains("being checked")
    );
    let set = |world: &mut World, availability| {
        world.os_images[0].metal.as_mut().unwrap().availability = availability;
    };
    set(&mut world, Availability::Unusable("it is another file".into()));
    assert!(
        obstacle(&host, &world.cluster_facts())
            .unwrap()
            .contains("it is another file")
    );
    set(&mut world, Availability::Ready { size: Some(7) });
    let host = world.after(&host, &HostEvent::InstallRequested);
    let url = format!(
        "https://muster.example.test/api/assisted-install/v2/infra-envs/{}/hosts/{}/downloads/os-image",
        host.infra_env_id, host.id
    );
    let step = asked(&world, &host).unwrap();
    assert_eq!(
        step["os_image"],
        json!({
            "url": url, "sha256": "cd".repeat(32), "size": 7, "format": "xz", "version": "416.3",
            "openshift_version": "4.16.3",
        })
    );
    assert_eq!(step["node_agent"], true);
    set(&mut world, Availability::Checking);
    assert_eq!(asked(&world, &host), None, "the file was replaced: wait for it");
}

#[test]
fn hosts_that_bring_an_image_need_none_of_the_service() {
    for brings in [
        "a foreign agent",
        "a CoreOS live system",
        "--image-url",
        "--image-file",
    ] {
        let mut world = World::new();
        let mut host = world.known_host_of_cluster();
        world.os_images.clear();
        match brings {
            "a foreign agent" => host.data.discovery_agent_version = FOREIGN.into(),
            "a CoreOS live system" => {
                Arc::make_mut(host.inventory.as_mut().unwrap()).boot = Some(Boot {
                    command_line: "coreos.liveiso=fedora-coreos ignition.firstboot".into(),
                    ..Boot::default()
                });
            }
            word => host.data.installer_args = vec![word.into(), "http://mirror.example.test/x".into()],
        }
        let host = world.after(&host, &HostEvent::InstallRequested);
        let step = asked(&world, &host).unwrap();
        assert_eq!(step.get("os_image"), None, "{brings}");
        let runs_ours = brings != "a foreign agent";
        assert_eq!(step.get("node_agent").is_some(), runs_ours, "{brings}");
    }
    let mut world = World::new();
    world.node_agent = false;
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    assert_eq!(asked(&world, &host).unwrap().get("node_agent"), None);
}

#[test]
fn a_chosen_disk_that_vanishes_is_never_replaced() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let with = |names: &[&str]| Inventory {
        disks: names.iter().map(|name| disk(name, 480)).collect(),
        ..good_inventory()
    };
    let host = world.after(&host, &HostEvent::InventoryReported(with(&["sda", "sdb"])));
    let choice = |id: &str| {
        HostEvent::Edited(HostUpdateParams {
            disks_selected_config: Some(vec![DiskConfigParams {
                id: id.into(),
                role: Some(DiskRole::Install),
            }]),
            ..HostUpdateParams::default()
        })
    };
    let host = world.after(&host, &choice("/dev/sdb"));
    assert_eq!(host.state, HostState::Known);
    let gone = world.after(&host, &HostEvent::InventoryReported(with(&["sda"])));
    assert!(
        matches!(gone.state, HostState::Insufficient { .. }),
        "{:?}",
        gone.state
    );
    assert!(
        gone.data.status_info.contains("wwn-sdb"),
        "{}",
        gone.data.status_info
    );
    assert_eq!(gone.data.installation_disk_id, "");
    let noted = finding(&gone, DISK_MISSING).unwrap();
    assert!(
        noted.message.contains("another disk is chosen"),
        "{}",
        noted.message
    );
    assert!(world.step(&gone, &HostEvent::InstallRequested).is_err());

    let back = world.after(&gone, &HostEvent::InventoryReported(with(&["sda", "sdb"])));
    assert_eq!(
        (&back.state, finding(&back, DISK_MISSING)),
        (&HostState::Known, None)
    );
    assert!(back.data.installation_disk_id.ends_with("wwn-sdb"));
    let other = world.after(&gone, &choice("/dev/sda"));
    assert_eq!(other.state, HostState::Known);
    // The service replaces its own choice.
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InventoryReported(with(&["sdb"])));
    assert_eq!(
        (&host.state, host.data.installation_disk_path.as_str()),
        (&HostState::Known, "/dev/sdb")
    );
}

#[test]
fn limits_of_stages_are_the_operators() {
    let mut world = World::new();
    world.kube = true;
    world.limits = WaitLimits::new(USUAL_SILENCE, vec![(HostStage::Rebooting, Duration::minutes(90))]);
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let rebooting = HostEvent::Progressed {
        stage: Some(HostStage::Rebooting),
        info: String::new(),
    };
    let host = world.after(&host, &rebooting);
    let host = at_its_deadline(&mut world, &host);
    assert_eq!(host.state, HostState::InstallingInProgress, "the wait was noted");
    let host = at_its_deadline(&mut world, &host);
    assert!(matches!(
        host.state,
        HostState::InstallingPendingUserAction { .. }
    ));
    assert!(
        host.data.status_info.contains("90 minutes"),
        "{}",
        host.data.status_info
    );
}

#[test]
fn a_node_that_has_joined_and_is_not_ready_in_time_is_no_failed_installation() {
    let mut world = World::new();
    world.kube = true;
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    let at = |stage, info: &str| HostEvent::Progressed {
        stage: Some(stage),
        info: info.into(),
    };
    let host = world.after(&host, &at(HostStage::Configuring, ""));
    let why = "The node a has joined, and its readiness is awaited (network plugin is not ready)";
    let joined = world.after(&host, &at(HostStage::Joined, why));
    let waits = at_its_deadline(&mut world, &joined);
    assert_eq!(waits.state, HostState::InstallingInProgress);
    let noted = finding(&waits, WAITING).unwrap();
    assert!(noted.message.contains("counts as complete"), "{}", noted.message);
    let ended = at_its_deadline(&mut world, &waits);
    assert_eq!(ended.state, HostState::AddedToExistingCluster);
    assert_eq!((finding(&ended, WAITING), ended.due_at), (None, None));
    let info = &ended.data.status_info;
    assert!(info.contains("60 minutes") && info.contains(why), "{info}");
    let progress = ended.data.progress.as_ref().unwrap();
    assert_eq!((progress.stage, progress.percentage), (HostStage::Done, 100));
    // A node that never joins is one.
    let mut world = World::new();
    world.kube = true;
    let waits = at_its_deadline(&mut world, &host);
    let failed = at_its_deadline(&mut world, &waits);
    assert_eq!(failed.state, HostState::Error);
}

#[test]
fn a_wait_above_a_minute_is_noted_with_its_end_and_what_to_do_and_taken_back() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    let host = world.after(&host, &HostEvent::InstallRequested);
    assert_eq!(finding(&host, WAITING), None);
    assert_eq!(host.due_at, Some(world.now + Duration::minutes(1)));
    world.wait(Duration::minutes(1));
    world.poll();
    let step = world.step(&host, &HostEvent::DeadlinePassed).unwrap();
    let noted = finding(&step.host, WAITING).unwrap();
    assert_eq!(noted.about, "installing");
    let since = crate::world::start().format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let until = (crate::world::start() + Duration::minutes(20))
        .format("%H:%M:%S UTC")
        .to_string();
    for word in [since.as_str(), until.as_str(), "counts as failed", "console"] {
        assert!(noted.message.contains(word), "{word}: {}", noted.message);
    }
    assert!(
        step.events
            .iter()
            .any(|event| event.name == "muster_finding_appeared")
    );
    assert!(step.host.due_at.is_some_and(|due| due > world.now));
    let progress = HostEvent::Progressed {
        stage: Some(HostStage::WritingImageToDisk),
        info: "5%".into(),
    };
    let writing = world.step(&step.host, &progress).unwrap();
    assert_eq!(finding(&writing.host, WAITING), None);
    assert!(
        writing
            .events
            .iter()
            .any(|event| event.name == "muster_finding_gone")
    );
    // The finding follows the reports, without duplicates.
    world.wait(Duration::minutes(2));
    world.poll();
    let noted = world.after(&writing.host, &HostEvent::DeadlinePassed);
    assert_eq!(finding(&noted, WAITING).unwrap().about, "Writing image to disk");
    let more = HostEvent::Progressed {
        stage: Some(HostStage::WritingImageToDisk),
        info: "10%".into(),
    };
    let step = world.step(&noted, &more).unwrap();
    assert_ne!(finding(&step.host, WAITING), finding(&noted, WAITING));
    assert!(
        step.events
            .iter()
            .all(|event| !event.name.starts_with("muster_finding"))
    );
}

#[test]
fn every_state_of_waiting_is_noted() {
    let cluster_id = crate::world::cluster().id;
    let install = HostEvent::InstallRequested;
    let stage = |stage| HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    };
    let cancel = HostEvent::Cancelled { reason: "x".into() };
    let done = [install.clone(), stage(HostStage::Done), HostEvent::Reclaimed];
    for (events, name) in [
        (vec![HostEvent::Unbound], "unbinding"),
        (vec![install.clone()], "installing"),
        (
            vec![install.clone(), stage(HostStage::Configuring)],
            "Configuring",
        ),
        (
            vec![
                install.clone(),
                stage(HostStage::Rebooting),
                World::new().registered(),
            ],
            "installing-pending-user-action",
        ),
        (
            vec![install.clone(), cancel, HostEvent::Unbound],
            "unbinding-pending-user-action",
        ),
        (done.to_vec(), "reclaiming"),
        (
            [&done[..], &[HostEvent::BootArtifactsDownloaded]].concat(),
            "reclaiming-rebooting",
        ),
        (vec![HostEvent::ResetRequested], "resetting-pending-user-action"),
        (vec![], ""),
    ] {
        let mut world = World::new();
        world.kube = true;
        let mut host = world.known_host_of_cluster();
        for event in &events {
            host = world.after(&host, event);
        }
        world.wait(Duration::minutes(1));
        world.poll();
        let host = world.after(&host, &HostEvent::DeadlinePassed);
        let noted = finding(&host, WAITING);
        assert_eq!(
            noted.map_or("", |noted| noted.about.as_str()),
            name,
            "{:?}",
            host.state
        );
        let tells =
            |noted: &HostFinding| noted.message.contains("Since 20") && noted.message.contains(" UTC");
        assert!(noted.is_none_or(tells), "{noted:?}");
    }
    let mut world = World::new();
    let host = world.known_host();
    let host = world.after(&host, &HostEvent::Bound { cluster_id });
    world.wait(Duration::minutes(1));
    let host = world.after(&host, &HostEvent::DeadlinePassed);
    assert_eq!(finding(&host, WAITING).unwrap().about, "binding");
    // A silent agent does not keep the host in this state forever; its next poll brings the host back.
    let lost = at_its_deadline(&mut world, &host);
    assert_eq!(lost.state, HostState::Disconnected);
    world.poll();
    let back = world.after(&lost, &HostEvent::CheckedIn);
    assert_eq!(back.state, HostState::Discovering);
    let known = world.after(&back, &HostEvent::InventoryReported(good_inventory()));
    assert_eq!(
        known.data.kind,
        muster_api::host::HostKind::AddToExistingClusterHost
    );
}

#[test]
fn bootstrap_data_is_taken_with_the_cluster_and_goes_with_it() {
    let mut world = World::new();
    let config =
        Secret::new(r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hunter2"}]}}"#);
    let given = HostEvent::BootstrapIgnitionSet(config.clone());
    let unbound = world.known_host();
    assert!(world.step(&unbound, &given).is_err(), "it is for a cluster");
    let mut host = world.known_host_of_cluster();
    host.data.api_vip_connectivity = None;
    host.data.domain_name_resolutions = None;
    let waits = world.after(&host, &HostEvent::FactsChanged);
    assert_ne!(waits.state, HostState::Known);
    let host = world.after(&waits, &given);
    assert_eq!(
        host.state,
        HostState::Known,
        "there is nothing to download: {}",
        host.data.status_info
    );
    let steps = world.steps(&host).instructions.unwrap();
    assert!(
        steps
            .iter()
            .all(|step| step.step_type != StepType::ApiVipConnectivityCheck.name())
    );
    assert!(!format!("{host:?}").contains("hunter2"));

    for bad in [
        "#cloud-config\nhunter2: {}",
        "{}",
        r#"{"ignition":{"version":"9.0.0"}}"#,
    ] {
        let refused = world
            .step(&host, &HostEvent::BootstrapIgnitionSet(Secret::new(bad)))
            .unwrap_err();
        assert_eq!(refused.class, RefusalClass::BadInput);
        assert!(
            refused.reason.contains("the bootstrap data is refused: "),
            "{}",
            refused.reason
        );
    }
    let installing = world.after(&host, &HostEvent::InstallRequested);
    assert!(world.step(&installing, &given).is_err(), "too late");
    let out = world.after(&host, &HostEvent::Unbound);
    assert!(out.bootstrap_ignition.is_empty() && !out.data.has_bootstrap_ignition);
    let taken = world.after(&host, &HostEvent::BootstrapIgnitionSet(Secret::default()));
    assert!(!taken.data.has_bootstrap_ignition);
}

/// A host reports a node's name after it was approved as another: certificates and drains follow the name of the request.
#[test]
fn name_and_addresses_are_those_of_the_request_whatever_is_reported_afterwards() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    assert_eq!(host.data.installed_as, None);
    let host = world.after(&host, &HostEvent::InstallRequested);
    let host = world.after(
        &host,
        &HostEvent::Progressed {
            stage: Some(HostStage::WritingImageToDisk),
            info: String::new(),
        },
    );
    let inventory = |name: &str| {
        let mut inventory = good_inventory();
        inventory.hostname = name.into();
        inventory.interfaces[0].ipv4_addresses = vec!["198.51.100.66/24".into()];
        HostEvent::InventoryReported(inventory)
    };
    let step = world.step(&host, &inventory("master-0")).unwrap();
    let told = |events: &[NewEvent]| {
        events
            .iter()
            .filter(|event| event.name == "muster_finding_appeared")
            .count()
    };
    assert_eq!(told(&step.events), 1, "{:?}", step.events);
    let named = |host: &Host| {
        (
            hostname::effective(host).map(str::to_owned),
            hostname::display(host),
            host.inventory.as_ref().unwrap().hostname.clone(),
            host.data.reported_hostname.clone(),
        )
    };
    let name = "host-1".to_owned();
    assert_eq!(
        named(&step.host),
        (Some(name.clone()), name.clone(), name.clone(), name)
    );
    let found = finding(&step.host, NAME_CHANGED).unwrap();
    assert!(
        found.message.contains("master-0") && found.message.contains("host-1"),
        "{found:?}"
    );
    let addresses = &step.host.data.installed_as.as_ref().unwrap().addresses;
    assert_eq!(addresses, &["198.51.100.11".parse::<IpAddr>().unwrap()]);

    let again = world.step(&step.host, &inventory("master-1")).unwrap();
    assert_eq!(told(&again.events), 0, "once: {:?}", again.events);

    let host = world.after(&again.host, &HostEvent::ResetRequested);
    let host = world.after(&host, &world.registered());
    assert_eq!(host.data.installed_as, None);
    let host = world.after(&host, &inventory("other"));
    assert_eq!(hostname::effective(&host), Some("other"), "it begins anew");
    assert_eq!(finding(&host, NAME_CHANGED), None);
}

#[test]
fn a_name_of_the_clusters_api_is_none_for_a_host() {
    let mut world = World::new();
    let host = world.known_host_of_cluster();
    for (name, is_good) in [
        ("api.day2.example.test", false),
        ("kubernetes.default.svc", false),
        ("worker-1.day2.example.test", true),
    ] {
        let mut inventory = good_inventory();
        inventory.hostname = name.into();
        let host = world.after(&host, &HostEvent::InventoryReported(inventory));
        assert_eq!(
            host.state == HostState::Known,
            is_good,
            "{name}: {}",
            host.data.status_info
        );
    }
}
