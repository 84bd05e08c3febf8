//! `muster token`: tokens are signed and stored nowhere. The database has the ids of operators' tokens, which of them were revoked, and
//! their sessions; other tokens are revoked with the object that they give access to.

mod create;
mod list;
mod revoke;
mod rotate;

use anyhow::Result;
use clap::{Args, Subcommand};

/// `muster token --operator` is short for `muster token create --operator`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    command: Option<TokenCommand>,

    #[command(flatten)]
    create: create::CreateArgs,
}

/// Commands about tokens.
#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Print a token: an operator's, or that of an InfraEnv. Needs the service's data dir or database
    Create(create::CreateArgs),
    /// List the tokens that were made for operators, with their sessions
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Make an operator's token or session useless, or the signed URLs of an InfraEnv or cluster that were handed out so far
    Revoke(revoke::RevokeArgs),
    /// Refuse the images of an InfraEnv that were downloaded so far
    Rotate(rotate::RotateArgs),
}

/// Runs a command.
pub async fn run(args: TokenArgs) -> Result<()> {
    match args.command {
        None => create::run(args.create).await,
        Some(TokenCommand::Create(create)) => create::run(create).await,
        Some(TokenCommand::List(list)) => list::run(list).await,
        Some(TokenCommand::Revoke(revoke)) => revoke::run(revoke).await,
        Some(TokenCommand::Rotate(rotate)) => rotate::run(rotate).await,
    }
}
