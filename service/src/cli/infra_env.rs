//! `muster infra-env`: one file a command.

mod create;
mod delete;
mod iso;
mod list;
mod settings;
mod show;
mod static_network;
mod update;

pub(super) use settings::{boot_order_script, ipxe_script, warn_about_image};

use anyhow::Result;
use clap::Subcommand;

use super::list::ListArgs;

/// Commands about InfraEnvs.
#[derive(Debug, Subcommand)]
pub enum InfraEnvCommand {
    /// List all
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Create one and print where its ISO and its iPXE script are
    #[command(aliases = ["add", "new"])]
    Create(Box<create::CreateArgs>),
    /// Show one
    #[command(aliases = ["get", "describe"])]
    Show(show::ShowArgs),
    /// Change one; machines that boot from now on see it
    #[command(visible_alias = "set", aliases = ["edit", "patch"])]
    Update(Box<update::UpdateArgs>),
    /// Delete one that has no hosts
    #[command(visible_alias = "rm")]
    Delete(delete::DeleteArgs),
    /// Print where its ISO and its iPXE script are, or download the ISO
    Iso(iso::IsoArgs),
}

/// Runs a command.
pub async fn run(command: InfraEnvCommand) -> Result<()> {
    match command {
        InfraEnvCommand::List(args) => list::run(args).await,
        InfraEnvCommand::Create(args) => create::run(*args).await,
        InfraEnvCommand::Show(args) => show::run(args).await,
        InfraEnvCommand::Update(args) => update::run(*args).await,
        InfraEnvCommand::Delete(args) => delete::run(args).await,
        InfraEnvCommand::Iso(args) => iso::run(args).await,
    }
}
