//! Simulated machines. N agents in one process use the agent protocol (registration, polls, replies, progress, logs)
//! with a service over the network; some misbehave on demand; at the end it reports the speed of the service, its
//! responses, and the outcomes of each fault. `main.rs` is the program; a test has agents in its own process by
//! [`Agents`].
//!
//! Everything about a machine depends only on the seed and its number, so that a run can be repeated and continued.

mod agent;
mod faults;
mod fleet;
mod machine;
mod measure;
mod on_demand;
mod operator;
mod options;
mod progress;
mod removal;
mod report;
mod steps;
mod wire;

use anyhow::{Context, Result};

pub use machine::Machine;
pub use on_demand::{Agents, Power};
pub use options::Options;

/// Runs a fleet to its end and prints its report; with `--remove` deletes what earlier runs made.
///
/// # Errors
/// If the options contradict each other, or the fleet cannot begin.
pub fn run(options: Options) -> Result<()> {
    options.check()?;
    wire::raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads.into())
        .enable_all()
        .build()
        .context("the runtime does not start")?;
    if options.remove {
        println!("{}", runtime.block_on(removal::remove(&options))?);
        return Ok(());
    }
    let json = options.json;
    let report = runtime.block_on(fleet::run(options))?;
    // Waiting agents end with the process.
    runtime.shutdown_background();
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
