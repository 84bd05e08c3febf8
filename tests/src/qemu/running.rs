//! A machine that is on.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Machine, Slots};
use crate::process::Program;
use crate::transcript::Transcript;

/// A machine that is on. Dropping it switches it off and removes its disks; if the test fails, its console is
/// shown.
pub struct Running {
    // Fields are dropped in this order: the machine ends before its files and its slot go.
    program: Program,
    name: String,
    power_on: Instant,
    time_limit: Duration,
    _folder: TempDir,
    _slots: Slots,
}

impl Running {
    pub(super) fn new(machine: Machine, program: Program, folder: TempDir, slots: Slots) -> Self {
        Self {
            program,
            name: machine.name,
            power_on: Instant::now(),
            time_limit: machine.time_limit,
            _folder: folder,
            _slots: slots,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Time since power-on.
    pub fn uptime(&self) -> Duration {
        self.power_on.elapsed()
    }

    /// Time left for everything that is awaited of the machine.
    pub fn time_left(&self) -> Duration {
        self.time_limit.saturating_sub(self.uptime())
    }

    /// Output of the serial console so far (and QEMU's own messages).
    pub fn console(&self) -> &Transcript {
        self.program.transcript()
    }

    /// Waits for a text on the serial console; returns the pattern's first group.
    ///
    /// # Panics
    /// At the machine's time limit, or if it switches off before.
    #[track_caller]
    pub fn await_serial(&mut self, pattern: &str) -> String {
        let limit = self.time_left();
        self.program.await_output(pattern, limit)
    }

    /// Waits until the machine switches itself off; returns how long it was on.
    ///
    /// # Panics
    /// At the machine's time limit, or if QEMU ends with an error.
    #[track_caller]
    pub fn await_power_off(&mut self) -> Duration {
        let limit = self.time_left();
        let status = self.program.await_exit(limit);
        let uptime = self.uptime();
        assert!(
            status.success(),
            "{}: QEMU ended with {status}:\n{}",
            self.name,
            self.console().tail()
        );
        uptime
    }

    /// True while it is on.
    pub fn is_on(&mut self) -> bool {
        self.program.is_running()
    }
}
