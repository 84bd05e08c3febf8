//! Old rows are deleted, and rows that are still needed stay.

on_both! {
    old_events_history_and_logs_go_and_new_ones_stay,
    a_host_deleted_long_ago_leaves_a_tombstone_and_can_come_back,
    deleted_infra_envs_and_clusters_go_with_what_is_theirs,
    the_oldest_logs_go_when_all_are_too_large,
    a_limited_event_that_repeats_writes_nothing,
}

mod cases {
    use muster_api::ids::{ClusterId, HostId, InfraEnvId};
    use muster_core::record::{EventLimits, Host};
    use muster_store::{Aging, EventQuery, LogOwner};

    use crate::world::{World, at, became_known, event, event_of, host, registered};

    async fn upload(world: &World, cluster_id: ClusterId, owner: LogOwner, seconds: i64) {
        let mut upload = world
            .store
            .begin_log(cluster_id, owner, at(seconds))
            .await
            .unwrap();
        world.store.append_log(&mut upload, &[7; 1000]).await.unwrap();
        world.store.finish_log(upload, at(seconds)).await.unwrap();
    }

    fn some_host() -> LogOwner {
        LogOwner::Host {
            infra_env_id: InfraEnvId::random(),
            host_id: HostId::random(),
        }
    }

    pub async fn old_events_history_and_logs_go_and_new_ones_stay(world: World) {
        let many: Vec<_> = (0..1500).map(|second| event(second, "x")).collect();
        world.store.insert_events(&many).await.unwrap();
        assert_eq!(
            world.store.delete_old(Aging::Events, at(1400)).await.unwrap(),
            (1000, true)
        );
        assert_eq!(
            world.store.delete_old(Aging::Events, at(1400)).await.unwrap(),
            (400, false)
        );
        assert_eq!(
            world.store.delete_old(Aging::Events, at(1400)).await.unwrap(),
            (0, false)
        );
        assert_eq!(world.store.count_rows(Aging::Events).await.unwrap(), 100);

        let infra_env = world.infra_env().await;
        let known = world.host(infra_env.id).await;
        world
            .store
            .save_host(&known, Some(&became_known()), &[])
            .await
            .unwrap();
        assert_eq!(
            world.store.delete_old(Aging::History, at(3)).await.unwrap(),
            (1, false)
        );
        let left = world
            .store
            .host_history(infra_env.id, known.id, 100)
            .await
            .unwrap();
        assert_eq!(left.len(), 1);

        let cluster = world.cluster_record().await;
        upload(&world, cluster.id, some_host(), 10).await;
        upload(&world, cluster.id, some_host(), 20).await;
        assert_eq!(
            world.store.delete_old(Aging::Logs, at(15)).await.unwrap(),
            (1, false)
        );
        assert_eq!(world.store.list_logs(cluster.id).await.unwrap().len(), 1);
        let (whole, logs) = world.store.sizes().await.unwrap();
        assert!(whole > 0 && logs == 1000, "{whole} {logs}");
        world.store.give_space_back().await.unwrap();
    }

    pub async fn a_host_deleted_long_ago_leaves_a_tombstone_and_can_come_back(world: World) {
        let infra_env = world.infra_env().await;
        let (gone, stays) = (world.host(infra_env.id).await, world.host(infra_env.id).await);
        let event = event_of(&gone, "deleted");
        world
            .store
            .delete_host(infra_env.id, gone.id, at(10), &[event])
            .await
            .unwrap();
        assert_eq!(
            world.store.delete_old(Aging::Hosts, at(10)).await.unwrap(),
            (0, false)
        );
        assert_eq!(
            world.store.delete_old(Aging::Hosts, at(11)).await.unwrap(),
            (1, false)
        );
        assert_eq!(world.store.count_rows(Aging::Hosts).await.unwrap(), 1);
        assert!(world.store.host_was_deleted(infra_env.id, gone.id).await.unwrap());
        assert!(
            !world
                .store
                .host_was_deleted(infra_env.id, stays.id)
                .await
                .unwrap()
        );
        assert_eq!(world.store.count_hosts(infra_env.id).await.unwrap(), 1);

        let again = Host {
            id: gone.id,
            ..host(infra_env.id)
        };
        let version = world.store.insert_host(&again, &registered(), &[]).await.unwrap();
        assert!(version > gone.version + 1, "versions of a host never fall");
        assert!(!world.store.host_was_deleted(infra_env.id, gone.id).await.unwrap());
    }

