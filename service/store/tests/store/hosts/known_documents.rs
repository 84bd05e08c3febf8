//! Inventories that are known are neither read nor written again.

on_both! {
    a_known_inventory_is_not_written_again,
    what_another_has_written_is_seen_at_once,
    a_machine_in_two_infra_envs_has_two_inventories,
}

mod cases {
    use std::sync::Arc;

    use muster_core::record::Host;
    use muster_store::{HostForm, Store};

    use crate::world::{World, host, inventory, registered};

    async fn found(store: &Store, host: &Host) -> Host {
        let found = store.find_host(host.infra_env_id, host.id).await;
        found.unwrap().expect("the host is stored")
    }

    async fn hostname(store: &Store, host: &Host) -> String {
        found(store, host)
            .await
            .inventory
            .expect("an inventory")
            .hostname
            .clone()
    }

    async fn stored(world: &World, mut host: Host, name: &str) -> Host {
        host.inventory = Some(inventory(name, &[]).into());
        host.version = world.store.insert_host(&host, &registered(), &[]).await.unwrap();
        host
    }

    pub async fn a_known_inventory_is_not_written_again(world: World) {
        let known = stored(&world, host(world.infra_env().await.id), "one").await;
        // A read or write of the document would fail.
        world
            .sql("UPDATE host_inventories SET document = '{\"hostname\":\"another\"}'")
            .await;
        let mut read = found(&world.store, &known).await;
        assert!(Arc::ptr_eq(
            read.inventory.as_ref().unwrap(),
            known.inventory.as_ref().unwrap()
        ));
        let listed = world
            .store
            .read_hosts(&[(known.infra_env_id, known.id)], HostForm::Whole)
            .await;
        assert_eq!(listed.unwrap(), [read.clone()]);

        read.data.status_info = "changed".into();
        read.version = world.store.save_host(&read, None, &[]).await.unwrap();
        let elsewhere = world.another_store().await;
        assert_eq!(
            hostname(&elsewhere, &known).await,
            "another",
            "it was not written"
        );
        assert_eq!(found(&elsewhere, &known).await.data.status_info, "changed");
        assert_eq!(hostname(&world.store, &known).await, "one", "it was not read");

        Arc::make_mut(read.inventory.as_mut().unwrap()).hostname = "two".into();
        read.version = world.store.save_host(&read, None, &[]).await.unwrap();
        assert_eq!(hostname(&world.store, &known).await, "two");
        assert_eq!(hostname(&elsewhere, &known).await, "two");

        read.inventory = None;
        world.store.save_host(&read, None, &[]).await.unwrap();
        assert_eq!(found(&world.store, &known).await.inventory, None);
        assert_eq!(found(&elsewhere, &known).await.inventory, None);
    }

    pub async fn what_another_has_written_is_seen_at_once(world: World) {
        let known = stored(&world, host(world.infra_env().await.id), "one").await;
        assert_eq!(hostname(&world.store, &known).await, "one");
        let sql = "UPDATE hosts SET version = version + 1; UPDATE host_inventories SET document = '{\"hostname\":\"two\"}'";
        world.sql(sql).await;
        assert_eq!(hostname(&world.store, &known).await, "two");

        // What was known of the old version is not taken for what is stored.
        let refused = world.store.save_host(&known, None, &[]).await;
        assert!(refused.unwrap_err().is_conflict());
        let mut again = found(&world.store, &known).await;
        again.inventory = known.inventory.clone();
        world.store.save_host(&again, None, &[]).await.unwrap();
        assert_eq!(hostname(&world.another_store().await, &known).await, "one");
    }

    pub async fn a_machine_in_two_infra_envs_has_two_inventories(world: World) {
        let here = stored(&world, host(world.infra_env().await.id), "here").await;
        let twin = Host {
            id: here.id,
            ..host(world.infra_env().await.id)
        };
        let there = stored(&world, twin, "there").await;
        assert_eq!(here.version, there.version);
        for _ in 0..2 {
            assert_eq!(hostname(&world.store, &here).await, "here");
            assert_eq!(hostname(&world.store, &there).await, "there");
        }
    }
}
