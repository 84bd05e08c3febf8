//! With a key, no secret is in the database in plain text, whichever write stored it.

on_both! {
    what_is_written_with_a_key_is_nowhere_plain,
    what_was_plain_is_sealed_and_erased,
    keys_are_replaced_one_by_another_and_given_up,
    a_value_in_another_row_costs_that_row,
    a_database_is_opened_with_all_its_keys_or_not_at_all,
    unchanged_bootstrap_data_is_not_written_again,
}

mod cases {
    use std::path::PathBuf;

    use muster_core::record::{Agreed, Bmc, Cluster, Host, InfraEnv, Secret};
    use muster_store::{KUBE_RESOURCES, Kind, Resealed, Store, StoreError, Vault, new_key};
    use sqlx::{AnyConnection, Connection, Row};

    use crate::world::{World, at, bmc, cluster, host, infra_env, registered};

    const CANARY: &str = "canary-beside-the-key";

    fn vault(lines: &[&str]) -> Vault {
        Vault::from_key_file(lines.join("\n").as_bytes()).unwrap()
    }

    async fn open(world: &World, lines: &[&str]) -> Store {
        Store::open_with_keys(&world.url, vault(lines), Some(8))
            .await
            .unwrap()
    }

    /// Records with a secret in each place that has one.
    struct Records {
        pool: InfraEnv,
        joined: Cluster,
        machine: Host,
        bmc: Bmc,
    }

    impl Records {
        async fn store(store: &Store) -> Self {
            let canary = || Secret::new(CANARY);
            let mut pool = infra_env();
            pool.settings.pull_secret = canary();
            pool.settings.ignition_config_override = CANARY.into();
            pool.mirror = Some(Agreed::of(
                &[("name".to_owned(), CANARY.into())].into_iter().collect(),
            ));
            pool.version = store.insert_infra_env(&pool, &[]).await.unwrap();
            let mut joined = cluster();
            joined.data.pull_secret = canary();
            joined.data.url_key = canary();
            joined.data.ignition_endpoint_ca = CANARY.into();
            joined.data.proxy.http_proxy = Some(format!("http://robot:{CANARY}@proxy"));
            joined.version = store.insert_cluster(&joined, &[]).await.unwrap();
            let mut machine = host(pool.id);
            machine.data.ignition_endpoint_token = canary();
            machine.data.ignition_config_overrides = canary();
            machine.bootstrap_ignition = canary();
            machine.version = store.insert_host(&machine, &registered(), &[]).await.unwrap();
            store.set_setting("a-key", at(0), &canary()).await.unwrap();
            let mut bmc = bmc(pool.id, "192.0.2.1");
            bmc.password = canary();
            store.insert_bmcs(std::slice::from_ref(&bmc), &[]).await.unwrap();
            bmc.version = 1;
            Self {
                pool,
                joined,
                machine,
                bmc,
            }
        }

        async fn are_in(&self, store: &Store) {
            let found = store.find_infra_env(self.pool.id).await.unwrap().unwrap();
            assert_eq!(found, self.pool);
            assert_eq!(
                store.find_infra_env_by_boot_id(&self.pool.boot_id).await.unwrap(),
                Some(found)
            );
            let found = store.find_cluster(self.joined.id).await.unwrap().unwrap();
            assert_eq!(found.cluster, self.joined);
            let (pool, id) = (self.machine.infra_env_id, self.machine.id);
            assert_eq!(store.find_host(pool, id).await.unwrap().unwrap(), self.machine);
            let brief = store.find_host_brief(pool, id).await.unwrap().unwrap();
            assert_eq!(brief.data, self.machine.data);
            let found = store.find_bmc(self.bmc.id).await.unwrap().unwrap();
            assert_eq!(found, self.bmc);
            let setting = store.setting("a-key").await.unwrap().unwrap();
            assert_eq!(setting.reveal(), CANARY);
        }
    }

