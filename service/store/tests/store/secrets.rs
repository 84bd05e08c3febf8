//! Secrets are deleted with the records that they belong to.

on_both! {
    a_deleted_record_leaves_no_secret,
}

mod cases {
    use std::path::PathBuf;
    use std::sync::Arc;

    use muster_core::record::{Cluster, Host, InfraEnv, Secret};
    use muster_store::Kind;
    use sqlx::{AnyConnection, Connection, Row};

    use crate::world::{World, at, cluster, host, infra_env, inventory, registered};

    const CANARY: &str = "canary-in-the-database";

    /// The columns that hold documents.
    const DOCUMENTS: [(&str, &str); 7] = [
        ("infra_envs", "settings"),
        ("clusters", "data"),
        ("hosts", "data"),
        ("host_inventories", "document"),
        ("host_summaries", "document"),
        ("host_reports", "document"),
        ("host_bootstrap_data", "document"),
    ];

    /// Tables with a row that holds the canary.
    async fn holders(world: &World) -> Vec<&'static str> {
        let mut connection = AnyConnection::connect(&world.url).await.unwrap();
        let mut found = Vec::new();
        for (table, column) in DOCUMENTS {
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

    pub async fn a_deleted_record_leaves_no_secret(world: World) {
        let canary = || Secret::new(CANARY);
        let store = &world.store;
        let mut pool: InfraEnv = infra_env();
        pool.settings.pull_secret = canary();
        pool.settings.ignition_config_override = CANARY.into();
        store.insert_infra_env(&pool, &[]).await.unwrap();
        let mut joined: Cluster = cluster();
        joined.data.pull_secret = canary();
        joined.data.url_key = canary();
        joined.data.proxy.http_proxy = Some(format!("http://robot:{CANARY}@proxy"));
        store.insert_cluster(&joined, &[]).await.unwrap();
        let mut machine: Host = host(pool.id);
        machine.data.ignition_endpoint_token = canary();
        machine.data.ignition_config_overrides = canary();
        // The name of a deleted host stays, and is no secret.
        let mut reported = inventory("worker-1", &["02:00:00:00:00:01"]);
        reported.bmc_address = CANARY.into();
        machine.inventory = Some(reported.into());
        Arc::make_mut(&mut machine.reports).free_addresses = vec![muster_api::steps::FreeNetworkAddresses {
            network: CANARY.into(),
            ..Default::default()
        }];
        machine.bootstrap_ignition = canary();
        store.insert_host(&machine, &registered(), &[]).await.unwrap();
        assert_eq!(holders(&world).await, DOCUMENTS.map(|(table, _)| table));
        assert_eq!(
            world.files_with(CANARY).is_empty(),
            store.kind() == Kind::Postgres
        );

        assert!(store.delete_host(pool.id, machine.id, at(1), &[]).await.unwrap());
        assert_eq!(holders(&world).await, ["infra_envs", "clusters"]);
        store.delete_cluster(joined.id, at(1), &[]).await.unwrap();
        assert_eq!(holders(&world).await, ["infra_envs"]);
        let kept = store.find_cluster(joined.id).await.unwrap().unwrap();
        assert_eq!(kept.cluster.data.name, joined.data.name);
        store.delete_infra_env(pool.id, at(1), &[]).await.unwrap();
        assert!(holders(&world).await.is_empty());
        // Nor is it left in what was freed, of the file or of its log.
        store.give_space_back().await.unwrap();
        assert_eq!(world.files_with(CANARY), [""; 0].map(PathBuf::from));
        // The machine may register again.
        assert!(store.host_was_deleted(pool.id, machine.id).await.unwrap());
    }
}
