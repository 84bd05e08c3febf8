//! A host stays legal after any sequence of events.

use chrono::Duration;
use muster_api::host::{
    DiskConfigParams, DiskRole, HostKind, HostRole, HostStage, HostUpdateParams, LogsProgressState,
    MediaStatus,
};
use muster_api::inventory::{
    Cpu, Disk, Eligibility, Interface, Inventory, Iscsi, Memory, Route, SystemVendor, Truncation,
};
use muster_api::steps::{DiskSpeedCheckResponse, NtpSource, NtpSourceState, StepType};
use muster_api::validation::ValidationStatus;
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, ReinstallAsked, Shown, Step, view};
use muster_core::record::{CheckId, Host, HostState, ImageWish, Phase, Secret};
use muster_core::rules::findings::WAITING;
use muster_core::rules::{checks, stages};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

use crate::world::{World, good_inventory, reply};

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("localhost".to_owned()),
        Just("0.0.0.0".to_owned()),
        Just("::/0".to_owned()),
        "[a-z0-9.-]{1,70}",
        any::<String>(),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("sda".to_owned()),
        Just("dm-0".to_owned()),
        Just("nvme0n1".to_owned()),
        word()
    ]
}

prop_compose! {
    fn disk()(
        id in name(), name in name(), drive_type in prop_oneof![
            Just("SSD".to_owned()), Just("Multipath".to_owned()), Just("iSCSI".to_owned()), Just("FC".to_owned()), word()
        ],
        size_bytes in any::<i64>(), bootable in any::<bool>(), holders in name(), by_path in word(),
        reasons in vec(word(), 0..2), host_ip in option::of(word()),
    ) -> Disk {
        Disk {
            id, name, drive_type, size_bytes, bootable, holders, by_path,
            iscsi: host_ip.map(|host_ip_address| Iscsi { host_ip_address }),
            installation_eligibility: Eligibility { eligible: bootable, not_eligible_reasons: reasons },
            ..Disk::default()
        }
    }
}

prop_compose! {
    fn inventory()(
        hostname in word(), cpu in option::of(any::<i64>()), memory in option::of((any::<i64>(), word())),
        disks in vec(disk(), 0..4), routes in vec((word(), word(), any::<i32>()), 0..3),
        addresses in vec(word(), 0..3), product in option::of(word()), truncation in option::of(word()),
    ) -> Inventory {
        Inventory {
            hostname,
            cpu: cpu.map(|count| Cpu { count, ..Cpu::default() }),
            memory: memory.map(|(physical_bytes, physical_bytes_method)| Memory { physical_bytes, physical_bytes_method, usable_bytes: 0 }),
            disks,
            routes: routes.into_iter().map(|(destination, gateway, family)| Route { destination, gateway, family, ..Route::default() }).collect(),
            interfaces: vec![Interface { ipv4_addresses: addresses, ..Interface::default() }],
            system_vendor: product.map(|product_name| SystemVendor { product_name, ..SystemVendor::default() }),
            truncation: truncation.map(|kind| Truncation { kind, reasons: Vec::new() }),
            ..Inventory::default()
        }
    }
}

fn edit() -> impl Strategy<Value = HostUpdateParams> {
    (option::of(word()), option::of(name())).prop_map(|(host_name, disk)| HostUpdateParams {
        host_name,
        disks_selected_config: disk.map(|id| {
            vec![DiskConfigParams {
                id,
                role: Some(DiskRole::Install),
            }]
        }),
        ..HostUpdateParams::default()
    })
}

fn happening() -> impl Strategy<Value = HostEvent> {
    prop_oneof![
        registration(),
        registration(),
        Just(HostEvent::CheckedIn),
        Just(HostEvent::InventoryReported(good_inventory())),
        inventory().prop_map(HostEvent::InventoryReported),
        any::<bool>().prop_map(|synced| HostEvent::NtpReported(vec![NtpSource {
            source_name: "a".into(),
            source_state: Some(if synced {
                NtpSourceState::Synced
            } else {
                NtpSourceState::Error
            }),
        }])),
        Just(HostEvent::MediaLost),
        Just(HostEvent::MediaBack),
        Just(HostEvent::BootArtifactsDownloaded),
        Just(HostEvent::DeadlinePassed),
        edit().prop_map(HostEvent::Edited),
        any::<bool>().prop_map(HostEvent::Approved),
        Just(HostEvent::FactsChanged),
        in_a_cluster(),
        in_a_cluster(),
    ]
}

