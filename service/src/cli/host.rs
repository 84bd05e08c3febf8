//! `muster host`: one file a command.

mod approve;
mod bind;
mod booting;
mod bulk;
mod checks;
mod chosen;
mod delete;
mod edit;
mod erase;
mod filter;
mod forget_failures;
mod history;
mod install;
pub mod list;
mod logs;
mod many;
mod power;
mod rows;
mod set;
mod show;
mod sleep;
mod unbind;

use anyhow::Result;
use clap::Subcommand;

/// Commands about hosts.
#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// List hosts: who is there, how they stand, and why
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// List machines that fetched files to boot from and have not registered
    Booting(booting::BootingArgs),
    /// Show a host: its state, what it waits for, its hardware, its disks and why not
    #[command(aliases = ["get", "describe"])]
    Show(show::ShowArgs),
    /// Change name, role, installation disk or labels: of one host, or of many from a table
    #[command(visible_alias = "update", aliases = ["edit", "patch"])]
    Set(Box<set::SetArgs>),
    /// Give many hosts a role, by a query
    Role(many::RoleArgs),
    /// Set and remove labels of the nodes of many hosts, by a query
    Labels(many::LabelsArgs),
    /// Name many hosts by a pattern or a table, with a preview
    Hostname(many::HostnameArgs),
    /// Choose the installation disks of many hosts by a rule, with a preview
    Disk(many::DiskArgs),
    /// Let the BMCs of many hosts boot them into discovery again
    Discover(many::DiscoverArgs),
    /// Approve hosts of an InfraEnv custom resource, so that they may join a cluster
    Approve(approve::ApproveArgs),
    /// Give known hosts to a cluster
    Bind(bind::BindArgs),
    /// Take hosts out of their clusters, back into the pools of their InfraEnvs
    Unbind(unbind::UnbindArgs),
    /// Install known hosts into their clusters
    Install(install::InstallArgs),
    /// Free hosts whose disks could not be erased after they left a cluster: try again, or leave the disks as they are
    Erase(erase::EraseArgs),
    /// Let machines of Cluster API take hosts again on which installations or nodes failed
    ForgetFailures(forget_failures::ForgetFailuresArgs),
    /// Switch a host on or off through its BMC, reset it, or query its power state
    Power(power::PowerArgs),
    /// Let the BMCs of unbound hosts switch them off; they stay candidates
    Sleep(sleep::SleepArgs),
    /// Let their BMCs boot hosts that sleep
    Wake(sleep::WakeArgs),
    /// Forget hosts. One that is still on registers again by itself
    #[command(visible_alias = "rm")]
    Delete(delete::DeleteArgs),
    /// Request the logs of a host, and download them
    Logs(logs::LogsArgs),
    /// Show what happened to a host
    History(history::HistoryArgs),
}

/// Runs a command.
pub async fn run(command: HostCommand) -> Result<()> {
    match command {
        HostCommand::List(args) => list::run(args).await,
        HostCommand::Booting(args) => booting::run(args).await,
        HostCommand::Power(args) => power::run(args).await,
        HostCommand::Show(args) => show::run(args).await,
        HostCommand::Set(args) => set::run(*args).await,
        HostCommand::Role(args) => many::role(args).await,
        HostCommand::Labels(args) => many::labels(args).await,
        HostCommand::Hostname(args) => many::hostname(args).await,
        HostCommand::Disk(args) => many::disk(args).await,
        HostCommand::Discover(args) => many::discover(args).await,
        HostCommand::Approve(args) => approve::run(args).await,
        HostCommand::Bind(args) => bind::run(args).await,
        HostCommand::Unbind(args) => unbind::run(args).await,
        HostCommand::Install(args) => install::run(args).await,
        HostCommand::Erase(args) => erase::run(args).await,
        HostCommand::ForgetFailures(args) => forget_failures::run(args).await,
        HostCommand::Sleep(args) => sleep::sleep(args).await,
        HostCommand::Wake(args) => sleep::wake(args).await,
        HostCommand::Delete(args) => delete::run(args).await,
        HostCommand::Logs(args) => logs::run(args).await,
        HostCommand::History(args) => history::run(args).await,
    }
}
