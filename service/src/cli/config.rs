//! `muster config`, which changes the configuration file: one file a command.

mod list;
mod remove;
mod set;
mod switch;

use anyhow::Result;
use clap::Subcommand;

/// Commands about contexts.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// List contexts; the one in use has a star
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Make or change a context. The first one is used from then on
    Set(set::SetArgs),
    /// Use a context wherever no other and no --url is given
    Use(switch::UseArgs),
    /// Remove a context
    Remove(remove::RemoveArgs),
}

/// Runs a command.
pub fn run(command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::List(args) => list::run(&args),
        ConfigCommand::Set(args) => set::run(args),
        ConfigCommand::Use(args) => switch::run(&args),
        ConfigCommand::Remove(args) => remove::run(&args),
    }
}
