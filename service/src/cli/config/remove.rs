//! `muster config remove`.

use anyhow::Result;
use clap::Args;

use crate::cli::output::print;
use crate::cli::service::contexts::Config;

/// The context to remove.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Its name
    name: String,
}

/// Removes the context.
pub fn run(args: &RemoveArgs) -> Result<()> {
    let mut config = Config::read()?;
    config.context(&args.name)?;
    config.contexts.remove(&args.name);
    if config.current.as_ref() == Some(&args.name) {
        config.current = None;
    }
    config.write()?;
    print(&format!("context {} is removed\n", args.name));
    Ok(())
}
