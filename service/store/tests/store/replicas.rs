//! Beats of replicas, and deaf times.

on_both! {
    beats_and_deaf_times_are_read_by_all,
    a_replica_is_forgotten_unless_it_beats_again,
    a_clock_that_is_set_back_brings_times_back_and_all_deadlines_near,
}

mod cases {
    use std::time::{Duration, SystemTime};

    use muster_core::record::DeafTime;
    use muster_store::{CheckIn, Kind};

    use crate::world::{World, at, host, registered};

    fn deaf(from: i64, to: i64) -> DeafTime {
        DeafTime {
            from: at(from),
            to: at(to),
        }
    }

    pub async fn beats_and_deaf_times_are_read_by_all(world: World) {
        let other = world.another_store().await;
        world.store.beat("a", at(0), None, at(-1000)).await.unwrap();
        other
            .beat("b", at(10), Some(deaf(2, 9)), at(-1000))
            .await
            .unwrap();
        let beats = world
            .store
            .beat("a", at(20), Some(deaf(2, 9)), at(-1000))
            .await
            .unwrap();
        let seen: Vec<(&str, _)> = beats.replicas.iter().map(|one| (&*one.id, one.beat_at)).collect();
        assert_eq!(seen, [("a", at(20)), ("b", at(10))]);
        assert_eq!(beats.deaf, [deaf(2, 9)]);
        let beats = world
            .store
            .beat("a", at(30), Some(deaf(25, 29)), at(10))
            .await
            .unwrap();
        assert_eq!(beats.deaf, [deaf(25, 29)], "the other ended before the horizon");

        match world.store.server_time().await.unwrap() {
            None => assert_eq!(world.store.kind(), Kind::Sqlite),
            Some(time) => {
                let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
                assert!(time.timestamp().abs_diff(now as i64) < 60, "{time}");
            }
        }
    }

    pub async fn a_replica_is_forgotten_unless_it_beats_again(world: World) {
        let store = &world.store;
        store.beat("gone", at(0), None, at(0)).await.unwrap();
        let gone = store
            .beat("a", at(60), None, at(0))
            .await
            .unwrap()
            .replicas
            .remove(1);
        store.beat("gone", at(61), None, at(0)).await.unwrap();
        store.forget_replica(&gone, Some(deaf(0, 60))).await.unwrap();
        let beats = store.beat("a", at(62), None, at(0)).await.unwrap();
        assert_eq!((beats.replicas.len(), beats.deaf.len()), (2, 0));
        store.leave("gone", at(63)).await.unwrap();
        let beats = store.beat("a", at(64), None, at(0)).await.unwrap();
        assert!(beats.replicas[1].has_left);
        store
            .forget_replica(&beats.replicas[1], Some(deaf(0, 60)))
            .await
            .unwrap();
        let beats = store.beat("a", at(65), None, at(0)).await.unwrap();
        assert_eq!((beats.replicas.len(), &beats.deaf[..]), (1, &[deaf(0, 60)][..]));
    }

    pub async fn a_clock_that_is_set_back_brings_times_back_and_all_deadlines_near(world: World) {
        let infra_env = world.infra_env().await;
        let mut ahead = host(infra_env.id);
        ahead.due_at = Some(at(3780));
        ahead.checked_in_at = at(3600);
        // It polled twenty seconds ago, by a clock that is right.
        (ahead.data.timestamp, ahead.data.timestamp_at) = (at(80).timestamp(), Some(at(3680)));
        world.store.insert_host(&ahead, &registered(), &[]).await.unwrap();
        let mut past = host(infra_env.id);
        past.due_at = Some(at(50));
        past.checked_in_at = at(-60);
        world.store.insert_host(&past, &registered(), &[]).await.unwrap();
        world
            .store
            .beat("a", at(3600), Some(deaf(3000, 3500)), at(0))
            .await
            .unwrap();

        let hour = Duration::from_secs(3600);
        world.store.clock_set_back(at(100), hour).await.unwrap();
        let found = world
            .store
            .find_host(infra_env.id, ahead.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.checked_in_at, found.due_at), (at(100), Some(at(100))));
        let clock = (found.data.timestamp, found.data.timestamp_at);
        assert_eq!(clock, (at(100).timestamp(), Some(at(100))));
        let found = world
            .store
            .find_host(infra_env.id, past.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.checked_in_at, found.due_at), (at(-60), Some(at(50))));
        let beats = world.store.beat("b", at(101), None, at(0)).await.unwrap();
        assert_eq!((beats.replicas[0].beat_at, beats.deaf), (at(100), vec![]));
        // Polls are written again from here.
        let poll = CheckIn {
            infra_env_id: infra_env.id,
            host_id: ahead.id,
            at: at(110),
            silent_at: at(290),
            host_clock: None,
            agent_version: None,
        };
        assert_eq!(world.store.flush_check_ins(&[poll]).await.unwrap(), 1);
    }
}
