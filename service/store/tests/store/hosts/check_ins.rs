//! Batches of polls, and deadlines.

on_both! {
    a_flush_moves_check_ins_without_a_new_version,
    a_flush_moves_only_the_deadline_of_silence,
    an_older_check_in_never_wins_over_a_newer,
    a_flush_between_read_and_save_harms_neither,
    a_large_batch_is_written_in_few_statements,
    deadlines_come_in_order,
    a_list_of_deadlines_goes_on_within_one_moment_and_past_unreadable_rows,
}

mod cases {
    use muster_api::ids::{HostId, InfraEnvId};
    use muster_core::record::Host;
    use muster_store::{CheckIn, Due};

    use crate::world::{World, at, host, registered};

    /// Silent 180 s later.
    fn check_in(host: &Host, seconds: i64) -> CheckIn {
        CheckIn {
            infra_env_id: host.infra_env_id,
            host_id: host.id,
            at: at(seconds),
            silent_at: at(seconds + 180),
            host_clock: Some(1_795_000_000 + seconds),
            agent_version: Some(format!("agent {seconds}")),
        }
    }

    async fn host_due_at(world: &World, infra_env_id: InfraEnvId, due_at: Option<i64>) -> Host {
        let mut new = host(infra_env_id);
        new.due_at = due_at.map(at);
        new.version = world.store.insert_host(&new, &registered(), &[]).await.unwrap();
        new
    }

    pub async fn a_flush_moves_check_ins_without_a_new_version(world: World) {
        let infra_env = world.infra_env().await;
        let before = host_due_at(&world, infra_env.id, Some(180)).await;
        let untouched = world.host(infra_env.id).await;
        let stranger = CheckIn {
            host_id: HostId::random(),
            ..check_in(&before, 60)
        };
        assert_eq!(
            world
                .store
                .flush_check_ins(&[check_in(&before, 60), stranger])
                .await
                .unwrap(),
            1
        );
        let mut want = before.clone();
        want.checked_in_at = at(60);
        want.due_at = Some(at(240));
        want.data.timestamp = 1_795_000_060;
        want.data.timestamp_at = Some(at(60));
        want.data.discovery_agent_version = "agent 60".into();
        assert_eq!(
            world
                .store
                .find_host(infra_env.id, before.id)
                .await
                .unwrap()
                .as_ref(),
            Some(&want)
        );
        assert_eq!(
            world.store.find_host(infra_env.id, untouched.id).await.unwrap(),
            Some(untouched)
        );

        let silent = CheckIn {
            host_clock: None,
            agent_version: None,
            ..check_in(&before, 120)
        };
        world.store.flush_check_ins(&[silent]).await.unwrap();
        want.checked_in_at = at(120);
        want.due_at = Some(at(300));
        assert_eq!(
            world.store.find_host(infra_env.id, before.id).await.unwrap(),
            Some(want)
        );
        assert_eq!(world.store.flush_check_ins(&[]).await.unwrap(), 0);
    }

    pub async fn a_flush_moves_only_the_deadline_of_silence(world: World) {
        let infra_env = world.infra_env().await;
        let sooner = host_due_at(&world, infra_env.id, Some(100)).await;
        let never = host_due_at(&world, infra_env.id, None).await;
        let gone = host_due_at(&world, infra_env.id, Some(180)).await;
        world
            .store
            .delete_host(infra_env.id, gone.id, at(1), &[])
            .await
            .unwrap();
        let batch = [check_in(&sooner, 60), check_in(&never, 60), check_in(&gone, 60)];
        assert_eq!(world.store.flush_check_ins(&batch).await.unwrap(), 2);
        for (host, due_at) in [(sooner, Some(at(100))), (never, None)] {
            let found = world
                .store
                .find_host(infra_env.id, host.id)
                .await
                .unwrap()
                .unwrap();
            assert_eq!((found.checked_in_at, found.due_at), (at(60), due_at));
        }
    }

