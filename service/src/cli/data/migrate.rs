//! `muster migrate`: migrates a database without serving, or prints what that would do.

use anyhow::Result;
use clap::Args;
use muster_store::{PendingMigration, Store};

use super::DataArgs;
use crate::cli::output::print;
use crate::serve::emptied::refuse_emptied;

/// The database, and whether to change it.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Only print what would be applied
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    data: DataArgs,
}

/// Migrates the database.
pub async fn run(args: MigrateArgs) -> Result<()> {
    let url = args.data.existing_url()?;
    refuse_emptied(&args.data.dir.data_dir, &url)?;
    let pending = Store::pending_migrations(&url).await?;
    if !args.check {
        Store::open(&url).await?.close().await;
    }
    let how = if args.check { "would apply" } else { "applied" };
    for migration in &pending {
        print(&line(how, migration));
    }
    if pending.is_empty() {
        print("the database is up to date\n");
    }
    Ok(())
}

fn line(how: &str, migration: &PendingMigration) -> String {
    let end = if migration.ends_older_versions {
        " (older versions cannot use the database after it)"
    } else {
        ""
    };
    format!("{how} {} {}{end}\n", migration.version, migration.description)
}
