//! `muster completion`, and the program behind each Tab of a shell: completes commands, options, and names of objects in the service.

mod names;

use anyhow::{Context, Result};
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::ArgValueCandidates;
use clap_complete::env::Shells;

use self::names::{Kind, candidates};
use crate::cli::output::print;

/// The variable by which the script of a shell requests completions.
const VARIABLE: &str = "MUSTER_COMPLETE";

/// The program that the script runs, found by `PATH`.
const PROGRAM: &str = "muster";

/// Shells with such a script.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

/// The shell.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell; for bash: muster completion bash > /etc/bash_completion.d/muster
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionArgs) -> Result<()> {
    let name = args.shell.to_possible_value();
    let name = name.context("every shell has a name")?;
    let shells = Shells::builtins();
    let shell = shells
        .completer(name.get_name())
        .context("every shell has a script")?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    print(&String::from_utf8(script)?);
    Ok(())
}

/// Answers a shell that requests completions, and ends the process; otherwise returns.
pub fn answer(program: impl Fn() -> Command) {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    // Names are requested over TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    CompleteEnv::with_factory(|| with_names(program()))
        .var(VARIABLE)
        .bin(PROGRAM)
        .completer(PROGRAM)
        .complete();
}

/// The program, with completion by existing names for arguments that are names of objects.
fn with_names(command: Command) -> Command {
    let named = |arg: Arg| match kind_of(&arg) {
        Some(kind) => arg.add(ArgValueCandidates::new(move || candidates(kind))),
        None => arg,
    };
    command.mut_args(named).mut_subcommands(with_names)
}

/// The kind of object that an argument names, by its placeholder in the help.
fn kind_of(arg: &Arg) -> Option<Kind> {
    let value = arg.get_value_names()?.first()?;
    match value.as_str() {
        "HOST" => Some(Kind::Host),
        "INFRA_ENV" => Some(Kind::InfraEnv),
        "CLUSTER" => Some(Kind::Cluster),
        "BMC" => Some(Kind::Bmc),
        _ => None,
    }
}
