//! Databases of earlier releases are brought up to date, and everything in them is there. `releases/VERSION.DATABASE.sql` are dumps
//! of what `muster serve` of that version had written (`sqlite3 .dump`, `pg_dump --inserts`), without keys and CRDs.

on_both! {
    the_database_of_a_release_is_brought_up_to_date,
}

mod cases {
    use std::os::unix::fs::PermissionsExt as _;

    use muster_api::host::HostStatus;
    use muster_store::{EventQuery, Kind, Store};
    use sqlx::{AnyConnection, Connection};

    use crate::world::{World, all_hosts};

    const RELEASES: [(&str, &str, &str); 1] = [(
        "0.1.0",
        include_str!("releases/0.1.0.sqlite.sql"),
        include_str!("releases/0.1.0.postgres.sql"),
    )];

    pub async fn the_database_of_a_release_is_brought_up_to_date(world: World) {
        let folder = tempfile::tempdir().unwrap();
        for (release, sqlite, postgres) in RELEASES {
            let (url, dump) = match &world.cluster {
                Some(cluster) => (cluster.create_database(), postgres),
                None => (
                    format!("sqlite://{}/{release}.db", folder.path().display()),
                    sqlite,
                ),
            };
            restore(&url, world.store.kind(), dump).await;
            let missing = Store::pending_migrations(&url).await.unwrap();
            assert!(!missing.is_empty() && missing.iter().all(|one| !one.ends_older_versions));
            let too_old = Store::open_beside_service(&url, None).await.unwrap_err();
            let why = std::error::Error::source(&too_old).unwrap().to_string();
            assert!(why.contains("run muster migrate"), "{why}");
            if world.store.kind() == Kind::Sqlite {
                let copy = folder.path().join("copy.db");
                let schema = Store::copy_file(&url, &copy).await.unwrap();
                assert!(schema < missing[0].version, "{schema}");
                let mode = std::fs::metadata(&copy).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
                let copy = format!("sqlite://{}", copy.display());
                assert_eq!(Store::pending_migrations(&copy).await.unwrap(), missing);
                holds_what_the_release_wrote(&Store::open(&copy).await.unwrap()).await;
            }
            assert_eq!(Store::pending_migrations(&url).await.unwrap(), missing);
            let store = Store::open(&url).await.unwrap();
            assert_eq!(Store::pending_migrations(&url).await.unwrap(), []);
            holds_what_the_release_wrote(&store).await;
        }
    }

    async fn restore(url: &str, kind: Kind, dump: &'static str) {
        let url = match kind {
            Kind::Sqlite => format!("{url}?mode=rwc"),
            Kind::Postgres => url.to_owned(),
        };
        let mut connection = AnyConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(dump).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn holds_what_the_release_wrote(store: &Store) {
        let infra_envs = store.list_infra_envs(None).await.unwrap();
        let [lab] = infra_envs.as_slice() else {
            panic!("{infra_envs:?}")
        };
        assert_eq!(lab.name, "lab");
        assert_eq!(
            lab.settings.proxy.http_proxy.as_deref(),
            Some("http://proxy.example.test:3128")
        );
        assert_eq!(lab.settings.static_network_config.len(), 1);
        let clusters = store.list_clusters(false).await.unwrap();
        let [day2] = clusters.as_slice() else {
            panic!("{} clusters", clusters.len())
        };
        assert_eq!(day2.cluster.data.openshift_version, "4.20.1");
        let found = all_hosts(store, lab.id).await;
        let states: Vec<HostStatus> = found.iter().map(|host| host.state.status()).collect();
        assert_eq!(
            states,
            [
                HostStatus::KnownUnbound,
                HostStatus::Insufficient,
                HostStatus::DiscoveringUnbound
            ]
        );
        let (named, bound) = (&found[0], &found[1]);
        assert_eq!(named.data.requested_hostname.as_deref(), Some("named"));
        assert!(named.inventory.is_some() && named.data.ntp_sources.is_some());
        assert_eq!(bound.cluster_id, Some(day2.cluster.id));
        let peers = store.list_cluster_peers(day2.cluster.id).await.unwrap();
        assert_eq!(peers.iter().map(|peer| peer.id).collect::<Vec<_>>(), [bound.id]);
        let events = store.list_events(&EventQuery::default()).await.unwrap();
        assert_eq!(events.total, 25);
        assert_eq!(events.events.len(), 25);
        // The store can still be used.
        store.save_host(named, None, &[]).await.unwrap();
    }
}
