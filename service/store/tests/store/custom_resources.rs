//! Records that belong to custom resources, and how changes are reported.

on_both! {
    a_record_is_found_by_its_custom_resource_until_it_is_deleted,
    what_a_record_and_its_mirror_agree_about_is_kept_and_forgotten,
    a_custom_resource_has_one_living_record,
    the_deleted_record_of_a_custom_resource_is_stored_again_under_its_id,
    hosts_of_one_id_are_found_by_the_namespace_of_their_infra_envs,
    keys_are_those_of_hosts_of_custom_resources,
    every_change_is_reported_after_its_commit_here_and_in_other_replicas,
    what_is_not_committed_is_not_reported,
    changes_of_hosts_can_be_left_to_others,
}

mod cases {
    use std::time::Duration;

    use muster_api::ids::HostId;
    use muster_core::record::{Agreed, Cluster, Host, InfraEnv, KubeRef};
    use muster_store::{
        ClusterDeletion, Deletion, Kind, OutboxScope, RecordChange, Store, StoreError, Subject,
    };
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::timeout;

    use crate::world::{World, at, cluster, host, infra_env, registered};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn of(namespace: &str, name: &str) -> Option<KubeRef> {
        Some(KubeRef::new(namespace, name))
    }

    async fn stored(world: &World, kube: Option<KubeRef>) -> InfraEnv {
        let mut made = InfraEnv { kube, ..infra_env() };
        made.version = world.store.insert_infra_env(&made, &[]).await.unwrap();
        made
    }

    async fn stored_host(world: &World, infra_env: &InfraEnv, id: HostId, registered_at: i64) -> Host {
        let mut made = Host {
            id,
            ..host(infra_env.id)
        };
        made.data.registered_at = at(registered_at);
        made.version = world.store.insert_host(&made, &registered(), &[]).await.unwrap();
        made
    }

    fn changes(store: &Store) -> UnboundedReceiver<RecordChange> {
        let (sender, receiver) = unbounded_channel();
        store.on_change(move |change| {
            // A test that has seen enough drops the receiver.
            let _ = sender.send(change);
        });
        receiver
    }

    async fn next(changes: &mut UnboundedReceiver<RecordChange>) -> RecordChange {
        timeout(PATIENCE, changes.recv())
            .await
            .expect("it is received in time")
            .unwrap()
    }

    pub async fn a_record_is_found_by_its_custom_resource_until_it_is_deleted(world: World) {
        let store = &world.store;
        let made = stored(&world, of("hw", "pool")).await;
        stored(&world, None).await;
        let kube = made.kube.clone().unwrap();
        assert_eq!(
            store.find_infra_env_by_kube(&kube).await.unwrap().as_ref(),
            Some(&made)
        );
        let elsewhere = KubeRef::new("other", "pool");
        assert_eq!(store.find_infra_env_by_kube(&elsewhere).await.unwrap(), None);
        let changed = InfraEnv {
            name: "renamed".into(),
            ..made.clone()
        };
        store.update_infra_env(&changed, &[]).await.unwrap();
        let found = store.find_infra_env_by_kube(&kube).await.unwrap().unwrap();
        assert_eq!((found.name.as_str(), &found.kube), ("renamed", &made.kube));
        let of_nobody = stored(&world, None).await;
        let given = InfraEnv {
            kube: of("hw", "adopted"),
            ..of_nobody.clone()
        };
        store.update_infra_env(&given, &[]).await.unwrap();
        let adopter = KubeRef::new("hw", "adopted");
        let adopted = store.find_infra_env_by_kube(&adopter).await.unwrap();
        assert_eq!(adopted.unwrap().id, of_nobody.id);
        assert_eq!(
            store.delete_infra_env(made.id, at(9), &[]).await.unwrap(),
            Deletion::Deleted
        );
        assert_eq!(store.find_infra_env_by_kube(&kube).await.unwrap(), None);

        let mut deployment = Cluster {
            kube: of("hw", "day2"),
            ..cluster()
        };
        deployment.version = store.insert_cluster(&deployment, &[]).await.unwrap();
        let kube = KubeRef::new("hw", "day2");
        assert_eq!(
            store.find_cluster_by_kube(&kube).await.unwrap().as_ref(),
            Some(&deployment)
        );
        store.update_cluster(&deployment, &[]).await.unwrap();
        assert!(store.find_cluster_by_kube(&kube).await.unwrap().unwrap().version > deployment.version);
        assert_eq!(
            store.delete_cluster(deployment.id, at(9), &[]).await.unwrap(),
            ClusterDeletion::Deleted
        );
        assert_eq!(store.find_cluster_by_kube(&kube).await.unwrap(), None);
    }

