//! Records of hosts: every field, versions, deletion, look-ups.

mod check_ins;
mod known_documents;
mod polled;
mod summaries;
mod together;

on_both! {
    every_field_of_a_host_comes_back,
    a_save_on_an_old_version_is_a_conflict_and_changes_nothing,
    a_host_registers_only_once,
    a_host_needs_a_living_infra_env,
    a_deleted_host_is_absent_and_its_machine_may_return_as_new,
    history_tells_each_change_with_its_version,
    lists_are_by_infra_env_and_oldest_first,
    hosts_are_found_by_mac_address_in_any_case,
    hosts_are_counted_by_status,
    hosts_are_counted_by_findings_about_their_health,
    inventories_are_measured_by_infra_env,
    text_with_a_nul_character_is_stored,
}

mod cases {
    use std::sync::Arc;

    use muster_api::host::{
        HostFinding, HostKind, HostOsImage, HostRole, HostStatus, MediaStatus, OsImageChoice,
    };
    use muster_api::ids::{HostId, InfraEnvId};
    use muster_api::inventory::Inventory;
    use muster_api::steps::{FreeNetworkAddresses, HealthReport, HealthTemperature, NtpSource};
    use muster_api::validation::{ValidationResult, ValidationStatus};
    use muster_core::record::{
        CheckId, FailedParts, Failures, HardwarePart, HardwareParts, HardwareSize, Health, HealthHour, Host,
        HostData, HostReports, HostState, ImageWish, MemoryBy, Secret, WorstOfDay,
    };
    use muster_core::rules::findings::{CLOCK_OFFSET, DISK_FAILING, LINK_SLOW};
    use muster_store::{HistoryRecord, HostBrief, StoreError};

    use crate::world::{World, all_hosts, at, became_known, event_of, host, inventory, registered};

