//! Commands that run next to a service, on tables of other versions.

use std::error::Error as _;
use std::path::Path;

use muster_core::record::Secret;
use sqlx::SqlStr;
use sqlx::migrate::MigrationType;

use super::*;
use crate::operator_token::OperatorToken;
use crate::store::Store;
use crate::vault::Vault;

/// A new database with the migrations up to that version.
async fn database(folder: &Path, last: i64) -> String {
    let url = format!("sqlite://{}/{last}.db", folder.display());
    sqlx::any::install_default_drivers();
    let all = migrator();
    let some = all.iter().filter(|migration| migration.version <= last).cloned();
    let some = Migrator::with_migrations(some.collect());
    apply(&Address::parse(&url).unwrap(), &some).await.unwrap();
    url
}

#[tokio::test]
async fn commands_use_tables_that_suffice_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let url = database(folder.path(), COMMANDS_NEED).await;
    let before = Store::pending_migrations(&url).await.unwrap();
    assert!(!before.is_empty(), "or nothing is shown about older tables");
    let store = Store::open_beside_service(&url, Some(Vault::default()))
        .await
        .unwrap();
    // The queries of muster token and muster kubeconfig.
    let token = OperatorToken {
        id: "t".into(),
        name: "n".into(),
        read_only: false,
        infra_env_id: None,
        created_at: std::time::SystemTime::now().into(),
        expires_at: None,
        revoked_at: None,
    };
    store.insert_operator_token(&token).await.unwrap();
    assert_eq!(store.list_operator_tokens().await.unwrap().len(), 1);
    assert!(store.find_operator_token("t").await.unwrap().is_some());
    assert!(store.revoke_operator_token("t", token.created_at).await.unwrap());
    let sessions = store.list_operator_sessions(token.created_at).await.unwrap();
    assert!(sessions.is_empty() && !store.delete_operator_session("s").await.unwrap());
    assert!(store.list_infra_envs(None).await.unwrap().is_empty());
    let made = store.setting_or_insert("key", token.created_at, || Secret::new("k"));
    let made = made.await.unwrap();
    store.set_setting("key", token.created_at, &made).await.unwrap();
    store.close().await;
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), before);
}

#[tokio::test]
async fn commands_refuse_tables_of_before_and_make_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = database(folder.path(), COMMANDS_NEED - 1).await;
    let before = Store::pending_migrations(&url).await.unwrap();
    let refused = Store::open_beside_service(&url, None).await.unwrap_err();
    let why = refused.source().unwrap().to_string();
    assert!(why.contains("run muster migrate"), "{why}");
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), before);
    let nothing = folder.path().join("nothing.db");
    let url = format!("sqlite://{}", nothing.display());
    Store::open_beside_service(&url, None).await.unwrap_err();
    assert!(!nothing.exists());
}

#[test]
fn commands_wait_for_a_migration_that_takes_away() {
    let of = |version: i64, description: &'static str| {
        Migration::new(
            version,
            description.into(),
            MigrationType::Simple,
            SqlStr::from_static(""),
            false,
        )
    };
    let known = Migrator::with_migrations(vec![
        of(COMMANDS_NEED, "tokens"),
        of(COMMANDS_NEED + 1, "adds"),
        of(COMMANDS_NEED + 2, "contract drops"),
        of(COMMANDS_NEED + 3, "adds"),
    ]);
    let with = |applied: &[i64]| {
        let applied = applied
            .iter()
            .map(|more| (COMMANDS_NEED + more, "applied".to_owned()));
        require(applied.collect(), &known)
    };
    with(&[0, 1, 2, 3]).unwrap();
    with(&[0, 1, 2]).unwrap();
    with(&[0, 1, 2, 3, 4]).unwrap();
    assert!(matches!(with(&[0, 1]), Err(NotUpToDate::Behind)));
    assert!(matches!(with(&[]), Err(NotUpToDate::Behind)));
    let taken = vec![(COMMANDS_NEED + 9, "contract drops more".to_owned())];
    assert!(matches!(
        require(taken, &known),
        Err(NotUpToDate::Contracted { .. })
    ));
}
