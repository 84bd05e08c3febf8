//! Rows that cannot be read are named, and their contents are not shown.

on_both! {
    a_corrupt_host_is_named_and_not_shown,
    a_corrupt_inventory_is_named_and_not_shown,
    a_corrupt_infra_env_is_named_and_not_shown,
    a_corrupt_event_is_left_out_of_lists,
    one_row_that_cannot_be_read_costs_itself_and_not_the_list,
    settings_of_a_newer_version_are_read_without_what_is_new,
}

mod cases {
    use muster_store::StoreError;

    use crate::world::{World, all_hosts, cluster_hosts, event, inventory};

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
        host.inventory = Some(inventory("worker-1", &[]).into());
        host.version = world.store.save_host(&host, None, &[]).await.unwrap();
        world
            .sql("UPDATE host_inventories SET document = '\"hunter2\"'")
            .await;
        // One that does not know the inventory.
        let store = world.another_store().await;
        let error = store.find_host(infra_env.id, host.id).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains(&host.id.to_string()) && text.contains("inventory"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
        let brief = store.find_host_brief(infra_env.id, host.id).await;
        assert!(
            brief.unwrap().unwrap().has_inventory,
            "whoever needs no inventory is not troubled"
        );
        store.save_host(&host, None, &[]).await.unwrap();
        let found = world.another_store().await.find_host(infra_env.id, host.id).await;
        assert_eq!(found.unwrap().unwrap().inventory, host.inventory);
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

    pub async fn one_row_that_cannot_be_read_costs_itself_and_not_the_list(world: World) {
        let (one, other) = (world.infra_env().await, world.infra_env().await);
        let (good, bad) = (world.host(one.id).await, world.host(one.id).await);
        let cluster = world.cluster_record().await;
        let damaged = world.cluster_record().await;
        let member = world.member(other.id, cluster.id).await;
        world
            .sql(&format!(
                r#"UPDATE hosts SET state = '{{"status": "of-a-newer-version"}}', status = 'of-a-newer-version' WHERE id = '{}'"#,
                bad.id
            ))
            .await;
        world
            .sql(&format!(
                r#"UPDATE infra_envs SET settings = '{{"image_type": "of-a-newer-version"}}' WHERE id = '{}'"#,
                other.id
            ))
            .await;
        world
            .sql(&format!(
                "UPDATE clusters SET data = '7' WHERE id = '{}'",
                damaged.id
            ))
            .await;
        let store = &world.store;
        assert_eq!(all_hosts(store, one.id).await, std::slice::from_ref(&good));
        let briefs = store.list_host_briefs(Some(one.id)).await.unwrap();
        assert_eq!(briefs.iter().map(|brief| brief.id).collect::<Vec<_>>(), [good.id]);
        let counted: i64 = store
            .count_hosts_by_status()
            .await
            .unwrap()
            .iter()
            .map(|(_, hosts)| hosts)
            .sum();
        assert_eq!(counted, 2);
        let infra_envs = store.list_infra_envs(None).await.unwrap();
        assert_eq!(
            infra_envs.iter().map(|found| found.id).collect::<Vec<_>>(),
            [one.id]
        );
        let clusters = store.list_clusters(false).await.unwrap();
        assert_eq!(
            clusters.iter().map(|found| found.cluster.id).collect::<Vec<_>>(),
            [cluster.id]
        );
        assert_eq!(store.list_cluster_peers(cluster.id).await.unwrap().len(), 1);
        assert_eq!(cluster_hosts(store, cluster.id).await, [member]);
        // Read by its key, each record returns its error.
        let alone = store.find_host(one.id, bad.id).await.unwrap_err().to_string();
        assert!(alone.contains(&bad.id.to_string()), "{alone}");
        store.find_infra_env(other.id).await.unwrap_err();
        store.find_cluster(damaged.id).await.unwrap_err();
    }

    pub async fn settings_of_a_newer_version_are_read_without_what_is_new(world: World) {
        let infra_env = world.infra_env().await;
        world
            .sql(r#"UPDATE infra_envs SET settings = '{"pull_secret": "p", "newer": 1, "proxy": {"http_proxy": "http://p", "socks": "s"}}'"#)
            .await;
        let found = world.store.find_infra_env(infra_env.id).await.unwrap().unwrap();
        assert_eq!(found.settings.proxy.http_proxy.as_deref(), Some("http://p"));
        assert_eq!(world.store.list_infra_envs(None).await.unwrap(), [found]);
    }

    pub async fn a_corrupt_event_is_left_out_of_lists(world: World) {
        world.store.insert_events(&[event(0, "fine")]).await.unwrap();
        world.sql("UPDATE events SET category = 'nonsense'").await;
        let all = muster_store::EventQuery {
            categories: Vec::new(),
            ..Default::default()
        };
        world.store.insert_events(&[event(1, "fine, too")]).await.unwrap();
        let page = world.store.list_events(&all).await.unwrap();
        let messages: Vec<&str> = page.events.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(messages, ["fine, too"]);
    }
}

/// Overwrites the first page of a table with noise, in the file of a database that is not in use.
async fn damage(world: &crate::world::World, table: &str) -> std::path::PathBuf {
    use std::os::unix::fs::FileExt as _;

    use sqlx::{AnyConnection, Connection as _, Row as _};
    let mut connection = AnyConnection::connect(&world.url).await.unwrap();
    let row =
        sqlx::query("SELECT rootpage, page_size FROM sqlite_master, pragma_page_size() WHERE name = $1")
            .bind(table.to_owned())
            .fetch_one(&mut connection)
            .await
            .unwrap();
    let (page, size): (i64, i64) = (row.get(0), row.get(1));
    connection.close().await.unwrap();
    let path = std::path::PathBuf::from(world.url.strip_prefix("sqlite://").unwrap());
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let noise = vec![0xa5; usize::try_from(size).unwrap()];
    file.write_all_at(&noise, u64::try_from((page - 1) * size).unwrap())
        .unwrap();
    path
}

/// The only test of this process with a damaged database: damage is remembered for the whole process.
#[tokio::test]
async fn damage_of_the_file_is_told_as_such_remembered_and_not_copied() {
    use muster_store::{Kind, Store, StoreError, damage};
    let world = crate::world::World::new(Kind::Sqlite).await;
    let infra_env = world.infra_env().await;
    world.store.close().await;
    let whole = world.url.strip_prefix("sqlite://").unwrap();
    Store::check_file(whole.as_ref()).await.unwrap();
    let file = self::damage(&world, "infra_envs").await;

    let store = world.another_store().await;
    store.setting("any").await.unwrap();
    assert_eq!(damage::noted(), None, "what is whole is answered");
    let error = store.find_infra_env(infra_env.id).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(damage::noted().is_some_and(|told| told.contains("malformed")));

    let checked = Store::check_file(&file).await.unwrap_err();
    assert!(matches!(checked, StoreError::Damaged { .. }), "{checked:?}");
    let copy = file.with_extension("copy");
    let copied = Store::copy_file(&world.url, &copy).await.unwrap_err();
    assert!(matches!(copied, StoreError::Damaged { .. }), "{copied:?}");
    std::fs::write(&file, "no database at all".repeat(1000)).unwrap();
    let checked = Store::check_file(&file).await.unwrap_err();
    assert!(matches!(checked, StoreError::Damaged { .. }), "{checked:?}");
}
