//! Rows that cannot be read are named, and their contents are not shown.

on_both! {
    a_corrupt_host_is_named_and_not_shown,
    a_corrupt_inventory_is_named_and_not_shown,
    a_corrupt_infra_env_is_named_and_not_shown,
    a_corrupt_event_is_named,
}

mod cases {
    use muster_store::StoreError;

    use crate::world::{World, event, inventory};

    pub async fn a_corrupt_host_is_named_and_not_shown(world: World) {
        let infra_env = world.infra_env().await;
        let host = world.host(infra_env.id).await;
        for (column, value) in [
            ("data", r#"{"status_info": 123456789}"#),
            ("data", "hunter2 is no JSON"),
            ("state", r#"{"status": "hunter2"}"#),
            ("cluster_id", "hunter2"),
        ] {
            world.sql(&format!("UPDATE hosts SET {column} = '{value}'")).await;
            let error = world
                .store
                .find_host(infra_env.id, host.id)
                .await
                .expect_err(column);
            let StoreError::Corrupt {
                table,
                id,
                column: named,
                ..
            } = &error
            else {
                panic!("{error:?}")
            };
            assert_eq!(
                (*table, id.as_str()),
                ("hosts", format!("{}/{}", infra_env.id, host.id).as_str())
            );
            assert_eq!(*named, column);
            let text = format!("{error} {error:?}");
            assert!(!text.contains("hunter2") && !text.contains("123456789"), "{text}");
            // Put right again: the others are not touched.
            let whole = if column == "cluster_id" {
                "NULL".into()
            } else {
                good(&host, column)
            };
            world.sql(&format!("UPDATE hosts SET {column} = {whole}")).await;
        }
        assert_eq!(
            world.store.find_host(infra_env.id, host.id).await.unwrap(),
            Some(host)
        );
    }

    pub async fn a_corrupt_inventory_is_named_and_not_shown(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        host.inventory = Some(inventory("worker-1", &[]));
        host.version = world.store.save_host(&host, None, &[]).await.unwrap();
        world
            .sql("UPDATE host_inventories SET document = '\"hunter2\"'")
            .await;
        let error = world.store.list_hosts(infra_env.id).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains(&host.id.to_string()) && text.contains("inventory"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
        let brief = world.store.find_host_brief(infra_env.id, host.id).await;
        assert!(
            brief.unwrap().unwrap().has_inventory,
            "whoever needs no inventory is not troubled"
        );
        world.store.save_host(&host, None, &[]).await.unwrap();
        assert_eq!(
            world
                .store
                .find_host(infra_env.id, host.id)
                .await
                .unwrap()
                .unwrap()
                .inventory,
            host.inventory
        );
    }

    fn good(host: &muster_core::record::Host, column: &str) -> String {
        let json = match column {
            "data" => serde_json::to_string(&host.data),
            _ => serde_json::to_string(&host.state),
        };
        format!("'{}'", json.unwrap())
    }

    pub async fn a_corrupt_infra_env_is_named_and_not_shown(world: World) {
        let infra_env = world.infra_env().await;
        world
            .sql(r#"UPDATE infra_envs SET settings = '{"proxy": "hunter2"}'"#)
            .await;
        let error = world.store.find_infra_env(infra_env.id).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains("corrupt row in table infra_envs"), "{text}");
        assert!(
            text.contains(&infra_env.id.to_string()) && text.contains("settings"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }

    pub async fn a_corrupt_event_is_named(world: World) {
        world.store.insert_events(&[event(0, "fine")]).await.unwrap();
        world.sql("UPDATE events SET category = 'nonsense'").await;
        let all = muster_store::EventQuery {
            categories: Vec::new(),
            ..Default::default()
        };
        let error = world.store.list_events(&all).await.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Corrupt {
                    table: "events",
                    column: "category",
                    ..
                }
            ),
            "{error:?}"
        );
    }
}
