//! Records of clusters, and their members.

on_both! {
    every_field_of_a_cluster_comes_back,
    an_update_on_an_old_version_is_a_conflict,
    deleted_clusters_are_listed_only_when_asked_for,
    members_are_told_of_each_other_and_every_change_that_matters_counts,
    a_change_that_no_peer_sees_costs_the_cluster_nothing,
    clocks_of_peers_come_with_the_polls_that_were_written_down,
    nobody_joins_or_begins_in_a_deleted_cluster,
    a_cluster_stays_while_a_host_is_installed_into_it,
    many_members_change_at_once_and_no_change_is_lost,
}

mod cases {
    use muster_api::cluster::{ClusterNetwork, Platform, PlatformType};
    use muster_api::host::{HostRole, HostStatus};
    use muster_api::ids::ClusterId;
    use muster_api::infra_env::{CpuArchitecture, Proxy};
    use muster_core::record::{Cluster, ClusterData, ClusterTraits, Host, HostState, KubeRef, Peer, Secret};
    use muster_store::{
        CheckIn, ClusterDeletion, ClusterVersions, OutboxScope, StoreError, StoredCluster, Subject,
    };
    use tokio::task::JoinSet;

    use crate::world::{
        World, at, cluster, cluster_event, cluster_hosts, event, host, inventory, registered,
    };

    async fn versions(world: &World, id: ClusterId) -> (i64, i64) {
        let ClusterVersions {
            version,
            members_version,
        } = world.store.cluster_versions(id).await.unwrap().unwrap();
        (version, members_version)
    }

    pub async fn every_field_of_a_cluster_comes_back(world: World) {
        let mut full = Cluster {
            kube: Some(KubeRef::new("hw", "day2")),
            created_at: at(1),
            updated_at: at(2),
            data: ClusterData {
                name: "größe".into(),
                openshift_cluster_id: "22222222-0000-4000-8000-000000000002".into(),
                openshift_version: "4.20".into(),
                cpu_architecture: Some(CpuArchitecture::Arm64),
                base_dns_domain: "example.test".into(),
                api_vip_dnsname: "api.day2.example.test".into(),
                pull_secret: Secret::new("{}"),
                ssh_public_key: "ssh-ed25519 AAAA me".into(),
                proxy: Proxy {
                    http_proxy: Some("http://proxy:3128".into()),
                    ..Proxy::default()
                },
                machine_networks: vec!["192.0.2.0/24".into()],
                api_vips: vec!["192.0.2.5".into()],
                ignored_host_validations: vec!["ntp-synced".into()],
                traits: ClusterTraits {
                    cluster_networks: vec![ClusterNetwork {
                        cluster_id: None,
                        cidr: Some("10.128.0.0/14".into()),
                        host_prefix: Some(23),
                    }],
                    platform: Some(Platform {
                        platform_type: PlatformType::None,
                        external: None,
                    }),
                    user_managed_networking: Some(true),
                    ..ClusterTraits::default()
                },
                ..ClusterData::default()
            },
            ..cluster()
        };
        full.version = world
            .store
            .insert_cluster(&full, &[event(0, "made")])
            .await
            .unwrap();
        let stored = |cluster: &Cluster| StoredCluster {
            cluster: cluster.clone(),
            deleted_at: None,
        };
        assert_eq!(
            world.store.find_cluster(full.id).await.unwrap(),
            Some(stored(&full))
        );
        assert!(
            world
                .store
                .insert_cluster(&full, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
        full.data = ClusterData::default();
        full.version = world
            .store
            .update_cluster(&full, &[event(1, "changed")])
            .await
            .unwrap();
        assert_eq!(full.version, 2);
        assert_eq!(world.store.list_clusters(false).await.unwrap(), [stored(&full)]);
        assert_eq!(world.store.find_cluster(ClusterId::random()).await.unwrap(), None);
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            2
        );
    }

    pub async fn an_update_on_an_old_version_is_a_conflict(world: World) {
        let first = world.cluster_record().await;
        world.store.update_cluster(&first, &[]).await.unwrap();
        let late = world.store.update_cluster(&first, &[event(0, "late")]).await;
        assert!(
            matches!(
                late,
                Err(StoreError::Conflict {
                    table: "clusters",
                    ..
                })
            ),
            "{late:?}"
        );
        assert_eq!(versions(&world, first.id).await, (2, 0));
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            0
        );
    }

