//! Uploaded logs: whole or not at all, the newest only.

on_both! {
    an_upload_is_seen_when_it_is_complete_and_replaces_the_last_one,
    what_was_not_finished_is_cleared_away,
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
        store.discard_log(young).await.unwrap();
        assert_eq!(store.discard_unfinished_logs(at(99)).await.unwrap(), 0);
    }
}
