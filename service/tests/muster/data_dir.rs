//! A data dir belongs to one service.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::process::Command;
use std::time::Duration;

use muster_tests::condition::await_condition;
use muster_tests::process::{Signal, output_within, run};

use crate::world::{LIMIT, World, serve};

#[test]
fn a_second_service_is_told_who_has_the_data_dir_and_breaks_nothing() {
    let mut world = World::start();
    let kubeconfig = world.data_dir().join("kubeconfig");
    let before = fs::read_to_string(&kubeconfig).unwrap();
    let second = output_within(&mut serve(&world.data_dir()), b"", Duration::from_secs(60));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success(), "{said}");
    let expected = format!("the service with pid {} has this data dir", world.service.id());
    assert!(said.contains(&expected) && said.contains("--data-dir"), "{said}");
    assert_eq!(fs::read_to_string(&kubeconfig).unwrap(), before);
    world.kubectl().run(&["get", "namespaces"]);

    // A service that ended releases the data dir, however it ended.
    world.service.kill();
    let again = world.start_again();
    again.kubectl().run(&["get", "namespaces"]);
}

#[test]
fn an_empty_database_in_a_data_dir_that_was_used_is_no_new_installation() {
    let mut world = World::start();
    world.service.signal(Signal::SIGTERM);
    world.service.await_exit(LIMIT);
    let database = world.data_dir().join("muster.db");
    fs::write(&database, "").unwrap();
    let mut migrate = Command::new(env!("CARGO_BIN_EXE_muster"));
    migrate.args(["migrate", "--data-dir"]).arg(world.data_dir());
    for mut refused in [serve(&world.data_dir()), migrate] {
        let refused = output_within(&mut refused, b"", LIMIT);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && said.contains("muster.db is empty"),
            "{said}"
        );
        assert_eq!(database.metadata().unwrap().len(), 0);
    }
    // Removing the file is how an operator starts over.
    fs::remove_file(&database).unwrap();
    world.start_again();
}

/// Any request that reads a damaged page fails, and `/ready` reports it.
#[test]
fn a_damaged_database_is_not_ready_from_the_first_statement_that_meets_it() {
    let local = ["--auth", "local"];
    let mut world = World::start_with(&local);
    let data_dir = world.data_dir();
    let folder = data_dir.display().to_string();
    let made = world.muster(&["token", "create", "--operator", "--data-dir", &folder]);
    let token = String::from_utf8(made.stdout).unwrap();
    world.service.signal(Signal::SIGTERM);
    world.service.await_exit(LIMIT);
    // Nothing reads this table but a request with an operator's token.
    let path = data_dir.join("muster.db");
    let page = "SELECT (rootpage - 1) * page_size FROM sqlite_master, pragma_page_size() WHERE name = 'operator_tokens'";
    let page = run(Command::new("sqlite3").arg(&path).arg(page));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xa5; 4096], page.trim().parse().unwrap())
        .unwrap();

    let world = world.start_again_with(&local);
    let ready = || world.rest().request("GET", "/ready", None);
    ready().expect(200);
    world
        .rest()
        .with_token(token.trim())
        .get("/infra-envs")
        .expect(500);
    let told = ready().expect(503).json();
    assert!(
        told["database"].as_str().unwrap().starts_with("damaged"),
        "{told}"
    );
    world.rest().request("GET", "/health", None).expect(200);
    let backup = data_dir.with_file_name("b.tar").display().to_string();
    let back_up = world.muster(&["backup", &backup, "--data-dir", &folder]);
    let said = String::from_utf8_lossy(&back_up.stderr).into_owned();
    assert!(
        !back_up.status.success() && said.contains("the database is damaged"),
        "{said}"
    );
}

#[test]
fn what_the_service_makes_in_its_data_dir_is_its_owners() {
    let image = r#"[{"openshift_version":"4.19","cpu_architecture":"x86_64","version":"1","url":"http://127.0.0.1:1/live.iso"}]"#;
    let world = World::start_with(&["--os-images", image]);
    let images = world.data_dir().join("os-images");
    await_condition("the folder of images", LIMIT, || {
        images
            .exists()
            .then_some(())
            .ok_or_else(|| "it is not there".to_owned())
    });
    let entries: Vec<_> = fs::read_dir(world.data_dir()).unwrap().collect();
    assert!(entries.len() >= 5, "{entries:?}");
    for entry in entries {
        // Some exist for a moment only.
        let entry = entry.unwrap();
        let Ok(found) = entry.metadata() else { continue };
        let mode = found.permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
    }
}