    pub async fn deleted_clusters_are_listed_only_when_asked_for(world: World) {
        let gone = world.cluster_record().await;
        let told = [cluster_event(gone.id, None, 1, "deleted")];
        let deleted = world.store.delete_cluster(gone.id, at(1), &told).await.unwrap();
        assert_eq!(deleted, ClusterDeletion::Deleted);
        let again = world.store.delete_cluster(gone.id, at(2), &told).await.unwrap();
        assert_eq!(again, ClusterDeletion::Absent);
        assert_eq!(world.store.list_clusters(false).await.unwrap(), []);
        let all = world.store.list_clusters(true).await.unwrap();
        assert_eq!(
            all.iter()
                .map(|one| (one.cluster.id, one.deleted_at))
                .collect::<Vec<_>>(),
            [(gone.id, Some(at(1)))]
        );
        let found = world.store.find_cluster(gone.id).await.unwrap().unwrap();
        assert_eq!(found.deleted_at, Some(at(1)), "its hosts still have to be let go");
        assert!(
            world
                .store
                .update_cluster(&found.cluster, &[])
                .await
                .unwrap_err()
                .is_conflict()
        );
        assert_eq!(
            world.store.list_events(&Default::default()).await.unwrap().total,
            1
        );
    }

    pub async fn members_are_told_of_each_other_and_every_change_that_matters_counts(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let mut one = world.member(infra_env.id, cluster.id).await;
        let two = world.member(infra_env.id, cluster.id).await;
        let _outside = world.host(infra_env.id).await;
        assert_eq!(versions(&world, cluster.id).await, (1, 2));
        let ids = |peers: &[Peer]| peers.iter().map(|peer| peer.id).collect::<Vec<_>>();
        let peers = world.store.list_cluster_peers(cluster.id).await.unwrap();
        let mut want = vec![one.id, two.id];
        want.sort_unstable();
        assert_eq!(ids(&peers), want);

        one.inventory = Some(inventory("worker-1", &["52:54:00:00:00:01"]).into());
        one.data.reported_hostname = "worker-1".into();
        one.data.role = HostRole::Worker;
        one.version = world.store.save_host(&one, None, &[]).await.unwrap();
        assert_eq!(versions(&world, cluster.id).await, (1, 3));
        let peers = world.store.list_cluster_peers(cluster.id).await.unwrap();
        let seen = peers.iter().find(|peer| peer.id == one.id).unwrap();
        assert_eq!(
            (seen.hostname.as_str(), seen.role, seen.nics[0].mac.as_str()),
            ("worker-1", HostRole::Worker, "52:54:00:00:00:01")
        );
        assert_eq!(seen.status, HostStatus::DiscoveringUnbound);

        let hosts = cluster_hosts(&world.store, cluster.id).await;
        assert_eq!(hosts.len(), 2);
        assert!(hosts.contains(&one));
        let keys = world.store.list_cluster_host_keys(cluster.id).await.unwrap();
        assert!(keys.len() == 2 && keys.contains(&(infra_env.id, two.id)));

        // One leaves, one is deleted.
        one.cluster_id = None;
        world.store.save_host(&one, None, &[]).await.unwrap();
        assert_eq!(versions(&world, cluster.id).await, (1, 4));
        world
            .store
            .delete_host(infra_env.id, two.id, at(9), &[])
            .await
            .unwrap();
        assert_eq!(versions(&world, cluster.id).await, (1, 5));
        assert_eq!(world.store.list_cluster_peers(cluster.id).await.unwrap(), []);
        let taken = world
            .store
            .take_from_outbox(at(9), std::time::Duration::from_secs(1), 100, OutboxScope::All)
            .await
            .unwrap();
        let told = taken
            .iter()
            .filter(|entry| entry.subject == Subject::Cluster(cluster.id));
        assert_eq!(told.count(), 1, "many changes are one entry");
    }

    pub async fn a_change_that_no_peer_sees_costs_the_cluster_nothing(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let mut host = world.member(infra_env.id, cluster.id).await;
        let before = versions(&world, cluster.id).await;
        host.data.node_labels = vec![("zone".into(), "a".into())];
        host.due_at = Some(at(99));
        world.store.save_host(&host, None, &[]).await.unwrap();
        assert_eq!(versions(&world, cluster.id).await, before);
    }

