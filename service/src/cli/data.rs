//! Commands that work directly on a service's data, and the options by which they find it.

mod archive;
pub mod backup;
#[cfg(test)]
mod killed;
pub mod migrate;
pub mod noted;
mod part;
pub mod restore;
pub mod secrets_key;

use clap::Args;

use super::failure::Failure;
use crate::settings::{DataDirArgs, default_database_url, password_in_arguments};

/// The database in the data dir.
pub const DATABASE: &str = "muster.db";

/// The folder in a data dir that a restore unpacks into. It is gone when the restore has ended.
pub const RESTORE_PART: &str = "restore.part";

/// The place of the data.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// Its folder.
    #[command(flatten)]
    pub dir: DataDirArgs,

    /// The service's database, if it is not in the data dir
    #[arg(long, env = "MUSTER_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database_url: Option<String>,
}

impl DataArgs {
    /// The URL of a database that exists.
    ///
    /// # Errors
    /// Fails if the data dir has no database: a command creates none.
    pub fn existing_url(&self) -> Result<String, Failure> {
        let dir = &self.dir.data_dir;
        match &self.database_url {
            Some(url) => {
                if let Some(words) = password_in_arguments(url) {
                    eprintln!("warning: {words}");
                }
                Ok(url.clone())
            }
            None if dir.join(DATABASE).exists() => Ok(default_database_url(dir)),
            None => Err(Failure::not_found(format!(
                "{} holds no database: give the service's --data-dir, or start the service once",
                dir.display()
            ))),
        }
    }

    /// Refuses PostgreSQL, which has programs of its own for this.
    ///
    /// # Errors
    /// Fails for a PostgreSQL database, with the `command` to run.
    pub fn refuse_postgres(&self, command: &str) -> Result<(), Failure> {
        match &self.database_url {
            Some(url) if url.starts_with("postgres") => Err(Failure::refused(
                "the database is PostgreSQL, whose own programs do this (all keys are in the database)",
            )
            .hint(command)),
            _ => Ok(()),
        }
    }
}
