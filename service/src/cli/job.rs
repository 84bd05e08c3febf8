//! `muster job`: jobs over many hosts, which `muster host ... --query` begins.

mod cancel;
pub mod follow;
pub mod list;
mod path;
pub mod plan;
mod retry;
mod show;
mod wait;

use anyhow::Result;
use clap::Subcommand;

/// Commands about jobs.
#[derive(Debug, Subcommand)]
pub enum JobCommand {
    /// Show a job: what it did with how many hosts, and those that failed
    #[command(aliases = ["get", "describe"])]
    Show(show::ShowArgs),
    /// Cancel a job; hosts that it has not begun with stay as they are
    Cancel(cancel::CancelArgs),
    /// Begin again with the hosts that failed
    Retry(retry::RetryArgs),
}

/// Runs a command.
pub async fn run(command: JobCommand) -> Result<()> {
    match command {
        JobCommand::Show(args) => show::run(args).await,
        JobCommand::Cancel(args) => cancel::run(args).await,
        JobCommand::Retry(args) => retry::run(args).await,
    }
}
