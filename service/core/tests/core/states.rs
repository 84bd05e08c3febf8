//! Every state meets every event; the outcomes are in `docs/host-states.md`.
//!
//! `MUSTER_BLESS=1 cargo test -p muster-core states` rewrites that page; review the difference before the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use chrono::Duration;
use muster_api::host::{HostStage, LogsProgressState};
use muster_api::inventory::{Inventory, Truncation};
use muster_core::lifecycle::host::{HostEvent, RefusalClass, ReinstallAsked};
use muster_core::record::{CheckId, Host, HostState};

use crate::world::{World, good_inventory};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/host-states.md");

fn unfit_inventory() -> Inventory {
    let mut inventory = good_inventory();
    inventory.cpu.as_mut().unwrap().count = 1;
    inventory
}

fn progress(stage: HostStage) -> HostEvent {
    HostEvent::Progressed {
        stage: Some(stage),
        info: String::new(),
    }
}

/// Hosts in each state, each after a usual series of events.
fn specimens(kube: bool) -> Vec<(World, Host)> {
    let mut all = Vec::new();
    let mut make = |events: &[HostEvent], in_cluster: bool| {
        let mut world = World::new();
        world.kube = kube;
        let mut host = if in_cluster {
            world.known_host_of_cluster()
        } else {
            world.poll();
            world.register()
        };
        for event in events {
            host = if *event == HostEvent::DeadlinePassed {
                time_passes(&mut world, &host)
            } else {
                world.after(&host, event)
            };
        }
        all.push((world, host));
    };
    let good = || HostEvent::InventoryReported(good_inventory());
    let unfit = || HostEvent::InventoryReported(unfit_inventory());
    let bound = HostEvent::Bound {
        cluster_id: crate::world::cluster().id,
    };
    let registered = World::new().registered();
    let failed = HostEvent::InstallationFailed {
        reason: String::new(),
    };
    let cancelled = HostEvent::Cancelled {
        reason: "by user".into(),
    };
    let install = || HostEvent::InstallRequested;
    make(&[], false);
    make(&[good()], false);
    make(&[unfit()], false);
    make(&[HostEvent::DeadlinePassed], false);
    make(&[good(), bound], false);
    make(std::slice::from_ref(&registered), true);
    make(&[], true);
    make(&[unfit()], true);
    make(&[HostEvent::DeadlinePassed], true);
    make(&[install()], true);
    make(&[install(), progress(HostStage::StartingInstallation)], true);
    if kube {
        make(
            &[
                install(),
                progress(HostStage::StartingInstallation),
                progress(HostStage::Rebooting),
            ],
            true,
        );
        make(
            &[install(), progress(HostStage::Rebooting), registered.clone()],
            true,
        );
        make(
            &[
                install(),
                progress(HostStage::Rebooting),
                HostEvent::DeadlinePassed,
            ],
            true,
        );
        make(&[install(), progress(HostStage::Joined)], true);
        make(&[install(), progress(HostStage::Done)], true);
        make(
            &[install(), progress(HostStage::Done), HostEvent::Reclaimed],
            true,
        );
        make(
            &[
                install(),
                progress(HostStage::Done),
                HostEvent::Reclaimed,
                HostEvent::BootArtifactsDownloaded,
            ],
            true,
        );
        let again = [install(), progress(HostStage::Done), reinstall()];
        make(&again, true);
        make(
            &[&again[..], &[HostEvent::BootArtifactsDownloaded]].concat(),
            true,
        );
    } else {
        make(&[install(), progress(HostStage::Rebooting)], true);
    }
    make(&[install(), failed.clone()], true);
    make(&[install(), cancelled.clone()], true);
    make(&[HostEvent::ResetRequested], true);
    make(&[HostEvent::Unbound], true);
    make(&[install(), cancelled, HostEvent::Unbound], true);
    // No event makes a host of an imported cluster wait for input, so this state is set directly.
    let mut world = World::new();
    world.kube = kube;
    let mut host = world.known_host_of_cluster();
    host.state = HostState::PendingForInput {
        failed: vec![CheckId::MachineCidrDefined],
    };
    all.push((world, host));
    all
}

/// A request to install the node again, some time after each specimen has come into its state.
fn reinstall() -> HostEvent {
    HostEvent::ReinstallAsked(ReinstallAsked {
        requested_at: crate::world::start() + Duration::minutes(4),
        cluster_id: Some(crate::world::cluster().id),
    })
}

