//! The tables are brought up to date by a command, too.

use std::process::Command;

use muster_tests::postgres::Postgres;
use muster_tests::process::{command, run};

fn migrate(database: &str, more: &[&str]) -> String {
    let mut migrate: Command = command(env!("CARGO_BIN_EXE_muster"));
    migrate.args(["migrate", "--database-url", database]).args(more);
    run(&mut migrate)
}

#[test]
fn a_check_tells_what_migrate_does_and_does_nothing() {
    let postgres = Postgres::shared();
    let database = postgres.create_database();
    let name = database.rsplit('/').next().unwrap_or_default();
    let tables = || postgres.query(name, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    let told = migrate(&database, &["--check"]);
    assert!(
        told.contains("would apply 20261121145500 hosts infra envs and their events\n"),
        "{told}"
    );
    assert_eq!(tables().trim(), "0");
    let done = migrate(&database, &[]);
    assert_eq!(done, told.replace("would apply", "applied"));
    assert_ne!(tables().trim(), "0");
    for more in [&["--check"][..], &[]] {
        assert_eq!(migrate(&database, more), "the database is up to date\n");
    }
}
