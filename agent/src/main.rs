//! `muster-agent`: dispatches the subcommands, which are in the library.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use muster_agent::commands::disk_speed::DiskSpeedCommand;
use muster_agent::commands::erase_disk::EraseDiskCommand;
use muster_agent::commands::inventory::InventoryCommand;
use muster_agent::commands::node::NodeCommand;
use muster_agent::commands::self_check::SelfCheckCommand;
use muster_agent::commands::write_image::WriteImageCommand;
use muster_agent::config::flags::{RunFlags, with_two_dashes};
use muster_agent::logs::ring;
use muster_agent::session::runner::HostIdentity;
use muster_agent::{commands, host, init};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt;

/// The agent of the discovery image: reports a host's hardware, and runs the steps of its service.
#[derive(Debug, Parser)]
#[command(name = "muster-agent", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<RunFlags>),
    Node(NodeCommand),
    DiskSpeed(DiskSpeedCommand),
    WriteImage(WriteImageCommand),
    Erase(EraseDiskCommand),
    SelfCheck(SelfCheckCommand),
    /// Request a host's instructions from the service once, as standard input describes: an older agent runs this before this one replaces it
    #[command(hide = true)]
    TryOut,
    #[command(flatten)]
    Inventory(InventoryCommand),
}

fn main() -> ExitCode {
    if is_init() {
        init::main();
    }
    let Program { command } = Program::parse_from(arguments());
    let done = match command {
        Command::Run(flags) => join(*flags),
        Command::Node(command) => serve_node(&command),
        Command::DiskSpeed(command) => command.run(&mut std::io::stdout().lock()),
        Command::WriteImage(command) => command.run(&mut std::io::stdout().lock()),
        Command::Erase(command) => erase(&command),
        Command::SelfCheck(command) => command.run(&mut std::io::stdout().lock()),
        Command::TryOut => commands::try_out::run(std::io::stdin().lock(), &mut std::io::stdout().lock()),
        Command::Inventory(command) => command.run(&mut std::io::stdout().lock()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("muster-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True for `/init`, started by the kernel; a container's first process has another name or arguments.
fn is_init() -> bool {
    let mut given = std::env::args();
    let called_init = given
        .next()
        .is_some_and(|program| program.rsplit('/').next() == Some("init"));
    std::process::id() == 1 && (called_init || given.next().is_none())
}

/// The arguments with Go's spelling of flags accepted; `run` is implied if the program is called `agent`,
/// as upstream's units call it.
fn arguments() -> Vec<String> {
    let mut given = std::env::args();
    let program = given.next().unwrap_or_default();
    let called_agent = program.rsplit('/').next() == Some("agent");
    let mut arguments = vec![program];
    if called_agent {
        arguments.push("run".to_owned());
    }
    arguments.extend(given.map(with_two_dashes));
    arguments
}

fn join(flags: RunFlags) -> anyhow::Result<()> {
    log_to_stderr();
    let settings = flags.settings()?;
    let identity: HostIdentity = match settings.host_id {
        Some(id) => Arc::new(move || id),
        None => Arc::new(host::identity),
    };
    commands::run::run(&settings, identity)
}

fn serve_node(command: &NodeCommand) -> anyhow::Result<()> {
    log_to_stderr();
    command.run()
}

fn erase(command: &EraseDiskCommand) -> anyhow::Result<()> {
    log_to_stderr();
    command.run(&mut std::io::stdout().lock())
}

fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("MUSTER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_writer(std::io::stderr.and(ring::Lines))
        .init();
}
