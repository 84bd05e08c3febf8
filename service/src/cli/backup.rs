//! `muster backup`: the database, which all keys are in, as one file, while the service runs.

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

/// Where to, and of what.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The new file: a tar archive. Keys are in it; only its owner can read it
    file: PathBuf,

    #[command(flatten)]
    data: DataArgs,
}

/// Writes it.
pub async fn run(args: BackupArgs) -> Result<()> {
    let file = &args.file;
    args.data.refuse_postgres(&format!(
        "pg_dump --format=custom --file={} \"$MUSTER_DATABASE_URL\"",
        file.display()
    ))?;
    if file.exists() {
        return Err(Failure::refused(format!("{} is there already: give a new file", file.display())).into());
    }
    let url = args.data.existing_url()?;
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let named = || format!("{} cannot be made", part.display());
    DirBuilder::new().mode(0o700).create(&part).with_context(named)?;
    let written = write(&url, &args.data.dir.data_dir, &part)
        .await
        .and_then(|archive| {
            std::fs::rename(archive, file).with_context(|| format!("{} cannot be written", file.display()))
        });
    // It is ours, and of no use any more.
    let _ = std::fs::remove_dir_all(&part);
    written?;
    print(&format!("{}: {} bytes\n", file.display(), file.metadata()?.len()));
    Ok(())
}

/// Makes the archive in `part`; tells its path.
async fn write(url: &str, data_dir: &Path, part: &Path) -> Result<PathBuf> {
    let database = part.join(DATABASE);
    let store = Store::open(url).await?;
    let copied = store.copy_to(&database).await;
    store.close().await;
    copied?;
    let archive = part.join("backup.tar");
    let named = || format!("{} cannot be written", archive.display());
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&archive);
    let mut tar = tar::Builder::new(out.with_context(named)?);
    let keys = EARLIER_FILES.iter().map(|name| (*name, data_dir.join(name)));
    for (name, path) in std::iter::once((DATABASE, database.clone())).chain(keys) {
        if !path.exists() {
            continue;
        }
        let mut from = File::open(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        tar.append_file(name, &mut from).with_context(named)?;
    }
    let out = tar.into_inner().with_context(named)?;
    out.sync_all().with_context(named)?;
    Ok(archive)
}
