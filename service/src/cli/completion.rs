//! `muster completion`.

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use super::output::print;

/// For which shell.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell; for bash: muster completion bash > /etc/bash_completion.d/muster
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionArgs, mut program: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "muster", &mut script);
    print(&String::from_utf8(script)?);
    Ok(())
}
