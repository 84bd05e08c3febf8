//! `muster config set`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::base;
use crate::cli::service::contexts::{Config, ContextEntry};

/// The context and its settings. Settings that are not given stay as they are.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Its name
    name: String,

    /// URL of the service
    #[arg(long)]
    url: Option<String>,

    /// PEM file with the authority of the service's certificate, or with that certificate itself
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// File with the operator's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Take any certificate
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    insecure: Option<bool>,
}

/// Writes the context.
pub fn run(args: SetArgs) -> Result<()> {
    let mut config = Config::read()?;
    let before = config.contexts.get(&args.name).cloned().unwrap_or_default();
    let url = match args.url {
        Some(url) => base(&url)?,
        None if before.url.is_empty() => {
            return Err(Failure::usage(format!("context {:?} is new and needs --url", args.name)).into());
        }
        None => before.url,
    };
    let entry = ContextEntry {
        url,
        ca: absolute(args.ca)?.or(before.ca),
        token_file: absolute(args.token_file)?.or(before.token_file),
        insecure: args.insecure.unwrap_or(before.insecure),
    };
    config.contexts.insert(args.name.clone(), entry);
    let current = config.current.get_or_insert_with(|| args.name.clone());
    let used = if *current == args.name { ", and in use" } else { "" };
    let file = config.write()?;
    print(&format!(
        "context {} is written to {}{used}\n",
        args.name,
        file.display()
    ));
    Ok(())
}

/// Makes a path absolute, since commands run in any folder.
fn absolute(path: Option<PathBuf>) -> Result<Option<PathBuf>> {
    Ok(path.map(std::path::absolute).transpose()?)
}
