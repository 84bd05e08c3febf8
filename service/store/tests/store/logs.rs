//! Uploaded logs: whole or not at all, the newest only.

on_both! {
    an_upload_is_seen_when_it_is_complete_and_replaces_the_last_one,
    what_was_not_finished_is_cleared_away,
    logs_of_a_host_without_a_cluster_are_its_own,
}

mod cases {
    use muster_api::ids::{ClusterId, HostId, InfraEnvId};
    use muster_store::{LogOwner, StoreError};

    use crate::world::{World, at};

    pub async fn an_upload_is_seen_when_it_is_complete_and_replaces_the_last_one(world: World) {
        let (store, cluster) = (&world.store, ClusterId::random());
        let host = LogOwner::Host {
            infra_env_id: InfraEnvId::random(),
            host_id: HostId::random(),
        };
        for round in 0u8..2 {
            let mut upload = store.begin_log(cluster, host, at(1)).await.unwrap();
            store.append_log(&mut upload, &[round, 0, 255]).await.unwrap();
            store.append_log(&mut upload, b"end").await.unwrap();
            let seen = store.list_logs(cluster).await.unwrap();
            assert_eq!(seen.len(), usize::from(round), "the one under way is not seen");
            assert_eq!(upload.size(), 6);
            store.finish_log(upload, at(2)).await.unwrap();
        }
        let mut controllers = store
            .begin_log(cluster, LogOwner::Controller, at(3))
            .await
            .unwrap();
        store.append_log(&mut controllers, b"c").await.unwrap();
        store.finish_log(controllers, at(4)).await.unwrap();

        let seen = store.list_logs(cluster).await.unwrap();
        let owners: Vec<_> = seen.iter().map(|log| log.owner).collect();
        assert_eq!(owners, [LogOwner::Controller, host]);
        let of_host = &seen[1];
        assert_eq!(
            (of_host.size, of_host.chunks, of_host.completed_at),
            (6, 2, at(2))
        );
        let mut content = Vec::new();
        for number in 0..of_host.chunks {
            content.extend(store.log_chunk(&of_host.id, number).await.unwrap().unwrap());
        }
        assert_eq!(content, [1, 0, 255, b'e', b'n', b'd']);
        assert_eq!(store.log_chunk(&of_host.id, 2).await.unwrap(), None);
        assert_eq!(store.list_logs(ClusterId::random()).await.unwrap(), []);
    }

    pub async fn logs_of_a_host_without_a_cluster_are_its_own(world: World) {
        let store = &world.store;
        let (host_id, cluster) = (HostId::random(), ClusterId::random());
        // One machine that was booted into two InfraEnvs.
        let (one, other) = (InfraEnvId::random(), InfraEnvId::random());
        let upload = async |cluster: Option<ClusterId>, infra_env_id, content: &[u8], second| {
            let owner = LogOwner::Host {
                infra_env_id,
                host_id,
            };
            let mut upload = store.begin_log(cluster, owner, at(second)).await.unwrap();
            store.append_log(&mut upload, content).await.unwrap();
            store.finish_log(upload, at(second)).await.unwrap();
        };
        let last = async |infra_env| {
            let log = store.last_log_of_host(infra_env, host_id).await.unwrap()?;
            Some((log.cluster_id, log.size, log.completed_at))
        };
        assert_eq!(last(one).await, None);
        upload(None, one, b"a", 1).await;
        upload(None, other, b"bb", 2).await;
        upload(None, one, b"ccc", 3).await;
        assert_eq!(last(one).await, Some((None, 3, at(3))));
        assert_eq!(last(other).await, Some((None, 2, at(2))));
        upload(Some(cluster), one, b"dddd", 4).await;
        assert_eq!(last(one).await, Some((Some(cluster), 4, at(4))));
        upload(None, one, b"e", 5).await;
        assert_eq!(last(one).await, Some((None, 1, at(5))));
        // The cluster's logs are unchanged.
        let kept = store.list_logs(cluster).await.unwrap();
        assert_eq!(kept.iter().map(|log| log.size).collect::<Vec<_>>(), [4]);
        let (_, bytes) = store.sizes().await.unwrap();
        assert_eq!(bytes, 1 + 2 + 4, "they count as all logs do");
    }

    pub async fn what_was_not_finished_is_cleared_away(world: World) {
        let (store, cluster) = (&world.store, ClusterId::random());
        let old = store
            .begin_log(cluster, LogOwner::Controller, at(1))
            .await
            .unwrap();
        let mut young = store
            .begin_log(cluster, LogOwner::Controller, at(10))
            .await
            .unwrap();
        assert_eq!(store.discard_unfinished_logs(at(5)).await.unwrap(), 1);
        let gone = store.finish_log(old, at(11)).await;
        assert!(matches!(gone, Err(StoreError::Conflict { .. })), "{gone:?}");
        store.append_log(&mut young, b"y").await.unwrap();
        store.discard_log(young.id()).await.unwrap();
        assert_eq!(store.discard_unfinished_logs(at(99)).await.unwrap(), 0);
    }
}