    /// Columns that hold the canary.
    async fn plain(world: &World) -> Vec<&'static str> {
        let mut connection = AnyConnection::connect(&world.url).await.unwrap();
        let mut found = Vec::new();
        for (table, column) in [
            ("infra_envs", "settings"),
            ("clusters", "data"),
            ("hosts", "data"),
            ("host_bootstrap_data", "document"),
            ("settings", "value"),
            ("kube_versions", "document"),
            ("bmcs", "password"),
        ] {
            let sql = format!("SELECT COUNT(*) FROM {table} WHERE {column} LIKE '%{CANARY}%'");
            let row = sqlx::query(sqlx::AssertSqlSafe(sql))
                .fetch_one(&mut connection)
                .await
                .unwrap();
            if row.get::<i64, _>(0) > 0 {
                found.push(table);
            }
        }
        connection.close().await.unwrap();
        found
    }

    /// Seals everything again, in batches of two.
    async fn reseal(store: &Store) -> Resealed {
        let mut all = Resealed::default();
        for batch in store.stale_values().await.unwrap().chunks(2) {
            all += store.reseal(batch).await.unwrap();
        }
        assert!(store.finish_resealing(all).await.unwrap());
        assert_eq!(store.stale_values().await.unwrap().len() as u64, all.unreadable);
        all
    }

    pub async fn what_is_written_with_a_key_is_nowhere_plain(world: World) {
        let store = open(&world, &[&new_key().unwrap()]).await;
        let mut records = Records::store(&store).await;
        records.pool.version = store.update_infra_env(&records.pool, &[]).await.unwrap();
        records.joined.version = store.update_cluster(&records.joined, &[]).await.unwrap();
        records.machine.version = store.save_host(&records.machine, None, &[]).await.unwrap();
        records.bmc.version = store.update_bmc(&records.bmc, &[]).await.unwrap();
        let made = store
            .setting_or_insert("made", at(0), || Secret::new(CANARY))
            .await
            .unwrap();
        assert_eq!(made.reveal(), CANARY);
        records.are_in(&store).await;
        assert_eq!(store.list_infra_envs(None).await.unwrap(), [records.pool.clone()]);
        assert_eq!(plain(&world).await, [""; 0]);
        assert_eq!(world.files_with(CANARY), [""; 0].map(PathBuf::from));
        assert!(store.stale_values().await.unwrap().is_empty());
        // What is left of a deleted cluster is sealed, too.
        store.delete_cluster(records.joined.id, at(1), &[]).await.unwrap();
        let left = store
            .find_cluster(records.joined.id)
            .await
            .unwrap()
            .unwrap()
            .cluster
            .data;
        assert_eq!((left.name.as_str(), left.pull_secret.is_empty()), ("day2", true));
        assert!(
            store
                .delete_host(records.pool.id, records.machine.id, at(1), &[])
                .await
                .unwrap()
        );
        assert!(store.stale_values().await.unwrap().is_empty());
    }

    pub async fn what_was_plain_is_sealed_and_erased(world: World) {
        let records = Records::store(&world.store).await;
        for (revision, resource) in (100..).zip(KUBE_RESOURCES.iter().chain(&["configmaps"])) {
            world
                .sql(&format!(
                    "INSERT INTO kube_versions (revision, resource, namespace, name, uid, change, previous, document)
                     VALUES ({revision}, '{resource}', 'n', 'one', 'u', 'ADDED', 0, '{{\"a\": \"{CANARY}\"}}')"
                ))
                .await;
        }
        let everywhere = [
            "infra_envs",
            "clusters",
            "hosts",
            "host_bootstrap_data",
            "settings",
            "kube_versions",
            "bmcs",
        ];
        assert_eq!(plain(&world).await, everywhere);
        world.store.close().await;

        let store = open(&world, &[&new_key().unwrap()]).await;
        records.are_in(&store).await;
        let done = reseal(&store).await;
        assert_eq!((done.done, done.plain, done.unreadable), (12, 12, 0));
        records.are_in(&store).await;
        assert_eq!(
            plain(&world).await,
            ["kube_versions"],
            "ConfigMaps stay as they are"
        );
        world
            .sql("DELETE FROM kube_versions WHERE resource = 'configmaps'")
            .await;
        assert_eq!(plain(&world).await, [""; 0]);
        if store.kind() == Kind::Sqlite {
            // Another connection deleted the ConfigMap, without erasing it.
            store.finish_resealing(done).await.unwrap();
        }
        assert_eq!(world.files_with(CANARY), [""; 0].map(PathBuf::from));
        // The records have the same versions: a caller that read one before can write now.
        store.update_infra_env(&records.pool, &[]).await.unwrap();
    }

    pub async fn keys_are_replaced_one_by_another_and_given_up(world: World) {
        let (old, new) = (new_key().unwrap(), new_key().unwrap());
        let store = open(&world, &[&old]).await;
        let records = Records::store(&store).await;
        store.close().await;
        let both = open(&world, &[&new, &old]).await;
        records.are_in(&both).await;
        // Not finished, the old key is needed still.
        Store::open_with_keys(&world.url, vault(&[&new]), None)
            .await
            .unwrap_err();
        let done = reseal(&both).await;
        assert_eq!((done.done, done.plain), (7, 0));
        both.close().await;
        let alone = open(&world, &[&new]).await;
        records.are_in(&alone).await;
        alone.close().await;
        let ending = open(&world, &["plain", &new]).await;
        records.are_in(&ending).await;
        assert_eq!(reseal(&ending).await.done, 7);
        ending.close().await;
        let without = Store::open_with_keys(&world.url, Vault::default(), None)
            .await
            .unwrap();
        records.are_in(&without).await;
    }

    pub async fn a_value_in_another_row_costs_that_row(world: World) {
        let store = open(&world, &[&new_key().unwrap()]).await;
        let (mut one, mut other) = (infra_env(), infra_env());
        for pool in [&mut one, &mut other] {
            pool.settings.pull_secret = Secret::new(CANARY);
            pool.version = store.insert_infra_env(pool, &[]).await.unwrap();
        }
        world
            .sql(&format!(
                "UPDATE infra_envs SET settings = (SELECT settings FROM infra_envs WHERE id = '{}') WHERE id = '{}'",
                one.id, other.id
            ))
            .await;
        let error = store.find_infra_env(other.id).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(
            text.contains(&other.id.to_string()) && text.contains("another row"),
            "{text}"
        );
        assert_eq!(store.list_infra_envs(None).await.unwrap(), [one]);
    }

    pub async fn a_database_is_opened_with_all_its_keys_or_not_at_all(world: World) {
        let (right, wrong) = (new_key().unwrap(), new_key().unwrap());
        open(&world, &[&right]).await.close().await;
        for (given, wanted) in [
            (Vault::default(), "by --secrets-key"),
            (vault(&[&wrong]), "the file of --secrets-key holds others only"),
        ] {
            let error = Store::open_with_keys(&world.url, given, None).await.unwrap_err();
            assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
            assert!(error.to_string().contains(wanted), "{error}");
        }
        // A program that only reads claims no key for the database.
        let reader = vault(&[&wrong, &right]).reading_only();
        Store::open_with_keys(&world.url, reader, None)
            .await
            .unwrap()
            .close()
            .await;
        open(&world, &[&right]).await.close().await;
        world
            .sql("UPDATE settings SET value = 'muster' WHERE name LIKE 'secrets-key/%'")
            .await;
        let error = Store::open_with_keys(&world.url, vault(&[&right]), None)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("check value"), "{error}");
    }

    pub async fn unchanged_bootstrap_data_is_not_written_again(world: World) {
        let store = open(&world, &[&new_key().unwrap()]).await;
        let mut records = Records::store(&store).await;
        let stored = || async {
            let mut connection = AnyConnection::connect(&world.url).await.unwrap();
            let row = sqlx::query("SELECT document FROM host_bootstrap_data")
                .fetch_one(&mut connection)
                .await
                .unwrap();
            connection.close().await.unwrap();
            row.get::<String, _>(0)
        };
        let before = stored().await;
        records.machine.version = store.save_host(&records.machine, None, &[]).await.unwrap();
        assert_eq!(stored().await, before);
        records.machine.bootstrap_ignition = Secret::new("another");
        records.machine.version = store.save_host(&records.machine, None, &[]).await.unwrap();
        assert_ne!(stored().await, before);
        records.are_in(&store).await;
    }
}
