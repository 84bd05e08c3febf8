//! `muster bmc`: one file a command.

mod add;
pub mod chosen;
mod import;
mod list;
mod password;
pub mod power;
mod set;
mod settings;
mod show;
mod table_file;

use anyhow::Result;
use clap::Subcommand;

pub use table_file::pasted;

/// Commands about BMCs.
#[derive(Debug, Subcommand)]
pub enum BmcCommand {
    /// Add one: its machine is switched off, booted from the InfraEnv's image, and becomes a host
    #[command(aliases = ["create", "new"])]
    Add(Box<add::AddArgs>),
    /// List all, with how far the discovery of their machines has come
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Show one: its wait, the last checks, and the machine as its BMC reports it
    #[command(aliases = ["get", "describe"])]
    Show(show::ShowArgs),
    /// Change one: credentials, the trusted certificate, the address
    #[command(visible_alias = "update", aliases = ["edit", "patch"])]
    Set(Box<set::SetArgs>),
    /// Discover machines (again): they are switched off and booted from the image
    Discover(chosen::ActionArgs),
    /// End the discovery of machines, and take the image out of their BMCs
    Stop(chosen::ActionArgs),
    /// Switch a machine on or off, reset it, or query its power state
    Power(power::PowerArgs),
    /// Delete some, with their passwords; the hosts stay
    #[command(visible_alias = "rm")]
    Delete(chosen::ActionArgs),
    /// Add many from a CSV or YAML file, all or none
    Import(import::ImportArgs),
}

/// Runs a command.
pub async fn run(command: BmcCommand) -> Result<()> {
    match command {
        BmcCommand::Add(args) => add::run(*args).await,
        BmcCommand::List(args) => list::run(args).await,
        BmcCommand::Show(args) => show::run(args).await,
        BmcCommand::Set(args) => set::run(*args).await,
        BmcCommand::Discover(args) => chosen::discover(args).await,
        BmcCommand::Stop(args) => chosen::stop(args).await,
        BmcCommand::Power(args) => power::run(args).await,
        BmcCommand::Delete(args) => chosen::delete(args).await,
        BmcCommand::Import(args) => import::run(args).await,
    }
}
