//! A disk that fills up, and gets space again. The disk is a tmpfs, so this needs root.

use std::path::Path;

use muster_core::record::NewEvent;
use muster_store::{EventQuery, Store, StoreError};
use muster_tests::database::postgres::Postgres;
use nix::mount::{MsFlags, mount, umount};
use nix::unistd::User;
use tempfile::TempDir;

use crate::world::{event, host, infra_env, registered};

struct TinyDisk {
    folder: TempDir,
}

impl TinyDisk {
    fn new(kibibytes: u32) -> Self {
        let disk = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        disk.mount(MsFlags::empty(), kibibytes);
        disk
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn grow(&self, kibibytes: u32) {
        self.mount(MsFlags::MS_REMOUNT, kibibytes);
    }

    fn mount(&self, flags: MsFlags, kibibytes: u32) {
        let size = format!("size={kibibytes}k");
        mount(
            Some("tmpfs"),
            self.path(),
            Some("tmpfs"),
            flags,
            Some(size.as_str()),
        )
        .expect("a tmpfs is mounted: this test needs root (CAP_SYS_ADMIN)");
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        if let Err(error) = umount(self.path()) {
            eprintln!("{} stays mounted: {error}", self.path().display());
        }
    }
}

#[tokio::test]
async fn sqlite_lives_through_a_full_disk() {
    let disk = TinyDisk::new(2048);
    let store = Store::open(&format!("sqlite://{}/muster.db", disk.path().display()))
        .await
        .unwrap();
    fill_then_grow(&store, &disk).await;
    store.close().await;
}

#[tokio::test]
async fn postgres_lives_through_a_full_disk() {
    let disk = TinyDisk::new(12 * 1024);
    let tables = disk.path().join("tables");
    std::fs::create_dir(&tables).unwrap();
    std::fs::set_permissions(disk.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let owner = User::from_name("postgres")
        .unwrap()
        .expect("the user postgres: install the package postgresql");
    std::os::unix::fs::chown(&tables, Some(owner.uid.as_raw()), Some(owner.gid.as_raw())).unwrap();
    // Its own cluster: a tablespace is a cluster's, and must be gone before the disk is.
    let cluster = Postgres::start();
    cluster.query(
        "postgres",
        &format!("CREATE TABLESPACE tiny LOCATION '{}'", tables.display()),
    );
    cluster.query("postgres", "CREATE DATABASE muster TABLESPACE tiny");
    let store = Store::open(&cluster.url("muster")).await.unwrap();
    fill_then_grow(&store, &disk).await;
    store.close().await;
    drop(cluster);
}

async fn fill_then_grow(store: &Store, disk: &TinyDisk) {
    let record = infra_env();
    store.insert_infra_env(&record, &[]).await.unwrap();
    let mut stored = 0;
    let full = loop {
        let mut new = host(record.id);
        new.data.status_info = "x".repeat(2000);
        let told: Vec<NewEvent> = (0..8).map(|n| event(n, &"long ".repeat(800))).collect();
        match store.insert_host(&new, &registered(), &told).await {
            Ok(_) => stored += 1,
            Err(error) => break (error, new, told),
        }
        assert!(stored < 10_000, "the disk never fills");
    };
    let (error, new, told) = full;
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(
        error.is_temporary() && error.to_string().contains("no space left"),
        "{error}"
    );

    // What was stored can be read, and nothing of the failed change is there.
    store.ping().await.unwrap();
    assert!(store.find_infra_env(record.id).await.unwrap().is_some());
    assert_eq!(store.find_host(record.id, new.id).await.unwrap(), None);
    let counts = || async {
        store
            .list_events(&EventQuery {
                limit: 0,
                ..Default::default()
            })
            .await
            .unwrap()
            .total
    };
    assert_eq!(counts().await, stored * 8);

    disk.grow(64 * 1024);
    store
        .insert_host(&new, &registered(), &told)
        .await
        .expect("there is space again");
    assert_eq!(counts().await, (stored + 1) * 8);
    assert_eq!(
        store.list_host_briefs(None).await.unwrap().len() as i64,
        stored + 1
    );
}
