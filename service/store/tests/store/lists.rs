//! Lists that are read a few entries at a time.

on_both! {
    hosts_are_read_in_the_order_of_their_keys_whole_or_brief,
    a_mark_of_hosts_changes_with_them_and_not_with_polls,
    events_are_read_part_by_part_in_both_orders,
}

mod cases {
    use std::sync::Arc;

    use muster_api::steps::{ConnectivityReport, FreeNetworkAddresses};
    use muster_core::record::{Host, HostTexts};
    use muster_store::{CheckIn, EventQuery, HostForm, Order};

    use crate::world::{World, at, event, inventory};

    pub async fn hosts_are_read_in_the_order_of_their_keys_whole_or_brief(world: World) {
        let (infra_env, other) = (world.infra_env().await, world.infra_env().await);
        let mut hosts = Vec::new();
        for name in ["a", "b", "c"] {
            let mut host = world.host(infra_env.id).await;
            host.inventory = Some(inventory(name, &[]).into());
            host.data.reported_hostname = name.into();
            Arc::make_mut(&mut host.reports).connectivity = (name == "a").then(ConnectivityReport::default);
            if name == "b" {
                Arc::make_mut(&mut host.reports).free_addresses = vec![FreeNetworkAddresses::default()];
            }
            host.version = world.store.save_host(&host, None, &[]).await.unwrap();
            hosts.push(host);
        }
        world.host(other.id).await;
        let keys = world.store.list_host_keys(infra_env.id).await.unwrap();
        assert_eq!(keys.len(), 3);
        let backwards: Vec<_> = keys.iter().rev().copied().collect();
        let whole = world.store.read_hosts(&backwards, HostForm::Whole).await.unwrap();
        let listed: Vec<_> = whole.iter().map(|host| (host.infra_env_id, host.id)).collect();
        assert_eq!(listed, backwards);
        for listed in &whole {
            let stored = hosts.iter().find(|host| host.id == listed.id).unwrap();
            assert_eq!(listed, stored);
        }
        let mut parts = world.store.listed_parts(backwards.clone(), HostForm::Whole);
        let (mut all_listed, mut lengths) = (Vec::new(), Vec::new());
        while let Some(part) = parts.next().await.unwrap() {
            lengths.push(part.len());
            all_listed.extend(part);
        }
        assert_eq!(lengths, [1, 2], "of the first nobody knows how large it is");
        let keys_listed: Vec<_> = all_listed
            .iter()
            .map(|listed| (listed.host.infra_env_id, listed.host.id))
            .collect();
        assert_eq!(keys_listed, backwards);
        for listed in all_listed {
            let stored = hosts.iter().find(|host| host.id == listed.host.id).unwrap();
            assert_eq!(listed.texts, HostTexts::of(stored), "as it is stored");
            let without = Host {
                inventory: None,
                reports: Default::default(),
                ..stored.clone()
            };
            assert_eq!(listed.host, without);
        }
        world
            .store
            .delete_host(infra_env.id, keys[1].1, at(9), &[])
            .await
            .unwrap();
        let brief = world.store.read_hosts(&keys, HostForm::Brief).await.unwrap();
        let names: Vec<&str> = brief
            .iter()
            .map(|host| host.data.reported_hostname.as_str())
            .collect();
        let reported = |key: &(_, _)| {
            let stored = hosts.iter().find(|host| host.id == key.1).unwrap();
            stored.inventory.as_ref().unwrap().hostname.clone()
        };
        assert_eq!(names, [reported(&keys[0]), reported(&keys[2])]);
        assert!(brief.iter().all(|listed| listed.inventory.is_none()));
    }

    pub async fn a_mark_of_hosts_changes_with_them_and_not_with_polls(world: World) {
        let infra_env = world.infra_env().await;
        let mark = async || world.store.hosts_mark(infra_env.id).await.unwrap();
        let mut seen = vec![mark().await];
        let host = world.host(infra_env.id).await;
        seen.push(mark().await);
        world.store.save_host(&host, None, &[]).await.unwrap();
        seen.push(mark().await);
        let polled = CheckIn {
            infra_env_id: infra_env.id,
            host_id: host.id,
            at: at(60),
            silent_at: at(240),
            host_clock: Some(1),
            agent_version: None,
        };
        world.store.flush_check_ins(&[polled]).await.unwrap();
        assert_eq!(mark().await, seen[2]);
        world.host(infra_env.id).await;
        seen.push(mark().await);
        world
            .store
            .delete_host(infra_env.id, host.id, at(70), &[])
            .await
            .unwrap();
        seen.push(mark().await);
        let all: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!(all.len(), seen.len(), "{seen:?}");
    }

    pub async fn events_are_read_part_by_part_in_both_orders(world: World) {
        let events: Vec<_> = (0..7).map(|n| event(n / 2, &format!("event {n}"))).collect();
        world.store.insert_events(&events).await.unwrap();
        for order in [Order::Ascending, Order::Descending] {
            let query = EventQuery {
                order,
                limit: -1,
                ..EventQuery::default()
            };
            let whole = world.store.list_events(&query).await.unwrap().events;
            assert_eq!(whole.len(), 7);
            let mut parts = Vec::new();
            loop {
                let part = world.store.read_events(&query, parts.last(), 3).await.unwrap();
                if part.is_empty() {
                    break;
                }
                assert!(part.len() <= 3);
                parts.extend(part);
            }
            assert_eq!(parts, whole);
        }
    }
}
