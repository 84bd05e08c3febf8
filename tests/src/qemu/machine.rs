//! The description of a machine, and its conversion to QEMU's arguments.

use std::io::PipeWriter;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::devices::{Disk, DiskBus, Medium, Nic, network_id, sparse_file};
use super::{Accel, Firmware, Running, Slots, qmp};
use crate::process::{Program, command};

/// Time limit of a machine, from power-on: many times the slowest boot of docs/protocol/boot-lab.md. It is reached by a
/// hang, not by slowness: computers differ threefold from day to day, and several machines share two cores.
pub const MACHINE_LIMIT: Duration = Duration::from_secs(900);

/// GRUB's output at the beginning of its five seconds, in which it keeps an emulated processor busy; [`ENTER`] ends
/// them.
const COUNTDOWN: &[u8] = b"executed automatically in 5s";
const ENTER: &[u8] = b"\r";

/// A machine to be switched on. Devices keep the order in which they are named: it decides their PCI
/// addresses.
pub struct Machine {
    pub(super) name: String,
    firmware: Firmware,
    medium: Option<Medium>,
    memory_mib: u32,
    cpus: String,
    cpu_model: Option<String>,
    smbios: Vec<String>,
    fw_cfg: Vec<(String, String)>,
    parts: Vec<Part>,
    accel: Option<Accel>,
    clock: Option<i64>,
    order: Order,
    is_lasting: bool,
    awaits_countdown: bool,
    pub(super) time_limit: Duration,
}

/// Order in which the firmware tries devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The medium and nothing else.
    Medium,
    /// The first disk, then the medium.
    Disk,
    /// By the firmware's own variables; a UEFI without any tries everything.
    Firmware,
    /// The first disk, before or after a drive that is not of this description.
    Managed,
}

enum Part {
    Disk(Disk),
    Nic(Nic),
    /// A `-device` value.
    Device(String),
    /// A `-device` value without its drive, and the size of the drive in bytes.
    DiskDevice(String, u64),
    /// A `-device` value without its drive, which is that of the part before.
    SecondPath(String),
}

