//! `muster-fleet`: machines that are not there. N agents in one process speak the agent protocol
//! (registration, polls, replies, progress, logs) to a service over the network; some misbehave on demand; at
//! the end it reports how fast the service was, what it answered, and what each fault met.
//!
//! Everything about a machine follows from `--seed` and its number, so that a run can be repeated and
//! continued.

mod agent;
mod faults;
mod fleet;
mod machine;
mod measure;
mod operator;
mod options;
mod progress;
mod report;
mod steps;
mod wire;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use options::Options;

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // A mistake of a user is told without a backtrace.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<()> {
    options.check()?;
    wire::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads.into())
        .enable_all()
        .build()
        .context("the runtime does not start")?;
    let json = options.json;
    let report = runtime.block_on(fleet::run(options))?;
    // Agents that wait for something end with the process.
    runtime.shutdown_background();
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
