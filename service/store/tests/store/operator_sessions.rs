//! Sessions of operators, and the links by which they begin.

on_both! {
    a_session_is_found_with_its_token_until_it_is_deleted,
    a_session_replaces_others,
    a_link_is_taken_once_and_in_time,
    a_token_keeps_its_newest_sessions,
    ended_sessions_and_links_are_deleted,
}

mod cases {
    use muster_store::{Aging, OperatorLink, OperatorSession, OperatorToken, Store};

    use crate::world::{World, at};

    async fn token(store: &Store, id: &str) -> OperatorToken {
        let token = OperatorToken {
            id: id.into(),
            name: "ci".into(),
            read_only: true,
            infra_env_id: None,
            created_at: at(0),
            expires_at: Some(at(100)),
            revoked_at: None,
        };
        store.insert_operator_token(&token).await.unwrap();
        token
    }

    fn session(id: &str, token_id: &str, seconds: i64) -> OperatorSession {
        OperatorSession {
            id: id.into(),
            token_id: token_id.into(),
            created_at: at(seconds),
            expires_at: at(seconds + 50),
        }
    }

    fn link(digest: &str, seconds: i64) -> OperatorLink {
        OperatorLink {
            digest: digest.into(),
            token_id: "t".into(),
            created_at: at(seconds),
            expires_at: at(seconds + 60),
        }
    }

    pub async fn a_session_is_found_with_its_token_until_it_is_deleted(world: World) {
        let store = &world.store;
        let other = world.another_store().await;
        let parent = token(store, "t").await;
        let (first, second) = (session("b", "t", 0), session("a", "t", 1));
        store
            .insert_operator_session(&second, "digest of a", &[])
            .await
            .unwrap();
        store
            .insert_operator_session(&first, "digest of b", &[])
            .await
            .unwrap();
        assert_eq!(
            other.find_operator_session("digest of b").await.unwrap(),
            Some((first.clone(), parent))
        );
        assert_eq!(other.find_operator_session("b").await.unwrap(), None);
        assert_eq!(
            other.list_operator_sessions(at(10)).await.unwrap(),
            [first, second.clone()]
        );
        assert_eq!(other.list_operator_sessions(at(50)).await.unwrap(), [second]);

        assert!(store.revoke_operator_token("t", at(5)).await.unwrap());
        let (_, revoked) = other.find_operator_session("digest of b").await.unwrap().unwrap();
        assert!(revoked.is_in_force(at(4)) && !revoked.is_in_force(at(5)));

        assert!(store.delete_operator_session("b").await.unwrap());
        assert!(!store.delete_operator_session("b").await.unwrap());
        assert_eq!(other.find_operator_session("digest of b").await.unwrap(), None);
        assert!(
            other
                .find_operator_session("digest of a")
                .await
                .unwrap()
                .is_some()
        );
    }

    pub async fn a_session_replaces_others(world: World) {
        let store = &world.store;
        token(store, "t").await;
        for id in ["a", "b"] {
            let one = session(id, "t", 0);
            store.insert_operator_session(&one, id, &[]).await.unwrap();
        }
        let replaced = ["a".to_owned(), "none".to_owned()];
        let next = session("c", "t", 1);
        store
            .insert_operator_session(&next, "c", &replaced)
            .await
            .unwrap();
        let left = store.list_operator_sessions(at(2)).await.unwrap();
        let left: Vec<&str> = left.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(left, ["b", "c"]);
        // One that is refused leaves them.
        store
            .insert_operator_session(&next, "d", &["b".to_owned()])
            .await
            .unwrap_err();
        assert_eq!(store.list_operator_sessions(at(2)).await.unwrap().len(), 2);
    }

    pub async fn a_link_is_taken_once_and_in_time(world: World) {
        let store = &world.store;
        let other = world.another_store().await;
        for digest in ["in time", "late", "by two"] {
            store.insert_operator_link(&link(digest, 0)).await.unwrap();
        }
        assert_eq!(
            other.take_operator_link("in time", at(59)).await.unwrap(),
            Some("t".into())
        );
        assert_eq!(store.take_operator_link("in time", at(59)).await.unwrap(), None);
        assert_eq!(store.take_operator_link("late", at(60)).await.unwrap(), None);
        assert_eq!(store.take_operator_link("unknown", at(1)).await.unwrap(), None);
        let both = tokio::join!(
            store.take_operator_link("by two", at(1)),
            other.take_operator_link("by two", at(1))
        );
        let taken = [both.0.unwrap(), both.1.unwrap()];
        assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
    }

    pub async fn a_token_keeps_its_newest_sessions(world: World) {
        let store = &world.store;
        token(store, "t").await;
        token(store, "other").await;
        let id = |number: i64| format!("s{number:02}");
        store
            .insert_operator_session(&session("of other", "other", 0), "of other", &[])
            .await
            .unwrap();
        for number in 0..66 {
            let one = session(&id(number), "t", number);
            store
                .insert_operator_session(&one, &format!("digest of {number}"), &[])
                .await
                .unwrap();
            store
                .insert_operator_link(&link(&format!("link {number}"), number))
                .await
                .unwrap();
        }
        let kept = store.list_operator_sessions(at(0)).await.unwrap();
        let kept: Vec<_> = kept.into_iter().map(|session| session.id).collect();
        let newest = (2..66).map(id);
        assert_eq!(
            kept,
            ["of other".to_owned()]
                .into_iter()
                .chain(newest)
                .collect::<Vec<_>>()
        );
        assert_eq!(store.count_rows(Aging::Links).await.unwrap(), 64);
        assert_eq!(store.take_operator_link("link 1", at(1)).await.unwrap(), None);
    }

    pub async fn ended_sessions_and_links_are_deleted(world: World) {
        let store = &world.store;
        for (id, seconds) in [("a", 0), ("b", 10)] {
            store
                .insert_operator_session(&session(id, "t", seconds), id, &[])
                .await
                .unwrap();
            store.insert_operator_link(&link(id, seconds)).await.unwrap();
        }
        for (what, ended) in [(Aging::Sessions, at(51)), (Aging::Links, at(61))] {
            assert_eq!(store.delete_old(what, ended).await.unwrap(), (1, false));
            assert_eq!(store.count_rows(what).await.unwrap(), 1);
        }
    }
}