    pub async fn what_a_record_and_its_mirror_agree_about_is_kept_and_forgotten(world: World) {
        let store = &world.store;
        let agreed = serde_json::json!({"name": "lab"});
        let agreed = Some(Agreed::of(agreed.as_object().unwrap()));
        let made = stored(&world, None).await;
        assert_eq!(made.mirror, None);
        let mut mirrored = InfraEnv {
            kube: of("muster-rest", "lab"),
            mirror: agreed.clone(),
            ..made.clone()
        };
        mirrored.version = store.update_infra_env(&mirrored, &[]).await.unwrap();
        assert_eq!(
            store.find_infra_env(made.id).await.unwrap().as_ref(),
            Some(&mirrored)
        );
        let forgotten = InfraEnv {
            version: mirrored.version,
            ..made.clone()
        };
        store.update_infra_env(&forgotten, &[]).await.unwrap();
        let found = store.find_infra_env(made.id).await.unwrap().unwrap();
        assert_eq!((found.kube, found.mirror), (None, None));

        let mut imported = cluster();
        imported.version = store.insert_cluster(&imported, &[]).await.unwrap();
        imported.kube = of("muster-rest", "prod");
        imported.mirror = agreed;
        imported.version = store.update_cluster(&imported, &[]).await.unwrap();
        let kube = KubeRef::new("muster-rest", "prod");
        assert_eq!(store.find_cluster_by_kube(&kube).await.unwrap(), Some(imported));
        let mut other = cluster();
        other.version = store.insert_cluster(&other, &[]).await.unwrap();
        other.kube = of("muster-rest", "prod");
        let refused = store.update_cluster(&other, &[]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    }

    pub async fn the_deleted_record_of_a_custom_resource_is_stored_again_under_its_id(world: World) {
        let store = &world.store;
        let kube = KubeRef::new("hw", "day2");
        let made = Cluster {
            kube: Some(kube.clone()),
            ..cluster()
        };
        store.insert_cluster(&made, &[]).await.unwrap();
        assert_eq!(store.find_deleted_cluster(&kube).await.unwrap(), None);
        store.delete_cluster(made.id, at(9), &[]).await.unwrap();
        let deleted = store.find_deleted_cluster(&kube).await.unwrap().unwrap();
        let mut again = Cluster {
            version: deleted.version,
            ..made.clone()
        };
        again.version = store.revive_cluster(&again, &[]).await.unwrap();
        assert!(again.version > deleted.version);
        assert_eq!(
            store.find_cluster_by_kube(&kube).await.unwrap(),
            Some(again.clone())
        );
        assert_eq!(store.find_deleted_cluster(&kube).await.unwrap(), None);
        let living = store.revive_cluster(&again, &[]).await.unwrap_err();
        assert!(matches!(living, StoreError::Conflict { .. }), "{living}");

        store.delete_cluster(made.id, at(10), &[]).await.unwrap();
        let deleted = store.find_deleted_cluster(&kube).await.unwrap().unwrap();
        let older = store.revive_cluster(&again, &[]).await.unwrap_err();
        assert!(matches!(older, StoreError::Conflict { .. }), "{older}");
        let other = Cluster {
            kube: Some(kube.clone()),
            ..cluster()
        };
        store.insert_cluster(&other, &[]).await.unwrap();
        let second = Cluster {
            version: deleted.version,
            ..made
        };
        let second = store.revive_cluster(&second, &[]).await.unwrap_err();
        assert!(matches!(second, StoreError::Conflict { .. }), "{second}");
    }

    pub async fn a_custom_resource_has_one_living_record(world: World) {
        let store = &world.store;
        let first = stored(&world, of("hw", "pool")).await;
        let second = InfraEnv {
            kube: of("hw", "pool"),
            ..infra_env()
        };
        let refused = store.insert_infra_env(&second, &[]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
        store.delete_infra_env(first.id, at(9), &[]).await.unwrap();
        store.insert_infra_env(&second, &[]).await.unwrap();

        let deployment = || Cluster {
            kube: of("hw", "day2"),
            ..cluster()
        };
        store.insert_cluster(&deployment(), &[]).await.unwrap();
        let refused = store.insert_cluster(&deployment(), &[]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    }

    pub async fn hosts_of_one_id_are_found_by_the_namespace_of_their_infra_envs(world: World) {
        let store = &world.store;
        let (one, two) = (
            stored(&world, of("hw", "one")).await,
            stored(&world, of("hw", "two")).await,
        );
        let elsewhere = stored(&world, of("lab", "one")).await;
        let by_rest = stored(&world, None).await;
        let id = HostId::random();
        stored_host(&world, &one, id, 10).await;
        let newest = stored_host(&world, &two, id, 20).await;
        stored_host(&world, &elsewhere, id, 30).await;
        stored_host(&world, &by_rest, id, 40).await;
        let names = async |namespace: &str| {
            let found = store.find_hosts_by_kube(namespace, id).await.unwrap();
            found
                .into_iter()
                .map(|(name, host)| (name, host.infra_env_id))
                .collect::<Vec<_>>()
        };
        let both = [
            ("two".to_owned(), newest.infra_env_id),
            ("one".to_owned(), one.id),
        ];
        assert_eq!(names("hw").await, both);
        assert!(!store.host_was_deleted(two.id, id).await.unwrap());
        store.delete_host(two.id, id, at(50), &[]).await.unwrap();
        assert!(store.host_was_deleted(two.id, id).await.unwrap());
        assert_eq!(names("hw").await, both[1..]);
        assert_eq!(names("none").await, []);
        assert!(!store.host_was_deleted(one.id, HostId::random()).await.unwrap());
    }

    pub async fn keys_are_those_of_hosts_of_custom_resources(world: World) {
        let (pool, by_rest) = (stored(&world, of("hw", "pool")).await, stored(&world, None).await);
        let shown = world.host(pool.id).await;
        let gone = world.host(pool.id).await;
        world.host(by_rest.id).await;
        world
            .store
            .delete_host(pool.id, gone.id, at(9), &[])
            .await
            .unwrap();
        assert_eq!(
            world.store.list_kube_host_keys().await.unwrap(),
            [(KubeRef::new("hw", "pool"), pool.id, shown.id)]
        );
    }

    pub async fn every_change_is_reported_after_its_commit_here_and_in_other_replicas(world: World) {
        let mut here = changes(&world.store);
        let other = world.another_store().await;
        let mut there = changes(&other);
        let follower = other.clone();
        let following = tokio::spawn(async move { follower.receive_notifications().await });
        let notified = world.store.kind() == Kind::Postgres;
        if notified {
            timeout(PATIENCE, async {
                while !other.has_notifications() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
            .await
            .expect("notifications come through");
        }
        let infra_env = world.infra_env().await;
        let cluster = world.cluster_record().await;
        let member = world.member(infra_env.id, cluster.id).await;
        let subject = Subject::Host {
            infra_env_id: infra_env.id,
            id: member.id,
        };
        let wanted = [
            (Subject::InfraEnv(infra_env.id), 1),
            (Subject::Cluster(cluster.id), 1),
            (Subject::Cluster(cluster.id), 1),
            (subject, 1),
        ]
        .map(|(subject, version)| RecordChange { subject, version });
        for change in wanted {
            assert_eq!(next(&mut here).await, change);
            if notified {
                assert_eq!(next(&mut there).await, change);
            }
        }
        let second = world.store.save_host(&member, None, &[]).await.unwrap();
        world
            .store
            .delete_host(infra_env.id, member.id, at(5), &[])
            .await
            .unwrap();
        assert_eq!(
            next(&mut here).await,
            RecordChange {
                subject,
                version: second
            }
        );
        let last = next(&mut here).await;
        assert_eq!(last.subject, Subject::Cluster(cluster.id), "it has lost a host");
        assert_eq!(
            next(&mut here).await,
            RecordChange {
                subject,
                version: second + 1
            }
        );
        following.abort();
    }

    pub async fn what_is_not_committed_is_not_reported(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        let mut received = changes(&world.store);
        host.version += 5;
        world.store.save_host(&host, None, &[]).await.unwrap_err();
        assert!(received.try_recv().is_err());
    }

    pub async fn changes_of_hosts_can_be_left_to_others(world: World) {
        let store = &world.store;
        let infra_env = world.infra_env().await;
        let claim = Duration::from_secs(60);
        let entries = store
            .take_from_outbox(at(0), claim, 10, OutboxScope::NotHosts)
            .await
            .unwrap();
        let done: Vec<String> = entries.iter().map(|entry| entry.id.clone()).collect();
        store.acknowledge(&done).await.unwrap();
        let host = world.host(infra_env.id).await;
        assert!(!store.outbox_waits(at(1), OutboxScope::NotHosts).await.unwrap());
        assert!(
            store
                .take_from_outbox(at(1), claim, 10, OutboxScope::NotHosts)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(store.outbox_waits(at(1), OutboxScope::All).await.unwrap());
        let entries = store
            .take_from_outbox(at(1), claim, 10, OutboxScope::All)
            .await
            .unwrap();
        let wanted = Subject::Host {
            infra_env_id: infra_env.id,
            id: host.id,
        };
        assert_eq!(
            entries.iter().map(|entry| entry.subject).collect::<Vec<_>>(),
            [wanted]
        );
    }
}