    pub async fn deleted_infra_envs_and_clusters_go_with_what_is_theirs(world: World) {
        let (infra_env, lives) = (world.infra_env().await, world.infra_env().await);
        let cluster = world.cluster_record().await;
        let gone = world.host(infra_env.id).await;
        upload(&world, cluster.id, LogOwner::Controller, 1).await;
        world
            .store
            .delete_host(infra_env.id, gone.id, at(10), &[])
            .await
            .unwrap();
        world
            .store
            .delete_infra_env(infra_env.id, at(20), &[])
            .await
            .unwrap();
        world.store.delete_cluster(cluster.id, at(20), &[]).await.unwrap();
        // Its host is deleted first.
        assert_eq!(
            world.store.delete_old(Aging::InfraEnvs, at(30)).await.unwrap(),
            (0, false)
        );
        for what in [Aging::Hosts, Aging::InfraEnvs, Aging::Clusters] {
            assert_eq!(
                world.store.delete_old(what, at(30)).await.unwrap(),
                (1, false),
                "{what:?}"
            );
        }
        assert!(!world.store.host_was_deleted(infra_env.id, gone.id).await.unwrap());
        assert!(world.store.find_infra_env(lives.id).await.unwrap().is_some());
        assert!(world.store.find_cluster(cluster.id).await.unwrap().is_none());
        assert!(world.store.list_logs(cluster.id).await.unwrap().is_empty());
    }

    pub async fn the_oldest_logs_go_when_all_are_too_large(world: World) {
        let cluster = world.cluster_record().await;
        for seconds in 1..=5 {
            upload(&world, cluster.id, some_host(), seconds).await;
        }
        assert_eq!(world.store.trim_logs(5000).await.unwrap(), 0);
        assert_eq!(world.store.trim_logs(3500).await.unwrap(), 2);
        let left = world.store.list_logs(cluster.id).await.unwrap();
        assert!(left.iter().all(|log| log.completed_at >= at(3)), "{left:?}");
    }

    pub async fn a_limited_event_that_repeats_writes_nothing(world: World) {
        let limits = EventLimits::with(r#"{"host_status_updated":"1h"}"#).unwrap();
        let store = world.store.with_event_limits(limits);
        for second in 0..3 {
            store.insert_events(&[event(second, "x")]).await.unwrap();
        }
        let before = store.statement_counts();
        store.insert_events(&[event(100, "x")]).await.unwrap();
        assert_eq!(store.statement_counts(), before);
        store.insert_events(&[event(3601, "x")]).await.unwrap();
        let stored = store.list_events(&EventQuery::default()).await.unwrap();
        assert_eq!(stored.events.len(), 2);
    }
}

/// The file of SQLite is smaller after its rows are gone.
#[tokio::test]
async fn sqlite_gives_space_back() {
    use muster_store::{Aging, Kind};

    use crate::world::{World, at, event};

    let world = World::new(Kind::Sqlite).await;
    let long = "x".repeat(4000);
    let many: Vec<_> = (0..2000).map(|second| event(second, &long)).collect();
    world.store.insert_events(&many).await.unwrap();
    let (before, _) = world.store.sizes().await.unwrap();
    assert!(before > 8_000_000, "{before}");
    while world.store.delete_old(Aging::Events, at(2000)).await.unwrap().1 {}
    world.store.give_space_back().await.unwrap();
    let (after, _) = world.store.sizes().await.unwrap();
    assert!(after < before / 4, "{before} bytes became {after}");
}
