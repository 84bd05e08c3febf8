//! `muster secrets-key`: the file with the key that encrypts secrets in the database.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use muster_store::new_key;

use crate::cli::failure::Failure;
use crate::cli::output::print;

/// Commands about key files.
#[derive(Debug, Subcommand)]
pub enum SecretsKeyCommand {
    /// Make a key file, for --secrets-key of muster serve
    Create(CreateArgs),
}

/// The file to write.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The new file; only its owner can read it
    file: PathBuf,
}

/// Runs a command.
pub fn run(command: SecretsKeyCommand) -> Result<()> {
    let SecretsKeyCommand::Create(CreateArgs { file }) = command;
    let key = new_key()?;
    let named = || format!("{} cannot be written", file.display());
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file);
    let mut out = match opened {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(
                Failure::refused(format!("{} is there already: give a new file", file.display())).into(),
            );
        }
        opened => opened.with_context(named)?,
    };
    out.write_all(format!("{key}\n").as_bytes()).with_context(named)?;
    out.sync_all().with_context(named)?;
    print(&format!(
        "{}: keep a copy apart from the database and its backups; without it the secrets in them are lost\n",
        file.display()
    ));
    Ok(())
}
