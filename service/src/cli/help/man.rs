//! `muster man`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};

/// The folder to write to.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages: one a command
    #[arg(long)]
    dir: PathBuf,
}

/// Writes the pages.
pub fn run(args: &ManArgs, program: Command) -> Result<()> {
    let named = || format!("the pages cannot be written into {}", args.dir.display());
    std::fs::create_dir_all(&args.dir).with_context(named)?;
    clap_mangen::generate_to(program, &args.dir).with_context(named)
}