fn registration() -> impl Strategy<Value = HostEvent> {
    word().prop_map(|agent_version| HostEvent::Registered {
        public_key: String::new(),
        agent_version,
        fingerprint: None,
    })
}

fn stage() -> impl Strategy<Value = Option<HostStage>> {
    let list = stages::of(HostRole::Worker, HostKind::Host, true);
    prop_oneof![
        proptest::sample::select(list).prop_map(Some),
        Just(Some(HostStage::Failed)),
        Just(Some(HostStage::WaitingForBootkube)),
        Just(None)
    ]
}

/// Events of hosts of a cluster, or on their way in and out.
fn in_a_cluster() -> impl Strategy<Value = HostEvent> {
    prop_oneof![
        Just(HostEvent::Bound {
            cluster_id: crate::world::cluster().id
        }),
        Just(HostEvent::Unbound),
        Just(HostEvent::Reclaimed),
        proptest::sample::select(crate::world::cluster_is_reached()),
        proptest::sample::select(vec![
            HostEvent::InstallRequested,
            HostEvent::BootstrapIgnitionSet(Secret::new(r#"{"ignition":{"version":"3.3.0"}}"#)),
            HostEvent::BootstrapIgnitionSet(Secret::default()),
            HostEvent::ImageRequested(ImageWish {
                name: "416.1".into(),
                ..ImageWish::default()
            }),
            HostEvent::ImageRequested(ImageWish::default()),
            HostEvent::ResetRequested,
            HostEvent::Cancelled {
                reason: "by user".into()
            },
            HostEvent::BootArtifactsDownloaded,
            HostEvent::BootArtifactsFailed,
            HostEvent::InstallationFailed {
                reason: "no image".into()
            },
            HostEvent::StepFailed {
                exit_code: -1,
                reason: "not found".into()
            },
            HostEvent::LogsUploaded,
            HostEvent::LogsAsked,
            HostEvent::AskedLogsUploaded,
            HostEvent::LogsNotSent {
                reason: "no space".into()
            },
            HostEvent::PeersChanged,
            HostEvent::IdentitySettled { other: None },
            HostEvent::NodeFailed {
                reason: "not ready".into()
            },
            HostEvent::FailuresForgotten,
            HostEvent::ErasureRetried,
            HostEvent::ErasureSkipped,
            HostEvent::ErasureRefused {
                reason: "unknown step".into()
            },
        ]),
        (stage(), word()).prop_map(|(stage, info)| HostEvent::Progressed { stage, info }),
        (0_i64..15_000).prop_map(|seconds| {
            HostEvent::ReinstallAsked(ReinstallAsked {
                requested_at: crate::world::start() + Duration::seconds(seconds),
                cluster_id: Some(crate::world::cluster().id),
            })
        }),
        word().prop_map(HostEvent::TangReported),
        prop_oneof![
            Just(LogsProgressState::Requested),
            Just(LogsProgressState::Collecting),
            Just(LogsProgressState::None)
        ]
        .prop_map(|state| HostEvent::LogsProgressed { state }),
        (word(), any::<i64>()).prop_map(|(path, io_sync_duration)| HostEvent::DiskSpeedReported {
            exit_code: 0,
            response: DiskSpeedCheckResponse {
                path,
                io_sync_duration
            },
        }),
        vec(word(), 0..3).prop_map(HostEvent::InstallerArgsSet),
        word().prop_map(HostEvent::ValidationReset),
    ]
}

/// True for events that are reported at each occurrence.
fn is_told_each_time(event: &HostEvent) -> bool {
    matches!(
        event,
        HostEvent::Registered { .. }
            | HostEvent::StepFailed { .. }
            | HostEvent::InstallerArgsSet(_)
            | HostEvent::IgnitionOverrideSet(_)
            | HostEvent::LogsUploaded
            | HostEvent::AskedLogsUploaded
            | HostEvent::UpgradeReported(_)
            // Another attempt each time, if each fails at once.
            | HostEvent::ErasureRetried
    )
}

/// An event, the time since the last one, and true if the host polled just before.
fn story() -> impl Strategy<Value = Vec<(HostEvent, i64, bool)>> {
    vec((happening(), 0_i64..600, any::<bool>()), 1..25)
}

fn is_legal(host: &Host) {
    let gate_failures: Vec<CheckId> = [
        CheckId::HasMinCpuCores,
        CheckId::HasMinMemory,
        CheckId::HasMinValidDisks,
        CheckId::HostnameValid,
    ]
    .into_iter()
    .filter(|check| !checks::holds(&host.data.validations, *check))
    .collect();
    // Logs of an operator's earlier request may be awaited.
    let awaits_logs = host.data.awaits_logs();
    let stuck = |state: &HostState| {
        assert_eq!(host.due_at.is_some(), awaits_logs, "{state:?} {:?}", host.due_at);
    };
    match &host.state {
        HostState::DiscoveringUnbound | HostState::Discovering | HostState::Unbinding => {
            assert!(host.due_at.is_some());
        }
        HostState::KnownUnbound => {
            assert!(host.due_at.is_some() && host.inventory.is_some());
            assert!(gate_failures.is_empty(), "{gate_failures:?}");
        }
        HostState::InsufficientUnbound { failed } => {
            assert!(host.due_at.is_some() && host.inventory.is_some() && !failed.is_empty());
            assert_eq!(*failed, gate_failures);
        }
        HostState::Known => assert!(host.due_at.is_some() && host.inventory.is_some()),
        HostState::Insufficient { failed } | HostState::PendingForInput { failed } => {
            assert!(host.due_at.is_some() && host.inventory.is_some() && !failed.is_empty());
        }
        HostState::ResettingPendingUserAction if host.boots_itself_again() => {
            assert!(host.due_at.is_some());
        }
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting => assert!(host.due_at.is_some()),
        HostState::Binding => assert!(host.due_at.is_some()),
        state @ (HostState::DisconnectedUnbound
        | HostState::Disconnected
        | HostState::AddedToExistingCluster) => stuck(state),
        // They wait for a user; only the finding about that is due.
        HostState::InstallingPendingUserAction { .. }
        | HostState::ResettingPendingUserAction
        | HostState::UnbindingPendingUserAction => {
            let noted = host.data.findings.iter().any(|finding| finding.kind == WAITING);
            assert_eq!(host.due_at.is_none(), noted && !awaits_logs);
        }
        // Logs may be awaited.
        HostState::Error | HostState::Cancelled => {}
    }
    let out_of_clusters = matches!(
        host.state,
        HostState::Unbinding
            | HostState::UnbindingPendingUserAction
            | HostState::Reclaiming
            | HostState::ReclaimingRebooting
    ) || host.state.phase() == Phase::Unbound;
    assert_eq!(host.cluster_id.is_none(), out_of_clusters, "{:?}", host.state);
    if out_of_clusters {
        assert_eq!(host.data.kind, HostKind::Host);
        assert!(host.data.progress.is_none() && host.data.api_vip_connectivity.is_none());
    }
    if host.state == HostState::AddedToExistingCluster {
        assert_eq!(host.data.progress.as_ref().map(|p| p.percentage), Some(100));
    }
    assert!(!host.data.status_info.is_empty() && host.data.status_info.len() <= 2040);
    let disks = host.inventory.iter().flat_map(|inventory| &inventory.disks);
    let mut disks = disks.filter(|disk| disk.id == host.data.installation_disk_id);
    let chooses = matches!(host.state.phase(), Phase::Unbound | Phase::PreInstall);
    if chooses && host.inventory.is_some() && !host.data.installation_disk_id.is_empty() {
        assert!(disks.any(|disk| disk.installation_eligibility.eligible));
    }
    for row in host.data.validations.values().flatten() {
        assert!(!row.message.is_empty(), "{}", row.id);
    }
}

/// Every change for which docs/protocol/events.tsv requires an event has one.
fn tells_everything(old: &Host, step: &Step) {
    let next = &step.host;
    let count = |name: &str| step.events.iter().filter(|event| event.name == name).count();
    let moved = usize::from(old.state.status() != next.state.status());
    assert_eq!(count("host_status_updated"), moved);
    assert_eq!(step.transition.is_some(), moved == 1);
    let lost = Some(MediaStatus::Disconnected);
    assert_eq!(
        count("host_media_disconnected"),
        usize::from(next.data.media_status == lost && old.data.media_status != lost)
    );
    let failing = |host: &Host, check: CheckId| {
        checks::find(&host.data.validations, check).map(|row| row.status == ValidationStatus::Failure)
    };
    let newly_failed = CheckId::ALL
        .iter()
        .filter(|check| failing(old, **check) == Some(false) && failing(next, **check) == Some(true))
        .count();
    assert_eq!(count("host_validation_failed"), newly_failed);
    for event in &step.events {
        assert!(event.message.len() <= 4096 && event.host_id == Some(old.id));
    }
}

const REPORTS: [StepType; 13] = [
    StepType::Inventory,
    StepType::Health,
    StepType::NtpSynchronizer,
    StepType::VerifyVips,
    StepType::ConnectivityCheck,
    StepType::ApiVipConnectivityCheck,
    StepType::TangConnectivityCheck,
    StepType::DomainResolution,
    StepType::InstallationDiskSpeedCheck,
    StepType::ContainerImageAvailability,
    StepType::FreeNetworkAddresses,
    StepType::UpgradeAgent,
    StepType::EraseDisks,
];

/// Any JSON, with the names of real fields among the keys.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    let key = prop_oneof![
        proptest::sample::select(vec![
            "disks",
            "cpu",
            "memory",
            "interfaces",
            "hostname",
            "count",
            "ntp_sources",
            "id"
        ])
        .prop_map(str::to_owned),
        word(),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key.clone(), inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_output_is_an_event_or_an_error_and_what_is_taken_holds_no_control_characters(
        json in any_json(), junk in any::<String>()
    ) {
        for output in [json.to_string(), junk] {
            for step in REPORTS {
                let Ok(events) = interpret(&reply(step, 0, &output), &Limits::default()) else { continue };
                for event in events {
                    if let HostEvent::InventoryReported(inventory) = &event {
                        prop_assert!(!inventory.hostname.contains(char::is_control));
                    }
                    let mut world = World::new();
                    let host = world.known_host();
                    if let Ok(step) = world.step(&host, &event) {
                        is_legal(&step.host);
                    }
                }
            }
        }
    }

    #[test]
    fn any_story_leaves_a_legal_host_and_tells_what_happened(story in story(), kube in any::<bool>(), begin in 0..3) {
        let mut world = World::new();
        world.kube = kube;
        let mut host = match begin {
            0 => world.register(),
            1 => world.known_host_of_cluster(),
            _ => {
                let known = world.known_host_of_cluster();
                world.step(&known, &HostEvent::InstallRequested).map_or(known, |step| step.host)
            }
        };
        is_legal(&host);
        for (event, seconds, polled) in story {
            world.wait(Duration::seconds(seconds));
            if polled {
                world.poll();
            }
            let step = match world.step(&host, &event) {
                Ok(step) => step,
                Err(refused) => {
                    prop_assert_eq!(refused.status, Some(host.state.status()));
                    prop_assert!(!refused.reason.is_empty());
                    continue;
                }
            };
            tells_everything(&host, &step);
            if step.changed {
                is_legal(&step.host);
            } else {
                prop_assert_eq!(&step.host, &host);
                prop_assert!(step.events.is_empty());
            }
            // The same event right after it changes nothing more, except events that are reported at each occurrence.
            if !is_told_each_time(&event)
                && let Ok(again) = world.step(&step.host, &event)
            {
                prop_assert!(!again.changed, "{} twice", event.name());
            }
            host = step.host;
            prop_assert!(host.due_at.is_none_or(|due| due <= world.now + Duration::hours(24)));
            // Views and instructions never panic either, and survive storing.
            let shown = view(&host, Shown { last_seen: world.last_seen, kube, ..Shown::default() });
            prop_assert!(shown.status.is_some());
            let _ = world.steps(&host);
            let stored = serde_json::to_string(&host.data).unwrap();
            prop_assert_eq!(serde_json::from_str::<muster_core::record::HostData>(&stored).unwrap(), host.data.clone());
            let stored = serde_json::to_string(&host.state).unwrap();
            prop_assert_eq!(serde_json::from_str::<HostState>(&stored).unwrap(), host.state.clone());
        }
    }
}
