//! Reads the key file that encrypts secrets in the database.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_store::Vault;

/// The option that names the key file.
#[derive(Debug, Clone, Args)]
pub struct SecretsKeyArgs {
    /// File with the key that encrypts secrets in the database, as muster secrets-key create makes it [default: they are stored as they are]
    #[arg(long, env = "MUSTER_SECRETS_KEY", value_name = "FILE")]
    secrets_key: Option<PathBuf>,
}

impl SecretsKeyArgs {
    /// The keys in the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or holds something else.
    pub fn load(&self) -> Result<Vault> {
        let Some(path) = &self.secrets_key else {
            return Ok(Vault::default());
        };
        let from = || format!("--secrets-key {}", path.display());
        let content = std::fs::read(path).with_context(from)?;
        let mode = std::fs::metadata(path).with_context(from)?.permissions().mode();
        if mode & 0o007 != 0 {
            tracing::warn!(file = %path.display(), mode = format!("{:o}", mode & 0o777), "everybody on this machine may read the key of the secrets: chmod 600");
        }
        Vault::from_key_file(&content).with_context(from)
    }
}
