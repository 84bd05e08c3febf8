//! `muster-agent`: a table of commands. Everything they do is in the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use muster_agent::config::flags::{RunFlags, with_two_dashes};
use muster_agent::run;
use tracing_subscriber::EnvFilter;

/// The agent of the discovery image: reports what a host is, and does what its service asks.
#[derive(Debug, Parser)]
#[command(name = "muster-agent", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<RunFlags>),
}

fn main() -> ExitCode {
    let Program { command } = Program::parse_from(arguments());
    let done = match command {
        Command::Run(flags) => {
            log_to_standard_error();
            let host_id = flags.host_id;
            flags.settings().and_then(|settings| run::run(&settings, std::sync::Arc::new(move || host_id.unwrap())))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("muster-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments with Go's spelling of flags accepted, and `run` understood when the program is called `agent`,
/// as the field's units do.
fn arguments() -> Vec<String> {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let called_agent = program.rsplit('/').next() == Some("agent");
    let mut arguments = vec![program];
    if called_agent {
        arguments.push("run".to_owned());
    }
    arguments.extend(words.map(with_two_dashes));
    arguments
}

fn log_to_standard_error() {
    let filter = EnvFilter::try_from_env("MUSTER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