/// The host after its deadline. The finding about a wait is due earlier and moves no host.
fn time_passes(world: &mut World, host: &Host) -> Host {
    let mut host = host.clone();
    for _ in 0..3 {
        let Some(due) = host.due_at else { break };
        world.now = due;
        let next = world.after(&host, &HostEvent::DeadlinePassed);
        let moved = next.state.status() != host.state.status();
        host = next;
        if moved {
            break;
        }
    }
    host
}

/// All events that may move a host.
fn happenings() -> Vec<(&'static str, HostEvent)> {
    let cluster_id = crate::world::cluster().id;
    let truncated = Inventory {
        truncation: Some(Truncation {
            kind: "full".into(),
            reasons: Vec::new(),
        }),
        ..good_inventory()
    };
    vec![
        ("registers", World::new().registered()),
        ("polls", HostEvent::CheckedIn),
        ("fit inventory", HostEvent::InventoryReported(good_inventory())),
        ("unfit inventory", HostEvent::InventoryReported(unfit_inventory())),
        ("empty inventory", HostEvent::InventoryReported(truncated)),
        ("loses its medium", HostEvent::MediaLost),
        ("time passes", HostEvent::DeadlinePassed),
        ("bind", HostEvent::Bound { cluster_id }),
        ("unbind", HostEvent::Unbound),
        ("reclaim", HostEvent::Reclaimed),
        ("install", HostEvent::InstallRequested),
        (
            "install step fails",
            HostEvent::InstallationFailed {
                reason: String::new(),
            },
        ),
        ("progress", progress(HostStage::WritingImageToDisk)),
        ("reboots", progress(HostStage::Rebooting)),
        ("done", progress(HostStage::Done)),
        ("reports Failed", progress(HostStage::Failed)),
        (
            "cancel",
            HostEvent::Cancelled {
                reason: "by user".into(),
            },
        ),
        ("reset", HostEvent::ResetRequested),
        ("reinstall", reinstall()),
        ("boot artifacts", HostEvent::BootArtifactsDownloaded),
        ("no boot artifacts", HostEvent::BootArtifactsFailed),
        (
            "edit",
            HostEvent::Edited(serde_json::from_str(r#"{"host_name":"worker-1"}"#).unwrap()),
        ),
    ]
}

#[derive(Default)]
struct Explored {
    /// From, to: the events.
    edges: BTreeMap<(&'static str, &'static str), BTreeSet<&'static str>>,
    /// State, event: the outcomes.
    outcomes: BTreeMap<(&'static str, &'static str), BTreeSet<String>>,
}

fn explore() -> Explored {
    let mut found = Explored::default();
    for kube in [false, true] {
        for (world, host) in specimens(kube) {
            let from = host.state.status().name();
            for (label, event) in happenings() {
                let mut world = World {
                    now: world.now,
                    last_seen: world.last_seen,
                    kube,
                    ..World::new()
                };
                match &event {
                    HostEvent::DeadlinePassed if host.due_at.is_none() => continue,
                    HostEvent::DeadlinePassed => {
                        let to = time_passes(&mut world, &host).state.status().name();
                        let stays = from == to;
                        if !stays {
                            found.edges.entry((from, to)).or_default().insert(label);
                        }
                        let outcome = if stays { "stays" } else { to };
                        found
                            .outcomes
                            .entry((from, label))
                            .or_default()
                            .insert(outcome.to_owned());
                        continue;
                    }
                    HostEvent::Registered { .. } | HostEvent::CheckedIn => world.poll(),
                    _ => {}
                }
                let outcome = match world.step(&host, &event) {
                    Err(refused) => {
                        assert!(refused.reason.contains(from), "{label}: {}", refused.reason);
                        match refused.class {
                            RefusalClass::UserConflict => "409",
                            RefusalClass::BadInput => "400",
                            RefusalClass::NotAccepted => "500",
                        }
                        .to_owned()
                    }
                    Ok(step) => {
                        let to = step.host.state.status().name();
                        if from == to {
                            "stays".to_owned()
                        } else {
                            found.edges.entry((from, to)).or_default().insert(label);
                            to.to_owned()
                        }
                    }
                };
                found.outcomes.entry((from, label)).or_default().insert(outcome);
            }
        }
    }
    found
}

fn page(found: &Explored) -> String {
    let mut page = String::from(
        "# States of hosts\n\n\
         Written by `MUSTER_BLESS=1 cargo test -p muster-core states` from what the code does; do not edit. Hosts of the pool and hosts that\n\
         are added to an existing cluster. `pending-for-input` is not entered by hosts of imported clusters, which need no machine network;\n\
         the `preparing-*` states, `installed`, `resetting` and `disabled` of the protocol belong to new clusters or to nothing.\n\n\
         ```mermaid\nstateDiagram-v2\n",
    );
    // Mermaid accepts no hyphens in the ids of states.
    let id = |name: &str| name.replace('-', "_");
    for state in HostState::one_of_each() {
        let name = state.status().name();
        writeln!(page, "    state \"{name}\" as {}", id(name)).unwrap();
    }
    page.push_str(
        "    [*] --> discovering_unbound: registers, new\n    [*] --> discovering: registers, new, InfraEnv of a cluster\n",
    );
    for ((from, to), labels) in &found.edges {
        let labels: Vec<&str> = labels.iter().copied().collect();
        writeln!(page, "    {} --> {}: {}", id(from), id(to), labels.join(", ")).unwrap();
    }
    page.push_str(
        "```\n\n## What comes of what\n\n\
         `stays`: accepted, and the state is the same. 400, 409, 500: refused with this code. Several outcomes: it depends on where the host\n\
         was before, or on whether controllers in a cluster see how installations end (`reboots` then is not the end).\n\n| state | event | outcome |\n|---|---|---|\n",
    );
    for ((state, event), outcomes) in &found.outcomes {
        let outcomes: Vec<&str> = outcomes.iter().map(String::as_str).collect();
        writeln!(page, "| {state} | {event} | {} |", outcomes.join(" or ")).unwrap();
    }
    page
}

#[test]
fn the_page_of_states_is_what_the_code_does() {
    let found = explore();
    let ours = page(&found);
    if std::env::var_os("MUSTER_BLESS").is_some() {
        std::fs::write(PAGE, &ours).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert_eq!(ours, written, "docs/host-states.md differs; see states.rs");
}

#[test]
fn every_state_is_entered_and_left() {
    let found = explore();
    for state in HostState::one_of_each() {
        let name = state.status().name();
        let entered = found.edges.keys().any(|(_, to)| *to == name);
        let waits_for_input = matches!(state, HostState::PendingForInput { .. });
        assert_ne!(entered, waits_for_input, "{name}");
        assert!(
            found.edges.keys().any(|(from, _)| *from == name),
            "{name} is never left"
        );
    }
}

#[test]
fn deadlines_are_those_of_the_table() {
    let due_in = |events: &[HostEvent], kube: bool| {
        let mut world = World::new();
        world.kube = kube;
        let mut host = world.known_host_of_cluster();
        for event in events {
            host = world.after(&host, event);
        }
        // The host polls all the time, so that its silence is never the first deadline.
        world.last_seen = Some(world.now + Duration::days(9));
        world.now += Duration::minutes(1);
        let host = world.step(&host, &HostEvent::DeadlinePassed).unwrap().host;
        host.due_at.map(|due| (due - crate::world::start()).num_minutes())
    };
    let install = HostEvent::InstallRequested;
    let minutes_at = |stage: HostStage| due_in(&[install.clone(), progress(stage)], true);
    assert_eq!(due_in(std::slice::from_ref(&install), true), Some(20));
    assert_eq!(minutes_at(HostStage::StartingInstallation), Some(30));
    assert_eq!(minutes_at(HostStage::Installing), Some(60));
    assert_eq!(minutes_at(HostStage::WritingImageToDisk), Some(30));
    assert_eq!(minutes_at(HostStage::WaitingForControlPlane), Some(60));
    assert_eq!(minutes_at(HostStage::Rebooting), Some(40));
    assert_eq!(minutes_at(HostStage::WaitingForIgnition), Some(24 * 60));
    assert_eq!(minutes_at(HostStage::Configuring), Some(60));
    assert_eq!(minutes_at(HostStage::Joined), Some(60));
    assert_eq!(minutes_at(HostStage::Done), None);
    let reclaimed = [install.clone(), progress(HostStage::Done), HostEvent::Reclaimed];
    assert_eq!(due_in(&reclaimed, true), Some(60));
    let cancelled = HostEvent::Cancelled { reason: "x".into() };
    let logs = HostEvent::LogsProgressed {
        state: LogsProgressState::Requested,
    };
    assert_eq!(due_in(&[install.clone(), cancelled.clone()], true), None);
    assert_eq!(due_in(&[install, cancelled, logs], true), Some(10));
}
