//! Who requested which change: the newest entries, in their order.

on_both! {
    entries_come_back_in_their_order_with_the_names_of_their_objects,
    the_newest_entries_are_kept,
    two_replicas_number_their_entries_without_gaps,
    entries_are_added_while_the_table_is_maintained,
}

mod cases {
    use muster_api::audit::AuditObject;
    use muster_api::ids::{HostId, InfraEnvId};
    use muster_api::time::millis;
    use muster_store::audit::kind;
    use muster_store::{AuditEntry, AuditPart, AuditedObject, Kind};
    use sqlx::{AnyConnection, Connection as _};

    use crate::world::{World, at, host, registered};

    fn entry(operation: &str, object: AuditedObject) -> AuditEntry {
        AuditEntry {
            at: at(7),
            request_id: "request-1".into(),
            who: "ci".into(),
            token_id: Some("t".into()),
            session_id: Some("s".into()),
            method: "PATCH".into(),
            operation: operation.into(),
            object,
            status: 409,
        }
    }

    fn plain(operation: &str) -> AuditEntry {
        entry(operation, AuditedObject::default())
    }

    /// The numbers of a part, with whether there are more.
    async fn numbers(world: &World, part: AuditPart, most: usize) -> (Vec<i64>, bool) {
        let (entries, more) = world.store.audit_entries(part, most).await.unwrap();
        (entries.iter().map(|entry| entry.number).collect(), more)
    }

    pub async fn entries_come_back_in_their_order_with_the_names_of_their_objects(world: World) {
        let store = &world.store;
        let infra_env = world.infra_env().await;
        let cluster = world.cluster_record().await;
        let mut host = host(infra_env.id);
        host.data.reported_hostname = "node-1".into();
        store.insert_host(&host, &registered(), &[]).await.unwrap();
        let objects = [
            AuditedObject {
                kind: kind::INFRA_ENV,
                id: infra_env.id.to_string(),
                infra_env_id: None,
            },
            AuditedObject {
                kind: kind::CLUSTER,
                id: cluster.id.to_string(),
                infra_env_id: None,
            },
            AuditedObject {
                kind: kind::HOST,
                id: host.id.to_string(),
                infra_env_id: Some(infra_env.id),
            },
            AuditedObject {
                kind: kind::HOST,
                id: HostId::random().to_string(),
                infra_env_id: Some(InfraEnvId::random()),
            },
        ];
        let mut entries: Vec<AuditEntry> = objects
            .iter()
            .map(|object| entry("UpdateIt", object.clone()))
            .collect();
        entries.push(plain("RegisterInfraEnv"));
        store.add_audit_entries(&entries, Some(1000)).await.unwrap();

        let (found, more) = store.audit_entries(AuditPart::After(0), 10).await.unwrap();
        assert!(!more);
        let first = &found[0];
        assert_eq!((first.number, &first.at), (1, &millis(Some(at(7)))));
        assert_eq!(
            (
                first.request_id.as_str(),
                first.who.as_str(),
                first.method.as_str()
            ),
            ("request-1", "ci", "PATCH")
        );
        assert_eq!(
            (
                first.token_id.as_deref(),
                first.session_id.as_deref(),
                first.status
            ),
            (Some("t"), Some("s"), 409)
        );
        let names = ["hw", "day2", "node-1", ""];
        for ((entry, object), name) in found.iter().zip(&objects).zip(names) {
            let wanted = AuditObject {
                kind: object.kind.to_owned(),
                id: object.id.clone(),
                name: name.to_owned(),
                infra_env_id: object.infra_env_id,
            };
            assert_eq!(entry.object, Some(wanted));
        }
        assert_eq!(
            (found[4].operation.as_str(), &found[4].object),
            ("RegisterInfraEnv", &None)
        );
    }

    pub async fn the_newest_entries_are_kept(world: World) {
        let store = &world.store;
        store.add_audit_entries(&[], Some(3)).await.unwrap();
        assert_eq!(numbers(&world, AuditPart::Newest, 10).await, (Vec::new(), false));
        let five: Vec<AuditEntry> = (0..5).map(|number| plain(&number.to_string())).collect();
        store.add_audit_entries(&five, None).await.unwrap();
        assert_eq!(
            numbers(&world, AuditPart::Newest, 10).await,
            (vec![1, 2, 3, 4, 5], false)
        );
        store.add_audit_entries(&[plain("5")], Some(3)).await.unwrap();
        assert_eq!(
            numbers(&world, AuditPart::Newest, 10).await,
            (vec![4, 5, 6], false)
        );
        assert_eq!(numbers(&world, AuditPart::Newest, 2).await, (vec![5, 6], true));
        assert_eq!(numbers(&world, AuditPart::Before(6), 1).await, (vec![5], true));
        assert_eq!(
            numbers(&world, AuditPart::Before(4), 5).await,
            (Vec::new(), false)
        );
        assert_eq!(numbers(&world, AuditPart::After(0), 2).await, (vec![4, 5], true));
        assert_eq!(numbers(&world, AuditPart::After(5), 2).await, (vec![6], false));
    }

    pub async fn two_replicas_number_their_entries_without_gaps(world: World) {
        let other = world.another_store().await;
        let of = |who: &str| {
            let entry = AuditEntry {
                who: who.to_owned(),
                ..plain("UpdateIt")
            };
            vec![entry; 20]
        };
        let (own, others) = (of("one"), of("two"));
        let (one, two) = tokio::join!(
            world.store.add_audit_entries(&own, None),
            other.add_audit_entries(&others, None)
        );
        one.unwrap();
        two.unwrap();
        let wanted: Vec<i64> = (1..=40).collect();
        assert_eq!(numbers(&world, AuditPart::After(0), 100).await, (wanted, false));
    }

    pub async fn entries_are_added_while_the_table_is_maintained(world: World) {
        if world.store.kind() != Kind::Postgres {
            return;
        }
        let mut maintenance = AnyConnection::connect(&world.url).await.unwrap();
        // The lock of `VACUUM` and `ANALYZE`.
        for statement in ["BEGIN", "LOCK TABLE audit_entries IN SHARE UPDATE EXCLUSIVE MODE"] {
            sqlx::query(statement).execute(&mut maintenance).await.unwrap();
        }
        world
            .store
            .add_audit_entries(&[plain("UpdateIt")], Some(3))
            .await
            .unwrap();
        assert_eq!(numbers(&world, AuditPart::After(0), 10).await, (vec![1], false));
        maintenance.close().await.unwrap();
    }
}