    /// Nothing in it is a default.
    fn full_host(infra_env_id: InfraEnvId) -> Host {
        let result = ValidationResult {
            id: "has-min-cpu-cores".into(),
            status: ValidationStatus::Failure,
            message: "2 CPU cores are needed".into(),
        };
        Host {
            id: HostId::random(),
            infra_env_id,
            cluster_id: None,
            state: HostState::InsufficientUnbound {
                failed: vec![CheckId::HasMinCpuCores],
            },
            version: 0,
            due_at: Some(at(180)),
            checked_in_at: at(3),
            inventory: Some(Arc::new(Inventory {
                bmc_address: "192.0.2.9".into(),
                ..inventory("worker-1", &["52:54:00:AA:00:01", "52:54:00:aa:00:02"])
            })),
            reports: Arc::new(HostReports {
                free_addresses: vec![FreeNetworkAddresses {
                    network: "192.0.2.0/30".into(),
                    free_addresses: vec!["192.0.2.3".into()],
                }],
                ..HostReports::default()
            }),
            bootstrap_ignition: Secret::new(r#"{"ignition":{"version":"3.4.0"}}"#),
            data: HostData {
                has_bootstrap_ignition: true,
                image_wish: ImageWish {
                    name: "debian-13".into(),
                    kubernetes_version: "1.34.4".into(),
                },
                os_image: Some(HostOsImage {
                    name: "debian-13".into(),
                    version: "20261101".into(),
                    openshift_version: String::new(),
                    kubernetes_version: "1.34.4".into(),
                    chosen_by: OsImageChoice::Name,
                }),
                kind: HostKind::AddToExistingClusterHost,
                status_info: "näher ☃ 'quoted' \"twice\" \\".into(),
                status_updated_at: at(1),
                created_at: at(2),
                updated_at: at(3),
                registered_at: at(4),
                discovery_agent_version: "muster-agent 0.1.0".into(),
                requested_hostname: Some("rack-7".into()),
                reported_hostname: "worker-1".into(),
                role: HostRole::Worker,
                suggested_role: HostRole::Master,
                installation_disk_id: "/dev/disk/by-id/wwn-1".into(),
                installation_disk_path: "/dev/sda".into(),
                disks_to_be_formatted: vec!["a".into()],
                skip_formatting_disks: vec!["b".into(), "c".into()],
                approved: true,
                approved_size: Some(HardwareSize {
                    cpu_threads: 8,
                    memory_bytes: 32 << 30,
                    memory_by: MemoryBy::Modules,
                    disks: Some(2),
                    cards: 1,
                }),
                parts_before: Some(HardwareParts {
                    disks: Some([("0x5000".to_owned(), HardwarePart::default())].into()),
                    ..HardwareParts::default()
                }),
                health: Some(Health {
                    at: at(7),
                    last: HealthReport {
                        booted_at: 1_795_000_000,
                        temperatures: vec![HealthTemperature {
                            sensor: "nvme0".into(),
                            celsius: -4,
                            limit: Some(81),
                        }],
                        ..HealthReport::default()
                    },
                    worst: WorstOfDay {
                        day: 20_000,
                        celsius: Some(70),
                        load_percent: 250,
                        memory_percent: 40,
                    },
                    hours: vec![HealthHour {
                        hour: 480_000,
                        celsius: None,
                        load_percent: 3,
                    }],
                }),
                ntp_sources: Some(vec![NtpSource {
                    source_name: "ntp.example.com".into(),
                    source_state: None,
                }]),
                timestamp: 1_795_000_000,
                timestamp_at: Some(at(5)),
                agent_disk_reasons: vec![Vec::new(), vec!["mounted at /".into()]],
                media_status: Some(MediaStatus::Disconnected),
                validations: [("hardware".to_owned(), vec![result])].into(),
                node_labels: vec![("zone".into(), "b".into()), ("a".into(), "1".into())],
                machine_config_pool_name: "workers".into(),
                ignition_endpoint_token: Secret::new("token"),
                ignition_endpoint_http_headers: vec![("X-Key".into(), "value".into())],
                bootstrap: true,
                installer_args: vec!["--copy-network".into()],
                failures: Some(Failures {
                    count: 2,
                    last_at: at(6),
                    stage: "Rebooting".into(),
                    message: "it did not come up".into(),
                    is_counted: true,
                    cluster: None,
                    is_of_machine: true,
                    did_not_wake: true,
                    parts: FailedParts {
                        ids: ["disk D1".to_owned()].into(),
                        memory_bytes: 32 << 30,
                    },
                }),
                ..HostData::new(at(0))
            },
        }
    }

    pub async fn every_field_of_a_host_comes_back(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = Host {
            cluster_id: Some(world.cluster_record().await.id),
            ..full_host(infra_env.id)
        };
        host.version = world.store.insert_host(&host, &registered(), &[]).await.unwrap();
        assert_eq!(host.version, 1);
        // One that does not know its documents.
        let found = world
            .another_store()
            .await
            .find_host(infra_env.id, host.id)
            .await
            .unwrap();
        assert_eq!(found.as_ref(), Some(&host));

        let brief = world
            .store
            .find_host_brief(infra_env.id, host.id)
            .await
            .unwrap()
            .unwrap();
        let want = HostBrief {
            id: host.id,
            infra_env_id: host.infra_env_id,
            cluster_id: host.cluster_id,
            state: host.state.clone(),
            version: host.version,
            due_at: host.due_at,
            checked_in_at: host.checked_in_at,
            data: host.data.clone(),
            has_inventory: true,
        };
        assert_eq!(brief, want);

        // The name stays when the inventory is removed.
        let bare = Host {
            inventory: None,
            ..host.clone()
        };
        host.version = world.store.save_host(&bare, None, &[]).await.unwrap();
        let found = world
            .store
            .find_host(infra_env.id, host.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.inventory, found.data.reported_hostname.as_str()),
            (None, "worker-1")
        );

        // And through a save that empties everything again.
        let emptied = Host {
            id: host.id,
            version: host.version,
            checked_in_at: at(9),
            ..super::super::world::host(infra_env.id)
        };
        let version = world.store.save_host(&emptied, None, &[]).await.unwrap();
        let found = world.store.find_host(infra_env.id, host.id).await.unwrap();
        assert_eq!(found, Some(Host { version, ..emptied }));
    }

