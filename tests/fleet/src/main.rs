//! The program `muster-fleet`.

use std::process::ExitCode;

use clap::Parser;
use muster_fleet::{Options, run};

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Errors of users are printed without a backtrace.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
