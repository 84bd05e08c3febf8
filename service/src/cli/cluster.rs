//! `muster cluster`: one file a command.

mod delete;
mod import;
mod list;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::list::ListArgs;

/// Commands about clusters.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// List all
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Make a cluster known that exists already, so that hosts can be added to it
    #[command(alias = "add")]
    Import(import::ImportArgs),
    /// Show one
    #[command(aliases = ["get", "describe"])]
    Show(show::ShowArgs),
    /// Forget one that has no hosts
    #[command(visible_alias = "rm")]
    Delete(delete::DeleteArgs),
}

/// Runs a command.
pub async fn run(command: ClusterCommand) -> Result<()> {
    match command {
        ClusterCommand::List(args) => list::run(args).await,
        ClusterCommand::Import(args) => import::run(args).await,
        ClusterCommand::Show(args) => show::run(args).await,
        ClusterCommand::Delete(args) => delete::run(args).await,
    }
}