    pub async fn clocks_of_peers_come_with_the_polls_that_were_written_down(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let host = world.member(infra_env.id, cluster.id).await;
        let offset = async || {
            let peers = world.store.list_cluster_peers(cluster.id).await.unwrap();
            peers[0].clock_offset_secs
        };
        assert_eq!(offset().await, None);
        let heard = CheckIn {
            infra_env_id: infra_env.id,
            host_id: host.id,
            at: at(10),
            silent_at: at(190),
            host_clock: Some(at(10).timestamp() + 75),
            agent_version: None,
        };
        world.store.flush_check_ins(&[heard]).await.unwrap();
        assert_eq!(offset().await, Some(75));
        let found = world
            .store
            .find_host(infra_env.id, host.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.data.timestamp, found.data.timestamp_at),
            (at(10).timestamp() + 75, Some(at(10))),
            "another replica knows when the clock was told"
        );
    }

    pub async fn nobody_joins_or_begins_in_a_deleted_cluster(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let mut member = world.member(infra_env.id, cluster.id).await;
        let mut outside = world.host(infra_env.id).await;
        world.store.delete_cluster(cluster.id, at(1), &[]).await.unwrap();
        let missing = |outcome: Result<i64, StoreError>| {
            assert!(
                matches!(
                    outcome,
                    Err(StoreError::Missing {
                        table: "clusters",
                        ..
                    })
                ),
                "{outcome:?}"
            );
        };
        outside.cluster_id = Some(cluster.id);
        missing(world.store.save_host(&outside, None, &[]).await);
        let new = Host {
            cluster_id: Some(cluster.id),
            ..host(infra_env.id)
        };
        missing(world.store.insert_host(&new, &registered(), &[]).await);
        let found = world.store.find_host(infra_env.id, outside.id).await.unwrap();
        assert_eq!(found.unwrap().cluster_id, None);
        // Other changes of its hosts are stored until they are unbound.
        member.state = HostState::KnownUnbound;
        member.version = world.store.save_host(&member, None, &[]).await.unwrap();
        member.cluster_id = None;
        world.store.save_host(&member, None, &[]).await.unwrap();
        assert_eq!(cluster_hosts(&world.store, cluster.id).await, []);
    }

    pub async fn a_cluster_stays_while_a_host_is_installed_into_it(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let host = world.member(infra_env.id, cluster.id).await;
        for status in muster_store::cluster::HOLDS_CLUSTER {
            let sql = format!(
                "UPDATE hosts SET status = '{}' WHERE id = '{}'",
                status.name(),
                host.id
            );
            world.sql(&sql).await;
            let refused = world.store.delete_cluster(cluster.id, at(1), &[]).await.unwrap();
            assert_eq!(refused, ClusterDeletion::Installing(1), "{status:?}");
        }
        world.sql("UPDATE hosts SET status = 'known'").await;
        let done = world.store.delete_cluster(cluster.id, at(1), &[]).await.unwrap();
        assert_eq!(done, ClusterDeletion::Deleted);
    }

    pub async fn many_members_change_at_once_and_no_change_is_lost(world: World) {
        let (infra_env, cluster) = (world.infra_env().await, world.cluster_record().await);
        let mut tasks = JoinSet::new();
        for index in 0..10 {
            let store = world.store.clone();
            let mut host = world.member(infra_env.id, cluster.id).await;
            tasks.spawn(async move {
                for round in 0..5 {
                    host.data.requested_hostname = Some(format!("host-{index}-{round}"));
                    host.version = store.save_host(&host, None, &[]).await.unwrap();
                }
            });
        }
        let (store, id) = (world.store.clone(), cluster.id);
        tasks.spawn(async move {
            // A concurrent taker that acknowledges does not block other writers.
            while store.cluster_versions(id).await.unwrap().unwrap().members_version < 60 {
                let entries = store
                    .take_from_outbox(at(0), std::time::Duration::ZERO, 100, OutboxScope::All)
                    .await
                    .unwrap();
                let ids: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
                store.acknowledge(&ids).await.unwrap();
            }
        });
        tasks.join_all().await;
        assert_eq!(versions(&world, cluster.id).await, (1, 60));
    }
}
