//! `muster restore`: makes the data dir of a service from a backup.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use muster_store::Store;

use super::part::rename_for_good;
use super::{DATABASE, DataArgs, RESTORE_PART, archive};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::serve::data_lock::DataLock;
use crate::settings::default_database_url;

/// The file to restore, and the data dir.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// A file that `muster backup` made
    file: PathBuf,

    #[command(flatten)]
    data: DataArgs,
}

/// Restores the backup: whole, or not at all.
pub async fn run(args: RestoreArgs) -> Result<()> {
    make(args, &|_| ()).await
}

/// The steps of [`make`], in order, if the backup has key files besides the database.
#[cfg(test)]
pub(super) const STEPS: [&str; 5] = ["begun", "unpacked", "migrated", "moved keys", "moved"];

/// Calls `reached` after each step, where a test ends the process.
pub(super) async fn make(args: RestoreArgs, reached: &dyn Fn(&str)) -> Result<()> {
    args.data.refuse_postgres(&format!(
        "pg_restore --clean --if-exists --dbname=\"$MUSTER_DATABASE_URL\" {}",
        args.file.display()
    ))?;
    let dir = &args.data.dir.data_dir;
    let named = || format!("--data-dir {} cannot be made", dir.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(named)?;
    let _lock = DataLock::take(dir)?;
    // Left by an attempt that was interrupted.
    let part = dir.join(RESTORE_PART);
    let _ = std::fs::remove_dir_all(&part);
    if dir.join(DATABASE).exists() {
        return Err(
            Failure::refused(format!("{} holds a database already", dir.display()))
                .hint(format!(
                    "move it away first, with what belongs to it: {}/{DATABASE}*",
                    dir.display()
                ))
                .into(),
        );
    }
    DirBuilder::new().mode(0o700).create(&part).with_context(named)?;
    reached("begun");
    let restored = unpack(&args.file, &part, reached)
        .await
        .and_then(|names| move_all(&names, &part, dir, reached));
    // It was made by this process, and is of no more use.
    let _ = std::fs::remove_dir_all(&part);
    restored?;
    print(&format!(
        "{} holds what was backed up: muster serve --data-dir {}\n",
        dir.display(),
        dir.display()
    ));
    Ok(())
}

/// Unpacks into `part`, and migrates the database there; returns the names, the database's last.
async fn unpack(file: &Path, part: &Path, reached: &dyn Fn(&str)) -> Result<Vec<&'static str>> {
    let unpacked = archive::unpack(file, part)?;
    reached("unpacked");
    let checked = Store::check_file(&part.join(DATABASE)).await;
    checked.with_context(|| format!("{} cannot be restored", file.display()))?;
    let store = Store::open(&default_database_url(part)).await;
    let store = store.with_context(|| {
        let by = unpacked.manifest.map_or_else(String::new, |manifest| {
            format!(
                ", which muster {} wrote with tables of migration {}",
                manifest.muster, manifest.schema
            )
        });
        format!("the database of the backup{by} cannot be used")
    })?;
    store.close().await;
    reached("migrated");
    Ok(unpacked.names)
}

/// Moves the database last: until then the folder does not count as a data dir.
fn move_all(names: &[&str], part: &Path, dir: &Path, reached: &dyn Fn(&str)) -> Result<()> {
    for name in names {
        if *name == DATABASE {
            reached("moved keys");
        }
        rename_for_good(&part.join(name), &dir.join(name))?;
    }
    reached("moved");
    Ok(())
}
