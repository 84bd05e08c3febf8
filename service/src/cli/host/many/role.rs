//! `muster host role`.

use anyhow::Result;
use clap::Args;
use muster_api::host::HostRoleUpdate;
use muster_api::jobs::JobAction;

use super::OnlyQueryArgs;
use crate::cli::host::edit::parse_role;
use crate::cli::service::{Client, ServiceArgs};

/// The role, and the hosts.
#[derive(Debug, Args)]
#[command(mut_arg("query", |arg| arg.required(true)))]
pub struct RoleArgs {
    /// worker, master, arbiter or auto-assign
    #[arg(value_parser = parse_role)]
    role: HostRoleUpdate,

    #[command(flatten)]
    hosts: OnlyQueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Gives the hosts a role.
pub async fn run(args: RoleArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let action = JobAction::Role { role: args.role };
    args.hosts.run(&client, "", action).await
}
