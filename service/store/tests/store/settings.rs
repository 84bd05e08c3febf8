//! Shared values that are made once.

on_both! {
    a_setting_is_made_once_and_stays,
    replicas_that_start_at_once_agree,
}

mod cases {
    use std::collections::BTreeSet;

    use muster_core::record::Secret;

    use crate::world::{World, at};

    pub async fn a_setting_is_made_once_and_stays(world: World) {
        assert!(world.store.setting("auth-key").await.unwrap().is_none());
        let made = world
            .store
            .setting_or_insert("auth-key", at(0), || Secret::new("one"))
            .await
            .unwrap();
        assert_eq!(made.reveal(), "one");
        let before = world.store.statement_counts().writes;
        let kept = world
            .store
            .setting_or_insert("auth-key", at(0), || panic!("there is one"))
            .await
            .unwrap();
        assert_eq!(
            (kept.reveal(), world.store.statement_counts().writes),
            ("one", before)
        );
        assert_eq!(
            world.another_store().await.setting("auth-key").await.unwrap(),
            Some(Secret::new("one"))
        );
    }

    pub async fn replicas_that_start_at_once_agree(world: World) {
        let mut replicas = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = world.another_store().await;
            replicas.spawn(async move {
                let value = store
                    .setting_or_insert("key", at(0), || Secret::new(number.to_string()))
                    .await;
                store.close().await;
                value.unwrap().reveal().to_owned()
            });
        }
        let values: BTreeSet<String> = replicas.join_all().await.into_iter().collect();
        assert_eq!(values.len(), 1, "{values:?}");
    }
}
