//! Changes wait until they are acknowledged.

on_both! {
    every_change_waits_in_the_outbox_once_a_record,
    a_claimed_change_is_nobody_elses_until_the_claim_ends,
    a_record_that_changes_while_it_is_claimed_is_given_out_anew,
    many_takers_share_the_work_without_overlap,
    an_unreadable_change_keeps_no_other_from_being_given_out,
}

mod cases {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use muster_store::{OutboxEntry, OutboxScope, Subject};

    use crate::world::{World, at};

    const CLAIM: Duration = Duration::from_secs(60);

    fn ids(entries: &[OutboxEntry]) -> Vec<String> {
        entries.iter().map(|entry| entry.id.clone()).collect()
    }

    pub async fn every_change_waits_in_the_outbox_once_a_record(world: World) {
        let infra_env = world.infra_env().await;
        let mut host = world.host(infra_env.id).await;
        host.version = world.store.save_host(&host, None, &[]).await.unwrap();
        let entries = world
            .store
            .take_from_outbox(at(0), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        let seen: Vec<_> = entries
            .iter()
            .map(|entry| (entry.subject, entry.version))
            .collect();
        let subject = Subject::Host {
            infra_env_id: infra_env.id,
            id: host.id,
        };
        assert_eq!(seen, [(Subject::InfraEnv(infra_env.id), 1), (subject, 2)]);
        assert_eq!(world.store.acknowledge(&ids(&entries)).await.unwrap(), 2);
        assert_eq!(
            world
                .store
                .take_from_outbox(at(999), CLAIM, 10, OutboxScope::All)
                .await
                .unwrap(),
            []
        );
        world
            .store
            .delete_host(infra_env.id, host.id, at(1), &[])
            .await
            .unwrap();
        let entries = world
            .store
            .take_from_outbox(at(999), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        assert_eq!(
            entries
                .iter()
                .map(|entry| (entry.subject, entry.version))
                .collect::<Vec<_>>(),
            [(subject, 3)]
        );
    }

    pub async fn a_claimed_change_is_nobody_elses_until_the_claim_ends(world: World) {
        world.infra_env().await;
        let first = world
            .store
            .take_from_outbox(at(0), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(
            world
                .store
                .take_from_outbox(at(59), CLAIM, 10, OutboxScope::All)
                .await
                .unwrap(),
            []
        );
        assert_eq!(
            world
                .store
                .take_from_outbox(at(60), CLAIM, 10, OutboxScope::All)
                .await
                .unwrap(),
            first,
            "the taker died"
        );
    }

    pub async fn a_record_that_changes_while_it_is_claimed_is_given_out_anew(world: World) {
        let infra_env = world.infra_env().await;
        let old = world
            .store
            .take_from_outbox(at(0), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        world.store.update_infra_env(&infra_env, &[]).await.unwrap();
        assert_eq!(
            world.store.acknowledge(&ids(&old)).await.unwrap(),
            0,
            "the new change is not lost"
        );
        let new = world
            .store
            .take_from_outbox(at(0), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        assert_eq!(new.iter().map(|entry| entry.version).collect::<Vec<_>>(), [2]);
    }

    pub async fn many_takers_share_the_work_without_overlap(world: World) {
        for _ in 0..40 {
            world.infra_env().await;
        }
        let mut takers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = world.another_store().await;
            takers.spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let entries = store
                        .take_from_outbox(at(0), CLAIM, 3, OutboxScope::All)
                        .await
                        .unwrap();
                    if entries.is_empty() {
                        store.close().await;
                        return taken;
                    }
                    taken.extend(ids(&entries));
                }
            });
        }
        let all: Vec<String> = takers.join_all().await.into_iter().flatten().collect();
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (40, 40));
    }

    pub async fn an_unreadable_change_keeps_no_other_from_being_given_out(world: World) {
        let infra_env = world.infra_env().await;
        world
            .sql("INSERT INTO outbox (kind, key, id, version, created_at, claimed_until) VALUES ('comet', '1', '0', 1, 0, 0)")
            .await;
        let entries = world
            .store
            .take_from_outbox(at(0), CLAIM, 10, OutboxScope::All)
            .await
            .unwrap();
        let subjects: Vec<_> = entries.iter().map(|entry| entry.subject).collect();
        assert_eq!(subjects, [Subject::InfraEnv(infra_env.id)]);
        assert_eq!(world.store.acknowledge(&ids(&entries)).await.unwrap(), 1);
    }
}
