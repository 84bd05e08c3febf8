//! Tokens that were made for operators.

on_both! {
    a_revoked_token_stays_revoked_on_every_replica,
}

mod cases {
    use muster_api::ids::InfraEnvId;
    use muster_store::OperatorToken;

    use crate::world::{World, at};

    pub async fn a_revoked_token_stays_revoked_on_every_replica(world: World) {
        let token = |id: &str, seconds| OperatorToken {
            id: id.into(),
            name: "ci".into(),
            read_only: true,
            infra_env_id: Some(InfraEnvId::random()),
            created_at: at(seconds),
            expires_at: Some(at(100)),
            revoked_at: None,
        };
        let (first, second) = (token("b", 0), token("a", 1));
        for token in [&second, &first] {
            world.store.insert_operator_token(token).await.unwrap();
        }
        let other = world.another_store().await;
        assert_eq!(
            other.list_operator_tokens().await.unwrap(),
            [first.clone(), second.clone()]
        );
        assert!(world.store.revoke_operator_token("b", at(5)).await.unwrap());
        assert!(!world.store.revoke_operator_token("b", at(6)).await.unwrap());
        assert!(!world.store.revoke_operator_token("c", at(6)).await.unwrap());
        let found = other.find_operator_token("b").await.unwrap().unwrap();
        assert_eq!(found.revoked_at, Some(at(5)));
        assert_eq!(other.find_operator_token("a").await.unwrap(), Some(second));
        assert_eq!(other.find_operator_token("c").await.unwrap(), None);
    }
}
