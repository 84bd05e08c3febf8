//! Backups and restores that are killed at each of their steps. The killed process is this program of tests, started again with
//! [`work_until_killed`] alone.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser;
use muster_core::record::Secret;
use muster_operations::now;
use muster_store::Store;
use rustix::process::{Signal, getpid, kill_process};

use super::{DATABASE, RESTORE_PART, backup, restore};
use crate::serve::emptied::refuse_emptied;
use crate::settings::default_database_url;

/// The name of the process's test.
const WORKER: &str = "cli::data::killed::work_until_killed";

/// Variables of the process.
const COMMAND: &str = "KILLED_COMMAND";
const STEP: &str = "KILLED_STEP";
const FILE: &str = "KILLED_FILE";
const DIR: &str = "KILLED_DIR";

/// A setting of the database that is backed up, and a key file in its folder.
const SETTING: &str = "canary";
const KEY: &str = "kube-ca.crt";

#[derive(Parser)]
struct Backup {
    #[command(flatten)]
    args: backup::BackupArgs,
}

#[derive(Parser)]
struct Restore {
    #[command(flatten)]
    args: restore::RestoreArgs,
}

/// `reached` is called after each step.
async fn work(command: &str, file: &Path, dir: &Path, reached: &dyn Fn(&str)) -> anyhow::Result<()> {
    let words = [
        OsStr::new(command),
        file.as_os_str(),
        OsStr::new("--data-dir"),
        dir.as_os_str(),
    ];
    match command {
        "backup" => backup::make(Backup::parse_from(words).args, reached).await,
        _ => restore::make(Restore::parse_from(words).args, reached).await,
    }
}

#[tokio::test]
#[ignore = "no test: the process that is killed, started by the others"]
async fn work_until_killed() {
    let variable = |name| std::env::var(name);
    let (Ok(command), Ok(step), Ok(file), Ok(dir)) =
        (variable(COMMAND), variable(STEP), variable(FILE), variable(DIR))
    else {
        return;
    };
    let reached = |now: &str| {
        if now == step {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    };
    work(&command, file.as_ref(), dir.as_ref(), &reached)
        .await
        .unwrap();
}

fn is_killed_at(command: &str, step: &str, file: &Path, dir: &Path) {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WORKER, "--ignored"])
        .env(COMMAND, command)
        .env(STEP, step)
        .env(FILE, file)
        .env(DIR, dir)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(
        ended.signal(),
        Some(Signal::KILL.as_raw()),
        "{command} at {step:?}"
    );
}

async fn data_dir(dir: &Path) {
    fs::create_dir(dir).unwrap();
    let store = Store::open(&default_database_url(dir)).await.unwrap();
    store
        .set_setting(SETTING, now(), &Secret::new("sung"))
        .await
        .unwrap();
    store.close().await;
    fs::write(dir.join(KEY), "a certificate").unwrap();
}

async fn is_whole(dir: &Path) {
    let store = Store::open(&default_database_url(dir)).await.unwrap();
    let sung = store.setting(SETTING).await.unwrap().unwrap();
    assert_eq!(sung.reveal(), "sung");
    store.close().await;
    assert_eq!(fs::read_to_string(dir.join(KEY)).unwrap(), "a certificate");
    assert!(!dir.join(RESTORE_PART).exists());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

#[tokio::test]
async fn a_killed_backup_is_whole_or_none_and_leaves_nothing_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("data");
    data_dir(&dir).await;
    for step in backup::STEPS {
        let place = folder.path().join(step);
        fs::create_dir(&place).unwrap();
        let file = place.join("b.tar");
        is_killed_at("backup", step, &file, &dir);
        let copy = place.join("b.tar.muster-part").join(DATABASE);
        if step == "copied" {
            assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(file.exists(), step == "renamed", "{step}");
        let again = work("backup", &file, &dir, &|_| ()).await;
        match step {
            "renamed" => assert!(again.unwrap_err().to_string().contains("is there already")),
            _ => again.unwrap(),
        }
        assert_eq!(names(&place), ["b.tar"], "{step}");
        let restored = place.join("restored");
        work("restore", &file, &restored, &|_| ()).await.unwrap();
        is_whole(&restored).await;
    }
}

#[tokio::test]
async fn a_killed_restore_is_done_again_and_nothing_begins_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, file) = (folder.path().join("data"), folder.path().join("b.tar"));
    data_dir(&dir).await;
    work("backup", &file, &dir, &|_| ()).await.unwrap();
    for step in restore::STEPS {
        let dir = folder.path().join(step);
        is_killed_at("restore", step, &file, &dir);
        let may_begin = refuse_emptied(&dir, &default_database_url(&dir));
        assert_eq!(may_begin.is_ok(), step == "moved", "{step}");
        let again = work("restore", &file, &dir, &|_| ()).await;
        match step {
            "moved" => assert!(
                again
                    .unwrap_err()
                    .to_string()
                    .contains("holds a database already")
            ),
            _ => again.unwrap(),
        }
        is_whole(&dir).await;
    }
}
