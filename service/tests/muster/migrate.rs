//! The tables are brought up to date by a command, too.

use std::process::Command;

use muster_tests::database::postgres::Postgres;
use muster_tests::process::{command, output_within, run};

use crate::world::{LIMIT, serve};

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

#[test]
fn a_password_among_the_arguments_is_warned_of_and_not_repeated() {
    let url = "postgres://me:hunter2@127.0.0.1:1/none?sslmode=nonsense";
    let folder = tempfile::tempdir().unwrap();
    let mut migrate: Command = command(env!("CARGO_BIN_EXE_muster"));
    migrate.arg("migrate");
    for mut program in [migrate, serve(&folder.path().join("data"))] {
        program.env("MUSTER_DATABASE_URL", url);
        let said = |program: &mut Command| {
            let ended = output_within(program, b"", LIMIT);
            assert!(!ended.status.success());
            let said = [ended.stdout, ended.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(!said.contains("hunter2"), "{said}");
            said
        };
        let quiet = said(&mut program);
        assert!(!quiet.contains("can read the arguments"), "{quiet}");
        let warned = said(program.args(["--database-url", url]));
        assert!(warned.contains("can read the arguments"), "{warned}");
    }
}
