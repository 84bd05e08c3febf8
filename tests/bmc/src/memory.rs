//! A machine that consists of its state only.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::machine::{BootDevice, Failure, First, Hardware, Machine, Progress};

/// A machine in memory; [`boots`](Self::boots) returns its boots.
#[derive(Debug)]
pub struct InMemory {
    hardware: Hardware,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_on: bool,
    medium: Option<String>,
    ignores_button: bool,
    lasting: Option<BootDevice>,
    boots: Vec<Booted>,
}

/// The source of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Booted {
    /// The image at that URL.
    Image(String),
    Disk,
    Network,
    Setup,
}

impl InMemory {
    /// A machine that is off.
    pub fn new(hardware: Hardware) -> Self {
        Self {
            hardware,
            state: Mutex::default(),
        }
    }

    /// A machine that is on and runs the system on its disk.
    pub fn running(hardware: Hardware) -> Self {
        let machine = Self::new(hardware);
        machine.state().start(None);
        machine
    }

    /// Makes its system ignore the power button from now on.
    pub fn ignore_power_button(&self) {
        self.state().ignores_button = true;
    }

    /// Restarts it from inside, like its system; has no effect while it is off.
    pub fn restart_from_inside(&self) {
        let mut state = self.state();
        if state.is_on {
            let lasting = state.lasting;
            state.boot(lasting);
        }
    }

    /// Switches it off from inside.
    pub fn shut_down_from_inside(&self) {
        self.state().is_on = false;
    }

    /// All images and disks that it booted from, in order.
    pub fn boots(&self) -> Vec<Booted> {
        self.state().boots.clone()
    }

    /// The URL of the image in its virtual drive.
    pub fn medium(&self) -> Option<String> {
        self.state().medium.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Starts it at the BMC's request.
    fn start(&mut self, first: Option<First>) {
        self.lasting = first.filter(|first| first.lasts).map(|first| first.device);
        self.boot(first.map(|first| first.device));
    }

    fn boot(&mut self, device: Option<BootDevice>) {
        let booted = match (device, &self.medium) {
            (Some(BootDevice::VirtualDrive), Some(url)) => Booted::Image(url.clone()),
            (Some(BootDevice::Network), _) => Booted::Network,
            (Some(BootDevice::Setup), _) => Booted::Setup,
            (Some(BootDevice::VirtualDrive | BootDevice::Disk) | None, _) => Booted::Disk,
        };
        self.is_on = true;
        self.boots.push(booted);
    }
}

impl Machine for InMemory {
    fn hardware(&self) -> Hardware {
        self.hardware.clone()
    }

    fn is_on(&self) -> bool {
        self.state().is_on
    }

    fn progress(&self) -> Progress {
        if self.is_on() {
            Progress::OSRunning
        } else {
            Progress::None
        }
    }

    fn power_on(&self, first: Option<First>) -> Result<(), Failure> {
        self.state().start(first);
        Ok(())
    }

    fn power_off(&self) -> Result<(), Failure> {
        self.state().is_on = false;
        Ok(())
    }

    fn reset(&self, first: Option<First>) -> Result<(), Failure> {
        self.state().start(first);
        Ok(())
    }

    fn press_power_button(&self) -> Result<(), Failure> {
        let mut state = self.state();
        if !state.ignores_button {
            state.is_on = false;
        }
        Ok(())
    }

    fn insert(&self, url: &str) -> Result<(), Failure> {
        self.state().medium = Some(url.to_owned());
        Ok(())
    }

    fn eject(&self) -> Result<(), Failure> {
        self.state().medium = None;
        Ok(())
    }
}