impl Machine {
    /// 1 GiB, two CPUs, SeaBIOS, no medium and no device. Failures show the name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            firmware: Firmware::SeaBios,
            medium: None,
            memory_mib: 1024,
            cpus: "2".to_owned(),
            cpu_model: None,
            smbios: Vec::new(),
            fw_cfg: Vec::new(),
            parts: Vec::new(),
            accel: None,
            clock: None,
            order: Order::Medium,
            is_lasting: false,
            awaits_countdown: false,
            time_limit: MACHINE_LIMIT,
        }
    }

    /// With this firmware.
    #[must_use]
    pub fn firmware(mut self, firmware: Firmware) -> Self {
        self.firmware = firmware;
        self
    }

    /// Booting from this.
    #[must_use]
    pub fn boot(mut self, medium: Medium) -> Self {
        self.medium = Some(medium);
        self
    }

    /// Memory; taken from the host only as the guest touches it.
    #[must_use]
    pub fn memory_mib(mut self, mib: u32) -> Self {
        self.memory_mib = mib;
        self
    }

    /// `-smp`: a number, or a number with a topology (`2,sockets=1,cores=2,threads=1`).
    #[must_use]
    pub fn cpus(mut self, smp: &str) -> Self {
        smp.clone_into(&mut self.cpus);
        self
    }

    /// `-cpu`.
    #[must_use]
    pub fn cpu_model(mut self, model: &str) -> Self {
        self.cpu_model = Some(model.to_owned());
        self
    }

    /// One `-smbios` table, e.g. `type=1,manufacturer=AcmeCorp`.
    #[must_use]
    pub fn smbios(mut self, table: &str) -> Self {
        self.smbios.push(table.to_owned());
        self
    }

    /// A string of the firmware configuration device.
    #[must_use]
    pub fn fw_cfg(mut self, name: &str, text: &str) -> Self {
        self.fw_cfg.push((name.to_owned(), text.to_owned()));
        self
    }

    /// A disk.
    #[must_use]
    pub fn disk(mut self, disk: Disk) -> Self {
        self.parts.push(Part::Disk(disk));
        self
    }

    /// A network card.
    #[must_use]
    pub fn nic(mut self, nic: Nic) -> Self {
        self.parts.push(Part::Nic(nic));
        self
    }

    /// Any other device, as for `-device`.
    #[must_use]
    pub fn device(mut self, device: &str) -> Self {
        self.parts.push(Part::Device(device.to_owned()));
        self
    }

    /// A disk as for `-device` but without `drive=`, with an empty drive of that many bytes.
    #[must_use]
    pub fn disk_device(mut self, device: &str, size: u64) -> Self {
        self.parts.push(Part::DiskDevice(device.to_owned(), size));
        self
    }

    /// A second path to the disk of the part before, as for `-device` but without `drive=`. Both devices need `share-rw=on`.
    #[must_use]
    pub fn second_path(mut self, device: &str) -> Self {
        self.parts.push(Part::SecondPath(device.to_owned()));
        self
    }

    /// With a clock that is so many seconds ahead (or behind, when negative) at power-on.
    #[must_use]
    pub fn clock_ahead(mut self, seconds: i64) -> Self {
        self.clock = Some(seconds);
        self
    }

    /// Tries its first disk before the medium: a blank disk is skipped.
    #[must_use]
    pub fn disk_first(mut self) -> Self {
        self.order = Order::Disk;
        self
    }

    /// Tries devices by the firmware's variables, which boot entries change.
    #[must_use]
    pub fn order_of_firmware(mut self) -> Self {
        self.order = Order::Firmware;
        self
    }

    /// Continues after a reset, which otherwise switches it off.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.is_lasting = true;
        self
    }

    /// For a BMC, which has a drive with boot index 1 or 3 and starts the processors.
    pub(crate) fn managed(mut self) -> Self {
        self.order = Order::Managed;
        self.lasting()
    }

    /// Under this accelerator, whatever is fastest.
    #[must_use]
    pub fn accel(mut self, accel: Accel) -> Self {
        self.accel = Some(accel);
        self
    }

    /// Lets GRUB count down without pressing Enter, like an unattended machine.
    #[must_use]
    pub fn awaiting_countdown(mut self) -> Self {
        self.awaits_countdown = true;
        self
    }

    /// Time from power-on until which all awaited events must have happened.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Switches it on, once one of the [slots](Slots) is free.
    #[track_caller]
    pub fn start(self) -> Running {
        self.start_in(Slots::one())
    }

    /// Switches it on in slots that the caller has.
    ///
    /// # Panics
    /// If QEMU cannot be started.
    #[track_caller]
    pub fn start_in(self, slots: Slots) -> Running {
        let folder = tempfile::Builder::new().prefix("muster-machine-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let program = self.launch(folder.path());
        Running::new(self, program, folder, slots)
    }

    /// Starts QEMU with the disks and variables in `folder`, which are made if they are not there.
    #[track_caller]
    pub(super) fn launch(&self, folder: &Path) -> Program {
        let (mut qemu, keyboard) = self.command(folder);
        self.with_keyboard(
            Program::start(&self.name, &mut qemu, &folder.join("console.log")),
            keyboard,
        )
    }

    /// The same with more arguments; the process outlives the thread that starts it.
    pub(crate) fn launch_for_bmc(&self, folder: &Path, more: &[String]) -> Program {
        let (mut qemu, keyboard) = self.command(folder);
        qemu.args(more);
        self.with_keyboard(
            Program::start_shared(&self.name, qemu, &folder.join("console.log")),
            keyboard,
        )
    }

    /// The command of QEMU, and the pipe to the serial console.
    fn command(&self, folder: &Path) -> (Command, PipeWriter) {
        let (typed, keyboard) = std::io::pipe().unwrap_or_else(|error| panic!("no pipe: {error}"));
        let mut qemu = command(self.firmware.program());
        qemu.args(self.arguments(folder)).stdin(typed);
        (qemu, keyboard)
    }

    fn with_keyboard(&self, program: Program, keyboard: PipeWriter) -> Program {
        if !self.awaits_countdown {
            program.transcript().answer(COUNTDOWN, ENTER, keyboard);
        }
        program
    }

    /// QEMU's name of the network of the card with that MAC.
    #[track_caller]
    pub(super) fn network_of(&self, mac: &str) -> String {
        let index = self
            .parts
            .iter()
            .position(|part| matches!(part, Part::Nic(nic) if nic.mac == mac));
        network_id(index.unwrap_or_else(|| panic!("{} has no card {mac}", self.name)))
    }

    fn arguments(&self, folder: &Path) -> Vec<String> {
        let accel = self.accel.unwrap_or_else(Accel::best);
        let mut all: Vec<String> = ["-nodefaults", "-no-user-config"].map(str::to_owned).into();
        if !self.is_lasting {
            all.push("-no-reboot".to_owned());
        }
        let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
        add("-name", self.name.clone());
        add("-display", "none".to_owned());
        add("-monitor", "none".to_owned());
        add(
            "-qmp",
            format!("unix:{},server=on,wait=off", qmp::socket(folder).display()),
        );
        add("-accel", accel.option().to_owned());
        add("-machine", self.firmware.machine().to_owned());
        add("-m", self.memory_mib.to_string());
        add("-smp", self.cpus.clone());
        // The lab reads the first port; BMCs use the second, and a kernel with that argument must find one.
        add("-serial", "stdio".to_owned());
        add("-serial", "null".to_owned());
        if let Some(model) = self.cpu_model.as_deref().or(self.firmware.cpu()) {
            add("-cpu", model.to_owned());
        }
        if let Some(seconds) = self.clock {
            add("-rtc", format!("base={}", clock_text(seconds)));
        }
        for table in &self.smbios {
            add("-smbios", table.clone());
        }
        for (name, text) in &self.fw_cfg {
            add("-fw_cfg", format!("name={name},string={text}"));
        }
        for protocol in self.medium.iter().flat_map(Medium::unwanted_protocols) {
            add("-fw_cfg", format!("name=opt/org.tianocore/{protocol},string=no"));
        }
        all.extend(self.firmware.arguments(folder));
        all.extend(self.part_arguments(folder));
        all.extend(self.medium_arguments());
        all
    }

    fn part_arguments(&self, folder: &Path) -> Vec<String> {
        let network = self.medium.as_ref().is_some_and(Medium::is_network);
        let rom = self.medium.as_ref().is_some_and(Medium::wants_rom);
        let mut all = Vec::new();
        // Port 0 of the built-in controller is the optical drive's.
        let mut sata_port = 1;
        let mut nics = 0;
        let mut disks = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let mut drive = |size: u64, content: Option<&Path>| {
                let of_part = index - usize::from(matches!(part, Part::SecondPath(_)));
                let (id, file) = (format!("drive{index}"), folder.join(format!("disk{of_part}.raw")));
                if !file.exists() {
                    sparse_file(&file, size, content);
                }
                // The file is removed with the machine: nothing needs to reach the platter. What a machine discards is gone.
                let value = format!(
                    "if=none,id={id},format=raw,cache=unsafe,discard=unmap,file={}",
                    file.display()
                );
                all.extend(["-drive".to_owned(), value]);
                id
            };
            let devices = match part {
                Part::Disk(disk) => {
                    let id = drive(disk.size, disk.content.as_deref());
                    let mut devices = disk.devices(&id, index, sata_port);
                    sata_port += usize::from(disk.bus == DiskBus::Sata);
                    let order = match self.order {
                        Order::Disk if disks == 0 => ",bootindex=0",
                        Order::Managed if disks == 0 => ",bootindex=2",
                        _ => "",
                    };
                    if let Some(device) = devices.last_mut() {
                        *device += order;
                    }
                    disks += 1;
                    devices
                }
                Part::DiskDevice(device, size) => vec![format!("{device},drive={}", drive(*size, None))],
                Part::SecondPath(device) => vec![format!("{device},drive={}", drive(0, None))],
                Part::Device(device) => vec![device.clone()],
                Part::Nic(nic) => {
                    all.extend(nic.arguments(index, rom, network && nics == 0));
                    nics += 1;
                    Vec::new()
                }
            };
            all.extend(
                devices
                    .into_iter()
                    .flat_map(|device| ["-device".to_owned(), device]),
            );
        }
        all
    }

    fn medium_arguments(&self) -> Vec<String> {
        let drive = |options: &str, file: &Path| {
            [
                "-drive".to_owned(),
                format!("if=none,id=medium,format=raw,{options},file={}", file.display()),
            ]
        };
        let device = |value: &str| ["-device".to_owned(), value.to_owned()];
        let order = match self.order {
            Order::Medium => ",bootindex=0",
            Order::Disk => ",bootindex=1",
            Order::Firmware | Order::Managed => "",
        };
        let cd = |bus: &str, iso: &Path| {
            let reader = format!("ide-cd,bus={bus},drive=medium{order}");
            [drive("media=cdrom,readonly=on", iso), device(&reader)].concat()
        };
        match &self.medium {
            None | Some(Medium::Network | Medium::FirmwareHttp | Medium::FirmwarePxe) => Vec::new(),
            Some(Medium::Cd(iso)) => cd("ide.0", iso),
            Some(Medium::CdOn(bus, iso)) => cd(bus, iso),
            Some(Medium::UsbStick(image)) => {
                // A stick is writable; writes are lost, so that the image stays unchanged.
                let stick = format!("usb-storage,bus=stick.0,drive=medium,removable=on{order}");
                [
                    drive("snapshot=on", image),
                    device("qemu-xhci,id=stick"),
                    device(&stick),
                ]
                .concat()
            }
            Some(Medium::Kernel {
                kernel,
                initramfs,
                arguments,
            }) => {
                let pairs = [
                    ("-kernel", kernel.display().to_string()),
                    ("-initrd", initramfs.display().to_string()),
                    // An emulated timer may be late on a busy computer: Linux 6.12 assumes that it is broken, and
                    // panics (QEMU 7.2).
                    ("-append", format!("{arguments} no_timer_check")),
                ];
                pairs
                    .into_iter()
                    .flat_map(|(option, value)| [option.to_owned(), value])
                    .collect()
            }
        }
    }
}

/// The time in so many seconds, UTC, as `-rtc base=` takes it.
fn clock_text(ahead: i64) -> String {
    let since_1970 = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let then = i64::try_from(since_1970).unwrap_or_default() + ahead;
    let then = chrono::DateTime::from_timestamp(then, 0).unwrap_or_default();
    then.format("%Y-%m-%dT%H:%M:%S").to_string()
}