    pub async fn an_older_check_in_never_wins_over_a_newer(world: World) {
        let infra_env = world.infra_env().await;
        let host = host_due_at(&world, infra_env.id, Some(180)).await;
        world.store.flush_check_ins(&[check_in(&host, 60)]).await.unwrap();
        assert_eq!(
            world
                .store
                .flush_check_ins(&[check_in(&host, 30), check_in(&host, 60)])
                .await
                .unwrap(),
            0
        );
        let found = world
            .store
            .find_host(infra_env.id, host.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.checked_in_at, found.due_at), (at(60), Some(at(240))));
    }

    pub async fn a_flush_between_read_and_save_harms_neither(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = host_due_at(&world, infra_env.id, Some(180)).await;
        world.store.flush_check_ins(&[check_in(&host, 60)]).await.unwrap();
        host.data.status_info = "saved".into();
        host.version = world
            .store
            .save_host(&host, None, &[])
            .await
            .expect("no conflict");
        let found = world
            .store
            .find_host(infra_env.id, host.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.checked_in_at, found.data.status_info.as_str()),
            (at(60), "saved")
        );
        assert_eq!(
            (found.data.timestamp, found.data.discovery_agent_version.as_str()),
            (1_795_000_060, "agent 60")
        );
        // A save with a newer check-in of its own stores that one.
        let heard = Host {
            checked_in_at: at(90),
            ..host
        };
        world.store.save_host(&heard, None, &[]).await.unwrap();
        let found = world
            .store
            .find_host(infra_env.id, heard.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((found.checked_in_at, found.data.timestamp), (at(90), 0));
    }

    pub async fn a_large_batch_is_written_in_few_statements(world: World) {
        let infra_env = world.infra_env().await;
        let mut batch = Vec::new();
        for seconds in 0..1003 {
            let new = host(infra_env.id);
            if seconds % 17 == 0 {
                world.store.insert_host(&new, &registered(), &[]).await.unwrap();
            }
            batch.push(check_in(&new, 60 + seconds));
        }
        let before = world.store.statement_counts();
        assert_eq!(world.store.flush_check_ins(&batch).await.unwrap(), 59);
        let after = world.store.statement_counts();
        assert_eq!((after.writes - before.writes, after.reads - before.reads), (2, 0));
    }

    pub async fn deadlines_come_in_order(world: World) {
        let infra_env = world.infra_env().await;
        assert_eq!(world.store.next_due().await.unwrap(), None);
        let mut hosts = Vec::new();
        for due_at in [Some(30), Some(10), None, Some(20)] {
            hosts.push(host_due_at(&world, infra_env.id, due_at).await);
        }
        let due = |index: usize, seconds| Due {
            infra_env_id: infra_env.id,
            host_id: hosts[index].id,
            due_at: at(seconds),
        };
        assert_eq!(world.store.next_due().await.unwrap(), Some(at(10)));
        assert_eq!(
            world.store.due_hosts(at(9), None, 10).await.unwrap(),
            (vec![], None)
        );
        assert_eq!(
            world.store.due_hosts(at(20), None, 10).await.unwrap(),
            (vec![due(1, 10), due(3, 20)], None)
        );
        let (first, more) = world.store.due_hosts(at(99), None, 2).await.unwrap();
        assert_eq!(first, [due(1, 10), due(3, 20)]);
        assert_eq!(
            world.store.due_hosts(at(99), more.as_ref(), 2).await.unwrap(),
            (vec![due(0, 30)], None)
        );
    }

    pub async fn a_list_of_deadlines_goes_on_within_one_moment_and_past_unreadable_rows(world: World) {
        let infra_env = world.infra_env().await;
        let mut want = Vec::new();
        for _ in 0..5 {
            want.push(host_due_at(&world, infra_env.id, Some(10)).await.id);
        }
        let broken = host_due_at(&world, infra_env.id, Some(5)).await;
        let sql = format!("UPDATE hosts SET id = 'nonsense' WHERE id = '{}'", broken.id);
        world.sql(&sql).await;
        want.sort_unstable();
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let (due, more) = world.store.due_hosts(at(10), after.as_ref(), 2).await.unwrap();
            found.extend(due.iter().map(|due| due.host_id));
            after = more;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, want);
    }
}
