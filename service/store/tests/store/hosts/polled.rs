//! Hosts that are kept in memory between their polls.

use std::time::{Duration, Instant};

use muster_core::record::Host;
use muster_store::{Kind, Store};

use crate::world::World;

on_both! {
    polls_of_a_host_that_nobody_changes_ask_no_database,
    a_change_is_seen_by_the_next_poll,
}

/// Lets the store receive the changes of other replicas, as a service does.
fn follow(store: &Store) -> tokio::task::JoinHandle<()> {
    let store = store.clone();
    tokio::spawn(async move { match store.receive_notifications().await {} })
}

/// Waits until polls of the host read nothing.
async fn await_kept(store: &Store, host: &Host) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let before = store.statement_counts().reads;
        store.polled_host(host.infra_env_id, host.id).await.unwrap();
        if store.statement_counts().reads == before {
            return;
        }
        assert!(Instant::now() < end, "the host is read at every poll");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a poll of the host returns that version.
async fn await_version(store: &Store, host: &Host, version: i64) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = store
            .polled_host(host.infra_env_id, host.id)
            .await
            .unwrap()
            .unwrap();
        if seen.version == version {
            return;
        }
        assert!(
            Instant::now() < end,
            "polls see version {} and not {version}",
            seen.version
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

mod cases {
    use super::{await_kept, follow};
    use crate::world::{World, at};

    pub async fn polls_of_a_host_that_nobody_changes_ask_no_database(world: World) {
        let infra_env = world.infra_env().await;
        let host = world.host(infra_env.id).await;
        let following = follow(&world.store);
        await_kept(&world.store, &host).await;
        let before = world.store.statement_counts();
        for _ in 0..100 {
            let seen = world
                .store
                .polled_host(infra_env.id, host.id)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(
                (seen.id, seen.version, &seen.state),
                (host.id, host.version, &host.state)
            );
            assert!(seen.data.validations.is_empty());
        }
        assert_eq!(world.store.statement_counts().reads, before.reads);
        assert_eq!(world.store.statement_counts().writes, before.writes);
        following.abort();
    }

    pub async fn a_change_is_seen_by_the_next_poll(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        let following = follow(&world.store);
        for second in 1..20 {
            await_kept(&world.store, &host).await;
            host.data.updated_at = at(second);
            host.data.requested_hostname = Some(format!("name-{second}"));
            host.version = world.store.save_host(&host, None, &[]).await.unwrap();
            let seen = world
                .store
                .polled_host(infra_env.id, host.id)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(seen.data.requested_hostname, host.data.requested_hostname);
        }
        await_kept(&world.store, &host).await;
        assert!(
            world
                .store
                .delete_host(infra_env.id, host.id, at(30), &[])
                .await
                .unwrap()
        );
        assert_eq!(
            world.store.polled_host(infra_env.id, host.id).await.unwrap(),
            None
        );
        following.abort();
    }
}

/// Only PostgreSQL has several replicas.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_replica_changes_is_heard() {
    let world = World::new(Kind::Postgres).await;
    let other = world.another_store().await;
    let infra_env = world.infra_env().await;
    let mut host = world.host(infra_env.id).await;
    let following = follow(&world.store);
    for second in 1..10 {
        await_kept(&world.store, &host).await;
        host.data.updated_at = crate::world::at(second);
        host.version = other.save_host(&host, None, &[]).await.unwrap();
        await_version(&world.store, &host, host.version).await;
    }
    following.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_channel_every_poll_reads_and_with_it_again_none() {
    let world = World::new(Kind::Postgres).await;
    let other = world.another_store().await;
    let infra_env = world.infra_env().await;
    let mut host = world.host(infra_env.id).await;
    let following = follow(&world.store);
    await_kept(&world.store, &host).await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    world.sql(cut).await;
    host.data.updated_at = crate::world::at(1);
    host.version = other.save_host(&host, None, &[]).await.unwrap();
    await_version(&world.store, &host, host.version).await;
    await_kept(&world.store, &host).await;
    host.data.updated_at = crate::world::at(2);
    host.version = other.save_host(&host, None, &[]).await.unwrap();
    await_version(&world.store, &host, host.version).await;
    following.abort();
}

/// Changes of other replicas are not received, so no host is cached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_follows_nobody_reads_at_every_poll() {
    let world = World::new(Kind::Postgres).await;
    let infra_env = world.infra_env().await;
    let host = world.host(infra_env.id).await;
    let before = world.store.statement_counts().reads;
    for _ in 0..5 {
        world.store.polled_host(infra_env.id, host.id).await.unwrap();
    }
    assert_eq!(world.store.statement_counts().reads, before + 5);
}
