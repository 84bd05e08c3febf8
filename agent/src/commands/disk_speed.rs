//! `muster-agent disk-speed`: runs the check of [`crate::foreign::disk_speed`] from the command line.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::foreign::disk_speed::{self, Outcome, Stop};

/// Measure how long a synchronous write takes on a blank disk; a disk that has content or is in use is not written to
#[derive(Debug, Args)]
pub struct DiskSpeedCommand {
    /// Any name of the disk: /dev/sda, /dev/disk/by-id/...
    #[arg(value_name = "DISK")]
    path: String,
    /// Longest duration, seconds
    #[arg(long, default_value_t = 480, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
}

impl DiskSpeedCommand {
    /// Runs the command; the result goes to `output`. Ctrl-C blanks the disk again and ends.
    ///
    /// # Errors
    /// [`disk_speed::SpeedError`]; or if threads or signals cannot be set up.
    pub fn run(self, output: &mut impl Write) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no threads can be started")?;
        let outcome = runtime.block_on(async {
            let stop = Stop::default();
            let requested = stop.clone();
            let limit = Duration::from_secs(self.seconds);
            let mut checking =
                tokio::task::spawn_blocking(move || disk_speed::check(&self.path, limit, &requested));
            tokio::select! {
                ended = &mut checking => return ended,
                _ = tokio::signal::ctrl_c() => stop.now(),
            }
            checking.await
        });
        match outcome.context("the check broke")?? {
            Outcome::Measured { p99, writes } => writeln!(
                output,
                "99 of 100 synchronous writes took no longer than {:.3} ms ({writes} writes)",
                p99.as_secs_f64() * 1e3
            )?,
            Outcome::NotMeasured(reason) => writeln!(output, "not measured, nothing was written: {reason}")?,
        }
        Ok(())
    }
}