    pub async fn a_save_on_an_old_version_is_a_conflict_and_changes_nothing(world: World) {
        let infra_env = world.infra_env().await;
        let mut first = world.host(infra_env.id).await;
        let mut second = first.clone();
        first.data.status_info = "first".into();
        second.data.status_info = "second".into();
        assert_eq!(world.store.save_host(&first, None, &[]).await.unwrap(), 2);
        let late = world
            .store
            .save_host(&second, Some(&became_known()), &[event_of(&second, "late")])
            .await;
        assert!(
            matches!(late, Err(StoreError::Conflict { table: "hosts", .. })),
            "{late:?}"
        );
        let found = world
            .store
            .find_host(infra_env.id, first.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.version, found.data.status_info.as_str()), (2, "first"));
        assert_eq!(
            world
                .store
                .host_history(infra_env.id, first.id, 100)
                .await
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            0
        );
    }

    pub async fn a_host_registers_only_once(world: World) {
        let infra_env = world.infra_env().await;
        let host = world.host(infra_env.id).await;
        let again = world
            .store
            .insert_host(&host, &registered(), &[event_of(&host, "again")])
            .await;
        assert!(again.as_ref().is_err_and(StoreError::is_conflict), "{again:?}");
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            0
        );
        // The same machine in another InfraEnv is another record.
        let other = world.infra_env().await;
        let moved = Host {
            infra_env_id: other.id,
            ..host
        };
        assert_eq!(
            world.store.insert_host(&moved, &registered(), &[]).await.unwrap(),
            1
        );
    }

    pub async fn a_host_needs_a_living_infra_env(world: World) {
        let homeless = host(InfraEnvId::random());
        let refused = world.store.insert_host(&homeless, &registered(), &[]).await;
        assert!(
            matches!(
                refused,
                Err(StoreError::Missing {
                    table: "infra_envs",
                    ..
                })
            ),
            "{refused:?}"
        );
        let infra_env = world.infra_env().await;
        world
            .store
            .delete_infra_env(infra_env.id, at(1), &[])
            .await
            .unwrap();
        let refused = world
            .store
            .insert_host(&host(infra_env.id), &registered(), &[])
            .await;
        assert!(matches!(refused, Err(StoreError::Missing { .. })), "{refused:?}");
    }

    pub async fn a_deleted_host_is_absent_and_its_machine_may_return_as_new(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        host.due_at = Some(at(10));
        host.version = world
            .store
            .save_host(&host, Some(&became_known()), &[])
            .await
            .unwrap();
        assert!(
            world
                .store
                .delete_host(infra_env.id, host.id, at(1), &[event_of(&host, "deleted")])
                .await
                .unwrap()
        );
        assert!(
            !world
                .store
                .delete_host(infra_env.id, host.id, at(2), &[event_of(&host, "twice")])
                .await
                .unwrap()
        );
        assert_eq!(world.store.find_host(infra_env.id, host.id).await.unwrap(), None);
        assert_eq!(
            world.store.find_host_brief(infra_env.id, host.id).await.unwrap(),
            None
        );
        assert_eq!(all_hosts(&world.store, infra_env.id).await, []);
        assert_eq!(world.store.due_hosts(at(100), None, 10).await.unwrap().0, []);
        assert_eq!(world.store.next_due().await.unwrap(), None);
        assert!(
            world
                .store
                .save_host(&host, None, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );

        let version = world.store.insert_host(&host, &registered(), &[]).await.unwrap();
        assert!(
            version > host.version + 1,
            "a writer that still holds version {} must fail",
            host.version
        );
        assert_eq!(
            world
                .store
                .find_host(infra_env.id, host.id)
                .await
                .unwrap()
                .unwrap()
                .version,
            version
        );
        assert_eq!(
            world
                .store
                .host_history(infra_env.id, host.id, 100)
                .await
                .unwrap()
                .len(),
            1,
            "a new record"
        );
        let events = world.store.list_events(&Default::default()).await.unwrap().events;
        assert_eq!(
            events
                .iter()
                .map(|event| event.message.as_str())
                .collect::<Vec<_>>(),
            ["deleted"]
        );
    }

    pub async fn history_tells_each_change_with_its_version(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        host.version = world.store.save_host(&host, None, &[]).await.unwrap();
        host.state = HostState::KnownUnbound;
        world
            .store
            .save_host(&host, Some(&became_known()), &[])
            .await
            .unwrap();
        let want = [
            HistoryRecord {
                entry: registered(),
                version: 1,
            },
            HistoryRecord {
                entry: became_known(),
                version: 3,
            },
        ];
        assert_eq!(
            world
                .store
                .host_history(infra_env.id, host.id, 100)
                .await
                .unwrap(),
            want
        );
    }

    pub async fn lists_are_by_infra_env_and_oldest_first(world: World) {
        let (one, other) = (world.infra_env().await, world.infra_env().await);
        let mut ids = Vec::new();
        for seconds in [3, 1, 2] {
            let mut new = host(one.id);
            new.data.created_at = at(seconds);
            world.store.insert_host(&new, &registered(), &[]).await.unwrap();
            ids.push(new.id);
        }
        let elsewhere = world.host(other.id).await;
        let want = [ids[1], ids[2], ids[0]];
        let listed = all_hosts(&world.store, one.id).await;
        assert_eq!(listed.iter().map(|host| host.id).collect::<Vec<_>>(), want);
        let briefs = world.store.list_host_briefs(Some(one.id)).await.unwrap();
        assert_eq!(briefs.iter().map(|host| host.id).collect::<Vec<_>>(), want);
        let all = world.store.list_host_briefs(None).await.unwrap();
        let want = [elsewhere.id, ids[1], ids[2], ids[0]];
        assert_eq!(all.iter().map(|host| host.id).collect::<Vec<_>>(), want);
    }

    pub async fn hosts_are_found_by_mac_address_in_any_case(world: World) {
        let (infra_env, other) = (world.infra_env().await, world.infra_env().await);
        let host = full_host(infra_env.id);
        world.store.insert_host(&host, &registered(), &[]).await.unwrap();
        for mac in ["52:54:00:aa:00:01", "52:54:00:AA:00:02"] {
            let found = world
                .store
                .find_hosts_by_mac(Some(infra_env.id), mac)
                .await
                .unwrap();
            assert_eq!(
                found.iter().map(|host| host.id).collect::<Vec<_>>(),
                [host.id],
                "{mac}"
            );
            assert_eq!(
                world.store.find_hosts_by_mac(Some(other.id), mac).await.unwrap(),
                []
            );
            assert_eq!(world.store.find_hosts_by_mac(None, mac).await.unwrap().len(), 1);
        }
        for mac in [
            "52:54:00:aa:00",
            "",
            "%",
            "52:54:00:aa:00:0_",
            "52:54:00:aa:00:03",
        ] {
            assert_eq!(
                world
                    .store
                    .find_hosts_by_mac(Some(infra_env.id), mac)
                    .await
                    .unwrap(),
                [],
                "{mac}"
            );
        }
    }

    pub async fn hosts_are_counted_by_status(world: World) {
        let infra_env = world.infra_env().await;
        let _discovering = world.host(infra_env.id).await;
        let deleted = world.host(infra_env.id).await;
        world
            .store
            .delete_host(infra_env.id, deleted.id, at(1), &[])
            .await
            .unwrap();
        for _ in 0..2 {
            let mut known = world.host(infra_env.id).await;
            known.state = HostState::KnownUnbound;
            world.store.save_host(&known, None, &[]).await.unwrap();
        }
        let counts = world.store.count_hosts_by_status().await.unwrap();
        assert_eq!(
            counts,
            [(HostStatus::DiscoveringUnbound, 1), (HostStatus::KnownUnbound, 2)]
        );
    }

    pub async fn hosts_are_counted_by_findings_about_their_health(world: World) {
        let infra_env = world.infra_env().await;
        let finding = |kind: &str| HostFinding {
            kind: kind.into(),
            about: String::new(),
            others: Vec::new(),
            message: String::new(),
        };
        let sick: [&[&str]; 5] = [
            &[],
            &[DISK_FAILING],
            &[DISK_FAILING, LINK_SLOW],
            &[LINK_SLOW, CLOCK_OFFSET],
            &[CLOCK_OFFSET],
        ];
        for kinds in sick {
            let mut host = world.host(infra_env.id).await;
            host.data.findings = kinds.iter().map(|kind| finding(kind)).collect();
            world.store.save_host(&host, None, &[]).await.unwrap();
        }
        let deleted = world.host(infra_env.id).await;
        let mut sick = deleted.clone();
        sick.data.findings = vec![finding(DISK_FAILING)];
        world.store.save_host(&sick, None, &[]).await.unwrap();
        let removed = world.store.delete_host(infra_env.id, sick.id, at(1), &[]);
        removed.await.unwrap();
        let counts = world.store.count_unhealthy_hosts().await.unwrap();
        let counted: Vec<(&str, i64)> = counts.into_iter().filter(|(_, hosts)| *hosts > 0).collect();
        assert_eq!(counted, [(DISK_FAILING, 2), (LINK_SLOW, 2)]);
        let mut well = world.host(infra_env.id).await;
        well.data.findings = vec![finding(DISK_FAILING)];
        world.store.save_host(&well, None, &[]).await.unwrap();
        well.version += 1;
        well.data.findings.clear();
        world.store.save_host(&well, None, &[]).await.unwrap();
        let counts = world.store.count_unhealthy_hosts().await.unwrap();
        assert_eq!(counts[0], (DISK_FAILING, 2));
    }

    pub async fn inventories_are_measured_by_infra_env(world: World) {
        let [small, large] = [world.infra_env().await, world.infra_env().await];
        for (infra_env, cards) in [(&small, 1), (&large, 200), (&large, 200)] {
            let mut host = world.host(infra_env.id).await;
            let macs: Vec<String> = (0..cards).map(|n| format!("52:54:00:aa:00:{n:02x}")).collect();
            let macs: Vec<&str> = macs.iter().map(String::as_str).collect();
            host.inventory = Some(inventory("worker", &macs).into());
            world.store.save_host(&host, None, &[]).await.unwrap();
        }
        let sizes = world.store.inventory_sizes().await.unwrap();
        let of = |id| sizes.iter().find(|(of, _)| *of == id).unwrap().1;
        assert_eq!(sizes.len(), 2);
        assert!(of(small.id) > 100 && of(large.id) > 3 * of(small.id), "{sizes:?}");
    }

    pub async fn text_with_a_nul_character_is_stored(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = full_host(infra_env.id);
        host.data.status_info = "a\0b".into();
        host.inventory = Some(inventory("na\0me", &["\0"]).into());
        world
            .store
            .insert_host(&host, &registered(), &[event_of(&host, "nul \0 here")])
            .await
            .unwrap();
        let store = world.another_store().await;
        let found = store.find_host(infra_env.id, host.id).await.unwrap().unwrap();
        assert_eq!(found.data.status_info, "a\0b");
        let events = world.store.list_events(&Default::default()).await.unwrap().events;
        assert_eq!(events[0].message, "nul \u{fffd} here");
    }
}
