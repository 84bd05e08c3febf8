//! `muster config use`.

use anyhow::Result;
use clap::Args;

use crate::cli::output::print;
use crate::cli::service::contexts::Config;

/// The context to use.
#[derive(Debug, Args)]
pub struct UseArgs {
    /// Its name
    name: String,
}

/// Uses the context.
pub fn run(args: &UseArgs) -> Result<()> {
    let mut config = Config::read()?;
    let url = config.context(&args.name)?.url.clone();
    config.current = Some(args.name.clone());
    config.write()?;
    print(&format!("context {} is used: {url}\n", args.name));
    Ok(())
}
