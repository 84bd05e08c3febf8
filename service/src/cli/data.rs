//! Defines the options of commands that work on a service's data itself.

use clap::Args;

use super::failure::Failure;
use crate::settings::{DataDirArgs, default_database_url};

/// The database in the data dir.
pub const DATABASE: &str = "muster.db";

/// Where the data is.
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
    /// When there is none in the data dir: a command makes none.
    pub fn existing_url(&self) -> Result<String, Failure> {
        let dir = &self.dir.data_dir;
        match &self.database_url {
            Some(url) => Ok(url.clone()),
            None if dir.join(DATABASE).exists() => Ok(default_database_url(dir)),
            None => Err(Failure::not_found(format!(
                "{} holds no database: give the service's --data-dir, or start the service once",
                dir.display()
            ))),
        }
    }

    /// PostgreSQL has programs of its own for this.
    ///
    /// # Errors
    /// For such a database, with the `command` to type.
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
