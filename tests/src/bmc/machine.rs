//! A machine that its BMC switches on and off.

use std::sync::{Mutex, MutexGuard, PoisonError};

use muster_bmc_emulator::machine::{BootDevice, First, Progress};
use muster_bmc_emulator::{Failure, Hardware, Machine as Managed};
use serde_json::json;
use tempfile::TempDir;

use super::drive;
use crate::evidence::transcript::Transcript;
use crate::process::Program;
use crate::qemu::{Disk, Firmware, Machine, Nic, Qmp, Slots, UserNet};

/// Texts on a serial console that boot loaders and kernels print when the firmware has handed over to them.
const BEGINNINGS: [&str; 3] = ["Welcome to GRUB!", "GNU GRUB", "Linux version"];

/// A machine that is off until its BMC powers it on. It has one of the lab's slots until it ends or gives the slot
/// back; dropping it ends it.
pub struct BmcMachine {
    // Fields are dropped in this order: the process ends before its files and its slot go.
    state: Mutex<State>,
    machine: Machine,
    hardware: Hardware,
    folder: TempDir,
    slots: Mutex<Option<Slots>>,
}

#[derive(Default)]
struct State {
    on: Option<On>,
    /// The URL of the image in the drive, with power or without.
    medium: Option<String>,
    /// The console of the previous process, for readers after its end.
    console: Option<Transcript>,
}

/// A process.
struct On {
    qmp: Qmp,
    program: Program,
    /// QEMU's name of the drive's image.
    node: Option<String>,
    nodes: usize,
}

impl BmcMachine {
    /// `machine` without a medium, with SMBIOS tables that have UUID and serial number of `hardware`, in slots that the
    /// caller has.
    ///
    /// # Panics
    /// If there is no temporary folder.
    pub fn new(machine: Machine, hardware: Hardware, slots: Slots) -> Self {
        let identity = format!(
            "type=1,manufacturer=Contoso,product=3500RX,serial={},uuid={}",
            hardware.serial, hardware.uuid
        );
        let folder = tempfile::Builder::new().prefix("muster-machine-").tempdir();
        Self {
            state: Mutex::default(),
            machine: machine.smbios(&identity).managed(),
            hardware,
            folder: folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")),
            slots: Mutex::new(Some(slots)),
        }
    }

    /// A machine with one disk, and with the card `mac` on a user network that names it `name`. `number` distinguishes
    /// it from others of the lab: UUID and serial number are derived from it.
    ///
    /// # Panics
    /// If there is no temporary folder.
    pub fn on_user_network(
        (name, number): (&str, u8),
        firmware: Firmware,
        memory_mib: u32,
        disk: Disk,
        mac: &str,
    ) -> Self {
        let hardware = Hardware {
            macs: vec![mac.to_owned()],
            ..Hardware::example(number)
        };
        let machine = Machine::new(name)
            .firmware(firmware)
            .memory_mib(memory_mib)
            .disk(disk)
            .nic(Nic::user("virtio-net-pci", mac, UserNet::new(2).hostname(name)));
        Self::new(machine, hardware, Slots::one())
    }

    /// The serial console since power-on; the last one if the machine is off.
    ///
    /// # Panics
    /// If it was never on.
    #[track_caller]
    pub fn console(&self) -> Transcript {
        let console = self.state().console.clone();
        console.expect("a machine that was never on has no console")
    }

    /// Allows another machine to be switched on: from now on this one mostly waits, or is off.
    pub fn give_slots_back(&self) {
        *self.slots.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, state: &mut State, first: Option<First>) -> Result<(), String> {
        let is_first = wants_drive(first)?;
        let arguments = drive::arguments(is_first);
        let program = self.machine.launch_for_bmc(self.folder.path(), &arguments);
        state.console = Some(program.transcript().clone());
        let mut on = On {
            qmp: Qmp::connect(self.folder.path())
                .map_err(|error| format!("{error}; QEMU said: {}", program.transcript().tail()))?,
            program,
            node: None,
            nodes: 0,
        };
        if let Some(url) = &state.medium {
            on.insert(url)?;
        }
        if is_first && !lasts(first) {
            drive::set_last(&mut on.qmp)?;
        }
        on.qmp.command("cont", &json!({}))?;
        state.on = Some(on);
        Ok(())
    }
}

impl State {
    /// The process, while it runs.
    fn on(&mut self) -> Option<&mut On> {
        if self.on.as_mut().is_some_and(|on| !on.program.is_running()) {
            self.on = None;
        }
        self.on.as_mut()
    }

    fn end(&mut self) {
        if let Some(mut on) = self.on.take() {
            // It may have ended already.
            let _ = on.qmp.command("quit", &json!({}));
            on.program.kill();
        }
    }
}

impl On {
    fn insert(&mut self, url: &str) -> Result<(), String> {
        self.eject()?;
        self.nodes += 1;
        self.node = Some(drive::insert(&mut self.qmp, url, self.nodes)?);
        Ok(())
    }

    fn eject(&mut self) -> Result<(), String> {
        match self.node.take() {
            Some(node) => drive::eject(&mut self.qmp, &node),
            None => Ok(()),
        }
    }
}

/// True if a boot tries the drive first.
fn wants_drive(first: Option<First>) -> Result<bool, String> {
    match first.map(|first| first.device) {
        Some(BootDevice::VirtualDrive) => Ok(true),
        Some(BootDevice::Disk) | None => Ok(false),
        Some(device) => Err(format!(
            "a machine of the lab does not boot from {device:?} by its BMC"
        )),
    }
}

fn lasts(first: Option<First>) -> bool {
    first.is_some_and(|first| first.lasts)
}

impl Managed for BmcMachine {
    fn hardware(&self) -> Hardware {
        self.hardware.clone()
    }

    fn is_on(&self) -> bool {
        self.state().on().is_some()
    }

    fn progress(&self) -> Progress {
        let mut state = self.state();
        let Some(on) = state.on() else {
            return Progress::None;
        };
        let text = on.program.transcript().text();
        if BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
            Progress::OSBootStarted
        } else {
            Progress::SystemHardwareInitializationComplete
        }
    }

    fn power_on(&self, first: Option<First>) -> Result<(), Failure> {
        let mut state = self.state();
        if state.on().is_some() {
            return Ok(());
        }
        self.start(&mut state, first).map_err(Failure)
    }

    fn power_off(&self) -> Result<(), Failure> {
        self.state().end();
        Ok(())
    }

    /// Starts a new process. SeaBIOS follows QEMU's own reset with two more, and each gives the firmware the boot order
    /// of that time: one boot's order would have to last for an unknown time.
    fn reset(&self, first: Option<First>) -> Result<(), Failure> {
        let mut state = self.state();
        state.end();
        self.start(&mut state, first).map_err(Failure)
    }

    fn press_power_button(&self) -> Result<(), Failure> {
        match self.state().on() {
            Some(on) => on
                .qmp
                .command("system_powerdown", &json!({}))
                .map(drop)
                .map_err(Failure),
            None => Ok(()),
        }
    }

    fn insert(&self, url: &str) -> Result<(), Failure> {
        let mut state = self.state();
        if let Some(on) = state.on() {
            on.insert(url).map_err(Failure)?;
        }
        state.medium = Some(url.to_owned());
        Ok(())
    }

    fn eject(&self) -> Result<(), Failure> {
        let mut state = self.state();
        if let Some(on) = state.on() {
            on.eject().map_err(Failure)?;
        }
        state.medium = None;
        Ok(())
    }
}
