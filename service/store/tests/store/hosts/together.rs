//! Changes commit as a whole, and many in one transaction.

on_both! {
    a_failing_event_rolls_the_whole_change_back,
    fifty_tasks_register_and_save_without_losing_a_write,
    hosts_that_are_written_together_have_each_its_own_outcome,
    hosts_that_are_asked_for_at_the_same_time_are_read_together,
    two_replicas_flush_and_save_the_same_hosts,
    a_host_cannot_slip_into_an_infra_env_that_is_being_deleted,
}

mod cases {
    use futures_util::future::join_all;
    use muster_core::record::{Host, HostState};
    use muster_store::{CheckIn, Deletion, EventQuery, OutboxScope, Store, StoreError};
    use tokio::task::JoinSet;

    use crate::world::{
        World, all_hosts, at, became_known, cluster, event, event_of, host, infra_env, registered,
    };

    pub async fn a_failing_event_rolls_the_whole_change_back(world: World) {
        let infra_env_record = world.infra_env().await;
        let mut stored = world.host(infra_env_record.id).await;
        world.sql("ALTER TABLE events RENAME TO events_elsewhere").await;
        let new = host(infra_env_record.id);
        let refused = world
            .store
            .insert_host(&new, &registered(), &[event_of(&new, "registered")])
            .await;
        assert!(
            matches!(refused, Err(StoreError::Statement { .. })),
            "{refused:?}"
        );
        stored.state = HostState::KnownUnbound;
        let told = [event_of(&stored, "known")];
        world
            .store
            .save_host(&stored, Some(&became_known()), &told)
            .await
            .unwrap_err();
        world
            .store
            .delete_host(stored.infra_env_id, stored.id, at(1), &told)
            .await
            .unwrap_err();
        world
            .store
            .insert_infra_env(&infra_env(), &told)
            .await
            .unwrap_err();
        world
            .store
            .update_infra_env(&infra_env_record, &told)
            .await
            .unwrap_err();
        world.sql("ALTER TABLE events_elsewhere RENAME TO events").await;

        assert_eq!(
            world.store.find_host(new.infra_env_id, new.id).await.unwrap(),
            None
        );
        assert_eq!(
            world
                .store
                .host_history(new.infra_env_id, new.id, 100)
                .await
                .unwrap(),
            []
        );
        let found = world
            .store
            .find_host(stored.infra_env_id, stored.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.version, found.state), (1, HostState::DiscoveringUnbound));
        assert_eq!(
            world
                .store
                .host_history(stored.infra_env_id, stored.id, 100)
                .await
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            world.store.list_infra_envs(None).await.unwrap(),
            [infra_env_record]
        );
        let entries = world
            .store
            .take_from_outbox(at(0), std::time::Duration::ZERO, 10, OutboxScope::All)
            .await
            .unwrap();
        assert_eq!(
            entries.iter().map(|entry| entry.version).collect::<Vec<_>>(),
            [1, 1]
        );
        // The store can still be used.
        world
            .store
            .insert_host(&new, &registered(), &[event_of(&new, "registered")])
            .await
            .unwrap();
    }

    /// Load, decide, save, again on conflict: how the service writes.
    async fn save_with_retries(store: &Store, host: &Host, note: &str) {
        loop {
            let mut host = store
                .find_host(host.infra_env_id, host.id)
                .await
                .unwrap()
                .unwrap();
            host.data.status_info.push_str(note);
            match store
                .save_host(&host, Some(&became_known()), &[event_of(&host, note)])
                .await
            {
                Ok(_) => return,
                Err(error) => assert!(error.is_conflict(), "{error:?}"),
            }
        }
    }

    pub async fn hosts_that_are_asked_for_at_the_same_time_are_read_together(world: World) {
        let (one, other) = (world.infra_env().await, world.infra_env().await);
        let mut hosts = Vec::new();
        for number in 0..60 {
            let known = world.host(one.id).await;
            if number % 10 == 0 {
                // The same machine in another InfraEnv.
                let mut twin = host(other.id);
                twin.id = known.id;
                twin.version = world.store.insert_host(&twin, &registered(), &[]).await.unwrap();
                hosts.push(twin);
            }
            hosts.push(known);
        }
        let before = world.store.statement_counts().reads;
        let asked = hosts.iter().map(|known| async {
            let found = world.store.find_host(known.infra_env_id, known.id).await.unwrap();
            let brief = world.store.find_host_brief(known.infra_env_id, known.id).await;
            let elsewhere = world.store.find_host(known.infra_env_id, host(one.id).id).await;
            let key = |found: &Host| (found.infra_env_id, found.id);
            assert_eq!(found.as_ref().map(key), Some(key(known)));
            assert_eq!(
                brief.unwrap().map(|brief| (brief.infra_env_id, brief.id)),
                Some(key(known))
            );
            assert_eq!(elsewhere.unwrap(), None);
        });
        let asked_for = join_all(asked).await.len() as u64 * 3;
        let reads = world.store.statement_counts().reads - before;
        assert!(reads <= asked_for / 4, "{reads} reads of {asked_for} hosts");

        // A record that cannot be read fails only its own read.
        let id = hosts[1].id;
        world
            .sql(&format!("UPDATE hosts SET state = 'hunter2' WHERE id = '{id}'"))
            .await;
        let found = join_all(
            hosts[1..20]
                .iter()
                .map(|known| world.store.find_host(one.id, known.id)),
        )
        .await;
        assert!(
            matches!(found[0], Err(StoreError::Corrupt { .. })),
            "{:?}",
            found[0]
        );
        assert!(found[1..].iter().all(Result::is_ok));

        world.sql("ALTER TABLE hosts RENAME TO hosts_elsewhere").await;
        let failed = join_all(
            hosts[..5]
                .iter()
                .map(|known| world.store.find_host(one.id, known.id)),
        )
        .await;
        let refused = |outcome: &Result<_, _>| matches!(outcome, Err(StoreError::Statement { .. }));
        assert!(failed.iter().all(refused), "{failed:?}");
        world.sql("ALTER TABLE hosts_elsewhere RENAME TO hosts").await;
        assert!(
            world
                .store
                .find_host(one.id, hosts[2].id)
                .await
                .unwrap()
                .is_some()
        );
    }

    pub async fn fifty_tasks_register_and_save_without_losing_a_write(world: World) {
        let infra_env = world.infra_env().await;
        let shared = world.host(infra_env.id).await;
        let mut tasks = JoinSet::new();
        for _ in 0..50 {
            let (store, shared) = (world.store.clone(), shared.clone());
            tasks.spawn(async move {
                let own = host(shared.infra_env_id);
                store
                    .insert_host(&own, &registered(), &[event_of(&own, "+")])
                    .await
                    .unwrap();
                save_with_retries(&store, &own, "+").await;
                save_with_retries(&store, &shared, "+").await;
                own
            });
        }
        for own in tasks.join_all().await {
            assert_eq!(
                world
                    .store
                    .find_host(own.infra_env_id, own.id)
                    .await
                    .unwrap()
                    .unwrap()
                    .version,
                2
            );
            assert_eq!(
                world
                    .store
                    .host_history(own.infra_env_id, own.id, 100)
                    .await
                    .unwrap()
                    .len(),
                2
            );
        }
        let shared = world
            .store
            .find_host(infra_env.id, shared.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(shared.version, 51);
        assert_eq!(
            shared.data.status_info.matches('+').count(),
            50,
            "every write saw the one before"
        );
        assert_eq!(
            world
                .store
                .host_history(infra_env.id, shared.id, 100)
                .await
                .unwrap()
                .len(),
            51
        );
        assert_eq!(
            world
                .store
                .list_events(&EventQuery::default())
                .await
                .unwrap()
                .total,
            150
        );
    }

    pub async fn hosts_that_are_written_together_have_each_its_own_outcome(world: World) {
        let (infra_env, elsewhere) = (world.infra_env().await, infra_env());
        let (known, stale) = (world.host(infra_env.id).await, world.host(infra_env.id).await);
        world.store.save_host(&stale, None, &[]).await.unwrap();
        let deleted = world.host(infra_env.id).await;
        world
            .store
            .delete_host(infra_env.id, deleted.id, at(1), &[])
            .await
            .unwrap();
        // One that joins a cluster which is not there fails in the middle of the transaction of all.
        let mut lost = host(infra_env.id);
        for spoils_all in [false, true] {
            let before = world.store.statement_counts().writes;
            let mut tasks = JoinSet::new();
            let mut insert = |new: &Host| {
                let (store, new) = (world.store.clone(), new.clone());
                tasks.spawn(async move {
                    let told = [event_of(&new, "registered")];
                    (new.id, store.insert_host(&new, &registered(), &told).await)
                });
            };
            let fresh: Vec<Host> = (0..20).map(|_| host(infra_env.id)).collect();
            fresh.iter().for_each(&mut insert);
            insert(&known);
            insert(&host(elsewhere.id));
            if spoils_all {
                lost.cluster_id = Some(cluster().id);
                insert(&lost);
            } else {
                insert(&deleted);
            }
            let (store, old) = (world.store.clone(), stale.clone());
            tasks.spawn(async move { (old.id, store.save_host(&old, None, &[]).await) });
            for (id, outcome) in tasks.join_all().await {
                match outcome {
                    Ok(3) => assert_eq!(id, deleted.id, "its versions go on"),
                    Ok(version) => {
                        assert_eq!(version, 1);
                        assert!(fresh.iter().any(|new| new.id == id));
                    }
                    Err(StoreError::Conflict { .. }) => assert!([known.id, stale.id].contains(&id)),
                    Err(StoreError::Missing { table, .. }) => {
                        assert_eq!(table == "clusters", id == lost.id);
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            let writes = world.store.statement_counts().writes - before;
            assert!(spoils_all || writes < 24, "{writes} transactions for 24 hosts");
            for new in &fresh {
                let stored = world.store.find_host(new.infra_env_id, new.id).await.unwrap();
                assert_eq!(stored.unwrap().version, 1);
                let history = world.store.host_history(new.infra_env_id, new.id, 9).await;
                assert_eq!(history.unwrap().len(), 1);
                let query = EventQuery {
                    host_ids: vec![new.id],
                    ..EventQuery::default()
                };
                assert_eq!(world.store.list_events(&query).await.unwrap().total, 1);
            }
        }
        let gone = world.store.find_host(infra_env.id, lost.id).await.unwrap();
        assert_eq!(gone, None);
    }

    pub async fn two_replicas_flush_and_save_the_same_hosts(world: World) {
        let infra_env = world.infra_env().await;
        let mut hosts = Vec::new();
        for _ in 0..100 {
            hosts.push(world.host(infra_env.id).await);
        }
        let mut tasks = JoinSet::new();
        for replica in 0..2 {
            let (store, mut hosts) = (world.another_store().await, hosts.clone());
            if replica == 1 {
                hosts.reverse();
            }
            tasks.spawn(async move {
                for seconds in 1..20 {
                    let batch: Vec<_> = hosts.iter().map(|host| heard(host, seconds)).collect();
                    store.flush_check_ins(&batch).await.unwrap();
                    let host = &hosts[usize::try_from(seconds).unwrap()];
                    save_with_retries(&store, host, "+").await;
                }
                store.close().await;
            });
        }
        tasks.join_all().await;
        for host in all_hosts(&world.store, infra_env.id).await {
            assert_eq!(host.checked_in_at, at(19));
        }
    }

    fn heard(host: &Host, seconds: i64) -> CheckIn {
        CheckIn {
            infra_env_id: host.infra_env_id,
            host_id: host.id,
            at: at(seconds),
            silent_at: at(seconds + 180),
            host_clock: None,
            agent_version: None,
        }
    }

    pub async fn a_host_cannot_slip_into_an_infra_env_that_is_being_deleted(world: World) {
        for _ in 0..20 {
            let infra_env = world.infra_env().await;
            let (mover, deleter) = (world.store.clone(), world.store.clone());
            let new = host(infra_env.id);
            let moves_in = tokio::spawn(async move { mover.insert_host(&new, &registered(), &[]).await });
            let id = infra_env.id;
            let deletion =
                tokio::spawn(async move { deleter.delete_infra_env(id, at(1), &[event(1, "x")]).await });
            let (moved, deleted) = (moves_in.await.unwrap(), deletion.await.unwrap().unwrap());
            match deleted {
                Deletion::Deleted => assert!(matches!(moved, Err(StoreError::Missing { .. })), "{moved:?}"),
                Deletion::Inhabited(1) => assert_eq!(moved.unwrap(), 1),
                other => panic!("{other:?}"),
            }
        }
    }
}
