//! `muster restore`: makes the data dir of a service from a backup.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use muster_store::Store;

use super::data::{DATABASE, DataArgs};
use super::failure::Failure;
use super::output::print;
use crate::authority::EARLIER_FILES;
use crate::serve::data_lock::DataLock;
use crate::settings::default_database_url;

/// From which file, and where to.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// A file that `muster backup` made
    file: PathBuf,

    #[command(flatten)]
    data: DataArgs,
}

/// Restores it: whole, or not at all.
pub async fn run(args: RestoreArgs) -> Result<()> {
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
    let part = dir.join("restore.part");
    let restored = unpack(&args.file, &part).await.and_then(|names| {
        for name in names {
            std::fs::rename(part.join(name), dir.join(name))?;
        }
        Ok(())
    });
    // It is ours, and of no use any more.
    let _ = std::fs::remove_dir_all(&part);
    restored?;
    print(&format!(
        "{} holds what was backed up: muster serve --data-dir {}\n",
        dir.display(),
        dir.display()
    ));
    Ok(())
}

/// Unpacks into `part`, and opens the database there; tells the names, the database's last.
async fn unpack(file: &Path, part: &Path) -> Result<Vec<&'static str>> {
    // Of an attempt that was cut off.
    let _ = std::fs::remove_dir_all(part);
    DirBuilder::new().mode(0o700).create(part)?;
    let no_backup = || {
        Failure::usage(format!(
            "{} is no backup: muster backup makes one",
            file.display()
        ))
    };
    let from = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let mut names = Vec::new();
    let mut archive = tar::Archive::new(from);
    for entry in archive.entries().map_err(|_| no_backup())? {
        let mut entry = entry.map_err(|_| no_backup())?;
        let path = entry.path().map_err(|_| no_backup())?.into_owned();
        let known = EARLIER_FILES
            .iter()
            .chain([&DATABASE])
            .find(|name| Path::new(name) == path);
        let name = *known.ok_or_else(no_backup)?;
        let out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(part.join(name));
        let mut out = out.with_context(|| format!("{name} cannot be written"))?;
        std::io::copy(&mut entry, &mut out).with_context(|| format!("{name} cannot be written"))?;
        out.sync_all()?;
        names.push(name);
    }
    if !names.contains(&DATABASE) {
        return Err(no_backup().into());
    }
    let store = Store::open(&default_database_url(part)).await;
    store
        .context("the database of the backup cannot be used")?
        .close()
        .await;
    names.sort_by_key(|name| *name == DATABASE);
    Ok(names)
}
