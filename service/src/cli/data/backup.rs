//! `muster backup`: the database, which all keys are in, as one file, while the service runs.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_store::Store;

use super::part::{Part, rename_for_good};
use super::{DATABASE, DataArgs, archive};
use crate::authority::EARLIER_FILES;
use crate::cli::failure::Failure;
use crate::cli::output::print;

/// The file to write, and the data to back up.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The new file: a tar archive. Keys are in it; only its owner can read it
    file: PathBuf,

    #[command(flatten)]
    data: DataArgs,
}

/// Writes the backup.
pub async fn run(args: BackupArgs) -> Result<()> {
    make(args, &|_| ()).await
}

/// The steps of [`make`], in their order.
#[cfg(test)]
pub(super) const STEPS: [&str; 5] = ["begun", "copied", "packed", "tidied", "renamed"];

/// Calls `reached` after each step, where a test ends the process.
pub(super) async fn make(args: BackupArgs, reached: &dyn Fn(&str)) -> Result<()> {
    let file = &args.file;
    args.data.refuse_postgres(&format!(
        "pg_dump --format=custom --file={} \"$MUSTER_DATABASE_URL\"",
        file.display()
    ))?;
    let url = args.data.existing_url()?;
    let part = Part::make(file)?;
    reached("begun");
    if file.exists() {
        return Err(Failure::refused(format!("{} is there already: give a new file", file.display())).into());
    }
    let database = part.database();
    let schema = Store::copy_file(&url, &database).await?;
    reached("copied");
    let keys = EARLIER_FILES
        .iter()
        .map(|name| (*name, args.data.dir.data_dir.join(name)));
    let files: Vec<_> = std::iter::once((DATABASE, database.clone()))
        .chain(keys.filter(|(_, path)| path.exists()))
        .collect();
    archive::write(&part.archive(), schema, &files)?;
    reached("packed");
    // Before the backup has its name: a user who finds the file does not look for other files next to it.
    std::fs::remove_file(&database).with_context(|| format!("{} cannot be removed", database.display()))?;
    reached("tidied");
    rename_for_good(&part.archive(), file)?;
    reached("renamed");
    drop(part);
    print(&format!("{}: {} bytes\n", file.display(), file.metadata()?.len()));
    Ok(())
}
