//! Summaries of inventories.

on_both! {
    a_summary_is_written_with_its_inventory_and_goes_with_it,
    those_of_an_earlier_release_are_added_and_none_that_is_newer_is_lost,
}

mod cases {
    use muster_api::ids::InfraEnvId;
    use muster_core::query::HardwareSummary;
    use muster_core::record::Host;

    use crate::world::{World, at, host, inventory, registered};

    /// A stored host whose one card has this address.
    async fn reported(world: &World, infra_env_id: InfraEnvId, mac: &str) -> Host {
        let mut new = host(infra_env_id);
        new.inventory = Some(inventory("worker-1", &[mac]).into());
        new.version = world.store.insert_host(&new, &registered(), &[]).await.unwrap();
        new
    }

    fn with_mac(mac: &str) -> HardwareSummary {
        HardwareSummary::of(&inventory("worker-1", &[mac]))
    }

    pub async fn a_summary_is_written_with_its_inventory_and_goes_with_it(world: World) {
        let store = &world.store;
        let infra_env = world.infra_env().await;
        world.host(infra_env.id).await;
        let mut one = reported(&world, infra_env.id, "02:00:00:00:00:01").await;
        let other = reported(&world, infra_env.id, "02:00:00:00:00:02").await;
        let key = (infra_env.id, one.id);
        let all = store.host_summaries(None).await.unwrap();
        assert_eq!(all.len(), 2, "a host without an inventory has none");
        assert_eq!(all[&key], with_mac("02:00:00:00:00:01"));
        assert!(store.hosts_without_summary().await.unwrap().is_empty());

        one.inventory = Some(inventory("worker-1", &["02:00:00:00:00:03"]).into());
        one.version = store.save_host(&one, None, &[]).await.unwrap();
        let some = store.host_summaries(Some(&[key])).await.unwrap();
        assert_eq!(some.len(), 1);
        assert_eq!(some[&key], with_mac("02:00:00:00:00:03"));

        one.inventory = None;
        store.save_host(&one, None, &[]).await.unwrap();
        store
            .delete_host(infra_env.id, other.id, at(1), &[])
            .await
            .unwrap();
        assert!(store.host_summaries(None).await.unwrap().is_empty());
    }

    pub async fn those_of_an_earlier_release_are_added_and_none_that_is_newer_is_lost(world: World) {
        let store = &world.store;
        let infra_env = world.infra_env().await;
        let missing = reported(&world, infra_env.id, "02:00:00:00:00:01").await;
        let of_another_form = reported(&world, infra_env.id, "02:00:00:00:00:02").await;
        let present = reported(&world, infra_env.id, "02:00:00:00:00:03").await;
        let gone = reported(&world, infra_env.id, "02:00:00:00:00:04").await;
        world
            .sql(&format!(
                "DELETE FROM host_summaries WHERE host_id = '{}';
                 UPDATE host_summaries SET document = '{{\"form\":0,\"hardware\":{{}}}}' WHERE host_id = '{}'",
                missing.id, of_another_form.id
            ))
            .await;
        store
            .delete_host(infra_env.id, gone.id, at(1), &[])
            .await
            .unwrap();
        let key = |host: &Host| (infra_env.id, host.id);
        let mut without = store.hosts_without_summary().await.unwrap();
        without.sort();
        let mut expected = vec![key(&missing), key(&of_another_form)];
        expected.sort();
        assert_eq!(without, expected);
        let present_only = store.host_summaries(None).await.unwrap();
        assert_eq!(present_only.len(), 1, "one of another form is left out");

        let added = [&missing, &of_another_form, &present, &gone].map(|host| (key(host), with_mac("02:aa")));
        store.add_host_summaries(&added).await.unwrap();
        let all = store.host_summaries(None).await.unwrap();
        assert_eq!(all.len(), 3, "a deleted host gets none");
        assert_eq!(all[&key(&missing)], with_mac("02:aa"));
        assert_eq!(all[&key(&of_another_form)], with_mac("02:aa"));
        assert_eq!(all[&key(&present)], with_mac("02:00:00:00:00:03"));
        assert!(store.hosts_without_summary().await.unwrap().is_empty());
    }
}
