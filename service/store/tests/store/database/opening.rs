//! Opening, closing, and addresses that lead nowhere.

on_both! {
    what_was_stored_is_there_after_opening_again,
    many_may_open_the_same_empty_database_at_once,
    an_older_version_goes_on_with_tables_that_a_newer_one_added_to,
    an_older_version_refuses_tables_that_lack_what_it_uses,
    a_closed_store_says_that_it_is_not_available,
    reads_and_writes_are_counted,
}

mod cases {
    use muster_store::{Store, StoreError};

    use crate::world::World;

    pub async fn what_was_stored_is_there_after_opening_again(world: World) {
        world.store.ping().await.unwrap();
        let infra_env = world.infra_env().await;
        world.store.close().await;
        let again = world.another_store().await;
        assert_eq!(again.find_infra_env(infra_env.id).await.unwrap(), Some(infra_env));
    }

    pub async fn many_may_open_the_same_empty_database_at_once(world: World) {
        world.store.close().await;
        let tables = "log_chunks, logs, cluster_members, host_reports, host_inventories, host_summaries, host_bootstrap_data, hosts, clusters, infra_envs, \
             host_history, host_tombstones, bmcs, boot_requests, events, outbox, settings, operator_sessions, operator_links, operator_tokens, host_jobs, host_job_hosts, audit_entries, replicas, deaf_times, kube_revision, kube_objects, kube_versions, kube_owners, \
             _sqlx_migrations";
        for table in tables.split(", ") {
            world.sql(&format!("DROP TABLE {table}")).await;
        }
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let url = world.url.clone();
            opening.spawn(async move {
                let store = Store::open(&url).await.expect("it opens");
                store.ping().await.expect("it answers");
                store.close().await;
            });
        }
        opening.join_all().await;
    }

    /// Records a migration that this version does not have, as a newer one would.
    async fn newer_migration(world: &World, description: &str) {
        world
            .sql(&format!(
                "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 SELECT 29990101000000, '{description}', success, checksum, execution_time FROM _sqlx_migrations
                 WHERE version = 20261121145500"
            ))
            .await;
    }

    pub async fn an_older_version_goes_on_with_tables_that_a_newer_one_added_to(world: World) {
        let infra_env = world.infra_env().await;
        world.sql("ALTER TABLE infra_envs ADD COLUMN newer TEXT").await;
        newer_migration(&world, "adds a column").await;
        let older = world.another_store().await;
        assert_eq!(older.find_infra_env(infra_env.id).await.unwrap(), Some(infra_env));
        world.infra_env().await;
    }

    pub async fn an_older_version_refuses_tables_that_lack_what_it_uses(world: World) {
        newer_migration(&world, "contract drops a column").await;
        let error = Store::open(&world.url).await.expect_err("it refuses");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("contract drops a column"), "{cause}");
    }

    pub async fn a_closed_store_says_that_it_is_not_available(world: World) {
        world.store.close().await;
        let error = world.store.ping().await.unwrap_err();
        assert!(
            matches!(error, StoreError::Unavailable { .. }) && error.is_temporary(),
            "{error:?}"
        );
    }

    pub async fn reads_and_writes_are_counted(world: World) {
        let infra_env = world.infra_env().await;
        let before = world.store.statement_counts();
        world.store.find_infra_env(infra_env.id).await.unwrap();
        world.store.update_infra_env(&infra_env, &[]).await.unwrap();
        let after = world.store.clone().statement_counts();
        assert_eq!((after.reads - before.reads, after.writes - before.writes), (1, 1));
    }
}

mod addresses {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use muster_store::{Store, StoreError};

    #[tokio::test]
    async fn urls_of_no_known_form_are_refused_with_what_to_write() {
        for (url, hint) in [
            ("mysql://root@server/db", "sqlite:// or postgres://"),
            ("muster.db", "sqlite:// or postgres://"),
            ("sqlite::memory:", "name one"),
            ("sqlite://", "name one"),
            ("sqlite:///tmp/x.db?mode=memory", "no parameters"),
            ("postgres://[", "postgres://USER"),
        ] {
            let error = Store::open(url).await.unwrap_err();
            assert!(matches!(error, StoreError::Address { .. }), "{url}: {error:?}");
            assert!(error.to_string().contains(hint), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn a_missing_folder_is_named() {
        let error = Store::open("sqlite:///nonexistent/folder/muster.db")
            .await
            .unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("/nonexistent/folder/muster.db"), "{source}");
    }

    #[tokio::test]
    async fn a_server_that_never_comes_is_given_up_and_its_password_not_shown() {
        let port = muster_tests::process::ports::ReservedPort::reserve();
        let url = format!(
            "postgres://me:hunter2@127.0.0.1:{}/muster?application_name=hunter2",
            port.number()
        );
        let error = Store::open_within(&url, Duration::from_millis(300))
            .await
            .unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            matches!(error, StoreError::Open { .. }) && text.contains("127.0.0.1"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[tokio::test]
    async fn sqlite_files_may_have_odd_names_and_are_for_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mus ter#100%.db");
        let store = Store::open(&format!("sqlite://{}", file.display()))
            .await
            .unwrap();
        store.insert_events(&[crate::world::event(0, "x")]).await.unwrap();
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        assert!(
            names.contains(&file) && names.len() == 3,
            "the log is beside it: {names:?}"
        );
        for name in names {
            assert_eq!(
                name.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{}",
                name.display()
            );
        }
    }
}

/// As after a restart of less than a second: all connections are lost, and were used just before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_connections_that_end_together_one_operation_fails() {
    let world = crate::world::World::new(muster_store::Kind::Postgres).await;
    let (pool, _) = world.store.pools();
    let mut used = Vec::new();
    for _ in 0..5 {
        used.push(pool.acquire().await.unwrap());
    }
    for mut connection in used {
        connection.return_to_pool().await;
    }
    assert!(pool.num_idle() >= 5, "{}", pool.num_idle());
    let cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    world.sql(cut).await;
    let mut failed = 0;
    for _ in 0..6 {
        failed += usize::from(world.store.ping().await.is_err());
    }
    assert!(failed <= 1, "{failed}");
}
