//! Shows the steps of a build: a spinner on a terminal, plain lines in a log.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A way to show the progress of a build.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    spins: bool,
    quiet: bool,
}

impl Progress {
    /// A spinner if standard error is a terminal, otherwise one line for each step that is done.
    #[must_use]
    pub fn of_standard_error() -> Self {
        Self {
            spins: std::io::stderr().is_terminal(),
            quiet: false,
        }
    }

    /// Shows nothing, for tests.
    #[must_use]
    pub const fn silent() -> Self {
        Self {
            spins: false,
            quiet: true,
        }
    }

    /// Starts a step; it is shown as long as the returned value lives.
    #[must_use]
    pub fn step(self, what: impl Into<String>) -> Step {
        let what = what.into();
        let bar = if self.spins {
            let bar = ProgressBar::new_spinner()
                .with_style(
                    ProgressStyle::with_template("{spinner} {msg} [{elapsed}]")
                        .expect("the template is well-formed"),
                )
                .with_message(what.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
            Some(bar)
        } else {
            None
        };
        Step {
            progress: self,
            bar,
            what,
            started: Instant::now(),
        }
    }

    /// One line that stays.
    pub fn say(self, line: &str) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }
}

/// A step in progress.
#[derive(Debug)]
pub struct Step {
    progress: Progress,
    bar: Option<ProgressBar>,
    what: String,
    started: Instant,
}

impl Step {
    /// Ends the step with its outcome.
    pub fn done(self, outcome: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let colon = if outcome.is_empty() { "" } else { ": " };
        self.progress.say(&format!(
            "{}{colon}{outcome} ({:.1} s)",
            self.what,
            self.started.elapsed().as_secs_f64()
        ));
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Bytes as a person reads them, in units of 1000000.
#[must_use]
pub fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let value = bytes as f64 / 1e6;
    format!("{value:.1} MB")
}
