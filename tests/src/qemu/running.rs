//! A machine that is on.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use serde_json::json;

use super::{Machine, Qmp, Slots};
use crate::evidence::transcript::Transcript;
use crate::process::Program;

/// A machine that is on. Dropping it switches it off and removes its disks; if the test fails, its console is
/// shown.
pub struct Running {
    // Fields are dropped in this order: the machine ends before its files and its slot.
    program: Program,
    machine: Machine,
    power_on: Instant,
    /// Opened at its first use.
    qmp: Option<Qmp>,
    folder: TempDir,
    slots: Option<Slots>,
}

impl Running {
    pub(super) fn new(machine: Machine, program: Program, folder: TempDir, slots: Slots) -> Self {
        Self {
            program,
            machine,
            power_on: Instant::now(),
            qmp: None,
            folder,
            slots: Some(slots),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.machine.name
    }

    /// Time since power-on.
    pub fn uptime(&self) -> Duration {
        self.power_on.elapsed()
    }

    /// Time left for all awaited events of the machine.
    pub fn time_left(&self) -> Duration {
        self.machine.time_limit.saturating_sub(self.uptime())
    }

    /// Output of the serial console since power-on (and QEMU's own messages).
    pub fn console(&self) -> &Transcript {
        self.program.transcript()
    }

    /// The file with the bytes of the machine's part of that number (disks and network cards, in the order in which
    /// they were named, from 0), a disk.
    pub fn disk(&self, index: usize) -> PathBuf {
        self.folder.path().join(format!("disk{index}.raw"))
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
            self.name(),
            self.console().tail()
        );
        uptime
    }

    /// True while it is on.
    pub fn is_on(&mut self) -> bool {
        self.program.is_running()
    }

    /// Unplugs the cable of the network card with that MAC, or plugs it in again.
    ///
    /// # Panics
    /// If there is no such card, or QEMU refuses it.
    #[track_caller]
    pub fn plug(&mut self, mac: &str, is_in: bool) {
        let qmp = self.qmp.get_or_insert_with(|| {
            let connected = Qmp::connect(self.folder.path());
            connected.unwrap_or_else(|error| panic!("{}: {error}", self.machine.name))
        });
        let link = json!({"name": self.machine.network_of(mac), "up": is_in});
        qmp.command("set_link", &link)
            .unwrap_or_else(|error| panic!("{}: {error}", self.machine.name));
    }

    /// Allows another machine to be switched on: from now on this one mostly waits.
    pub fn give_slots_back(&mut self) {
        self.slots = None;
    }

    /// Cuts its power.
    pub fn cut_power(&mut self) {
        self.program.kill();
    }

    /// Switches it on again, with its disks and firmware variables unchanged; its time limit begins again.
    #[track_caller]
    pub fn power_on(&mut self) {
        self.program.kill();
        self.qmp = None;
        self.program = self.machine.launch(self.folder.path());
        self.power_on = Instant::now();
    }
}
