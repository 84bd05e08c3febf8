//! Loads drivers for the devices that are present and for those that appear, and reports changes of disks. Network drivers first, so that
//! DHCP runs while disks are still being found.

pub mod devices;
mod disk_links;
pub mod modules;
mod storage;
pub mod uevents;

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use tracing::{debug, info, warn};

use crate::config::live::KernelArguments;
use devices::DeviceEvents;
use modules::ModuleIndex;
use storage::Pending;
use uevents::Event;

/// Loaded for every machine, after all others: file systems and interfaces that no `modalias` names, and the
/// modules that make SCSI devices disks, so that these need not wait for a request.
const ALWAYS: [&str; 10] = [
    "sd_mod",
    "sr_mod",
    EFI_VARIABLES,
    storage::BARRIER,
    "ipmi_si",
    "ipmi_devintf",
    // The input device of the power button.
    "evdev",
    PANIC_STORE,
    // The table of a firmware that booted by iSCSI.
    "iscsi_ibft",
    // Interfaces of InfiniBand cards, in images that carry it: no device requests it.
    "ib_ipoib",
];
/// The file system of UEFI's variables.
pub const EFI_VARIABLES: &str = "efivarfs";
/// Keeps the kernel's last messages in UEFI's variables. Without these, ACPI may have a store, and its driver is built in.
pub const PANIC_STORE: &str = "efi_pstore";
/// Modules are loaded by this many threads: a slow device holds up only one.
const THREADS: usize = 3;
/// Drivers probe their devices asynchronously, so that loading one does not wait for all others.
const PARAMETERS: &CStr = c"async_probe";
/// Parameters of modules that otherwise create devices when they are loaded, with the kernel's options and so in place of configured
/// ones: the same as in systemd's `modprobe.d/systemd.conf`, and `ifb`. Modules that the kernel itself has loaded by `modprobe` have
/// them from the image's `/etc/modprobe.d`.
const NO_DEVICES: [(&str, &CStr); 3] = [
    ("bonding", c"max_bonds=0"),
    ("dummy", c"numdummies=0"),
    ("ifb", c"numifbs=0"),
];

/// Starts threads that load drivers and listen for devices. Changes of disks go to `events`; `loaded` is called with the name of each
/// module that is loaded for every machine, after an attempt that failed, too.
pub fn start(events: DeviceEvents, loaded: fn(&str)) {
    if let Err(error) = begin(events, loaded) {
        warn!("no drivers are loaded: {error}");
    }
}

/// Loads a module by name and returns when it is there, on the live image: elsewhere the kernel finds it without help.
pub fn load(name: &str) {
    if std::process::id() != 1 {
        return;
    }
    match Loader::new() {
        Ok(loader) => loader.load(name),
        Err(error) => warn!(module = name, "not loaded: {error}"),
    }
}

fn begin(events: DeviceEvents, loaded: fn(&str)) -> std::io::Result<()> {
    let loader = Arc::new(Loader::new()?);
    let (sender, receiver) = channel();
    let tasks = Tasks {
        sender,
        loader: Arc::clone(&loader),
    };
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..THREADS {
        let (loader, receiver) = (Arc::clone(&loader), Arc::clone(&receiver));
        thread(format!("drivers {number}"), move || {
            loader.work(&receiver, loaded)
        })?;
    }
    let disks = disk_linker(events.clone())?;
    thread("coldplug".to_owned(), move || {
        if tasks.loader.in_order {
            tasks.loader.load_network_in_order();
        }
        // Opened before the listing, so that devices that appear during it are not missed.
        match uevents::Socket::open() {
            Ok(socket) => {
                let late = tasks.clone();
                let listening = thread("devices".to_owned(), move || listen(&socket, &late, &disks));
                if let Err(error) = listening {
                    warn!("devices that are plugged in later are not noticed: {error}");
                }
            }
            Err(error) => warn!("devices that are plugged in later are not noticed: {error}"),
        }
        for modalias in coldplug() {
            tasks.add(Task::Device(modalias));
        }
        for name in ALWAYS {
            tasks.add(Task::Module(name));
        }
        let loader = &tasks.loader;
        storage::wait_until_settled(&loader.pending, loader.file(storage::BARRIER).as_deref());
        // The device found last may still lack its links.
        disk_links::update();
        events.storage_settled();
    })
}

fn thread(name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(name)
        .stack_size(256 << 10)
        .spawn(work)
        .map(drop)
}

enum Task {
    Device(String),
    Module(&'static str),
}

/// The queue to the threads that load.
#[derive(Clone)]
struct Tasks {
    sender: Sender<Task>,
    loader: Arc<Loader>,
}

impl Tasks {
    fn add(&self, task: Task) {
        self.loader.pending.task_added();
        // The receiving threads never end.
        let _ = self.sender.send(task);
    }
}

struct Loader {
    folder: PathBuf,
    index: ModuleIndex,
    done: Mutex<HashSet<String>>,
    pending: Pending,
    /// Drivers find their devices one after the other, in the order of the buses: cards keep the kernel's names, which count up.
    in_order: bool,
}

impl Loader {
    /// A loader for the running kernel's modules.
    fn new() -> std::io::Result<Self> {
        let release = nix::sys::utsname::uname()?
            .release()
            .to_string_lossy()
            .into_owned();
        let folder = Path::new("/lib/modules").join(release);
        let read = |name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let index = ModuleIndex::parse(
            &read("modules.dep"),
            &read("modules.alias"),
            &read("modules.softdep"),
        );
        Ok(Self {
            folder,
            index,
            done: Mutex::default(),
            pending: Pending::default(),
            in_order: !KernelArguments::of_this_boot().has_predictable_names(),
        })
    }

    fn work(&self, tasks: &Mutex<Receiver<Task>>, loaded: fn(&str)) {
        loop {
            let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            match task {
                Ok(Task::Device(modalias)) => {
                    for name in self.index.wanted_by(&modalias) {
                        self.load(name);
                    }
                }
                Ok(Task::Module(name)) => {
                    self.load(name);
                    loaded(name);
                }
                Err(_) => return,
            }
            self.pending.task_done();
        }
    }

    /// Loads the drivers of network cards one after the other, in the order of their devices. A bus on top of another
    /// (virtio) has its devices once the driver of that is loaded.
    fn load_network_in_order(&self) {
        let mut seen = HashSet::new();
        loop {
            let mut all = coldplug();
            all.retain(|modalias| is_network(modalias) && seen.insert(modalias.clone()));
            if all.is_empty() {
                return;
            }
            for modalias in all {
                for name in self.index.wanted_by(&modalias) {
                    self.load(name);
                }
            }
        }
    }

    /// A module's own file; none if it is built in or absent.
    fn file(&self, name: &str) -> Option<PathBuf> {
        let plan = self.index.plan(name);
        let (_, file) = plan.iter().find(|(planned, _)| *planned == name)?;
        Some(self.folder.join(file))
    }

    fn load(&self, name: &str) {
        for (name, file) in self.index.plan(name) {
            // Two threads may load one module: the kernel makes the second wait and then reports that it
            // exists.
            if self
                .done
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(name)
            {
                continue;
            }
            // A failed load is repeated when the next device requests it: by then its cause may be gone.
            if self.load_one(name, file) {
                self.done
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(name.to_owned());
            }
        }
    }

    /// True when the module is loaded now.
    fn load_one(&self, name: &str, file: &str) -> bool {
        let makes_none = NO_DEVICES.iter().find(|(module, _)| *module == name);
        let parameters = match makes_none {
            Some((_, parameters)) => parameters,
            None if self.in_order => c"",
            None => PARAMETERS,
        };
        let loaded = File::open(self.folder.join(file))
            .map_err(|error| error.to_string())
            .and_then(
                |file| match finit_module(&file, parameters, ModuleInitFlags::empty()) {
                    Ok(()) | Err(Errno::EEXIST) => Ok(()),
                    Err(error) => Err(error.to_string()),
                },
            );
        match &loaded {
            Ok(()) => debug!(module = name, "loaded"),
            // Many drivers report this when their device is absent.
            Err(error) => info!(module = name, "not loaded: {error}"),
        }
        loaded.is_ok()
    }
}

/// The modaliases of all present devices, each once, network devices first.
fn coldplug() -> Vec<String> {
    let mut found = Vec::new();
    collect(Path::new("/sys/devices"), &mut found, 0);
    found.sort_by_key(|modalias| !is_network(modalias));
    let mut seen = HashSet::new();
    found.retain(|modalias| seen.insert(modalias.clone()));
    found
}

/// A PCI device of class 02, or virtio's network device or its PCI form.
fn is_network(modalias: &str) -> bool {
    modalias.starts_with("pci:") && modalias.contains("bc02") || modalias.starts_with("virtio:d00000001")
}

fn collect(folder: &Path, found: &mut Vec<String>, depth: usize) {
    if let Ok(text) = std::fs::read_to_string(folder.join("modalias")) {
        let text = text.trim_end();
        if !text.is_empty() {
            found.push(text.to_owned());
        }
    }
    // Deeper than any bus; links are not followed.
    if depth > 24 {
        return;
    }
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    // The order of the addresses on a bus.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), found, depth + 1);
        }
    }
}

fn listen(socket: &uevents::Socket, tasks: &Tasks, disks: &Sender<()>) {
    loop {
        match socket.next() {
            Ok(event) => {
                if event.is_of_a_device() {
                    tasks.loader.pending.device_came();
                }
                if let Some(modalias) = event.modalias.clone().filter(|_| event.is_arrival()) {
                    tasks.add(Task::Device(modalias));
                }
                if event.is_of_a_disk() {
                    let _ = disks.send(());
                }
            }
            Err(Errno::ENOBUFS) => {
                warn!("too many devices at once: listing all of them again");
                for modalias in coldplug() {
                    tasks.add(Task::Device(modalias));
                }
                let _ = disks.send(());
            }
            Err(Errno::EINTR) => {}
            Err(error) => {
                warn!("devices: {error}");
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
    }
}

/// A thread that rebuilds `/dev/disk` on request and then reports it; requests that arrive together are
/// handled together.
fn disk_linker(events: DeviceEvents) -> std::io::Result<Sender<()>> {
    let (sender, receiver) = channel::<()>();
    thread("disk links".to_owned(), move || {
        while receiver.recv().is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(100));
            while receiver.try_recv().is_ok() {}
            disk_links::update();
            events.disks_changed();
        }
    })?;
    Ok(sender)
}

impl Event {
    fn is_arrival(&self) -> bool {
        self.action == "add" || self.action == "change"
    }

    /// Modules and their memory come and go with every check whether storage has settled; network queues
    /// carry no information here.
    fn is_of_a_device(&self) -> bool {
        !["module", "slab", "drivers", "bus", "queues", "net"].contains(&self.subsystem.as_str())
    }

    /// True when a disk or partition was added, removed or changed; loop devices and RAM disks do not count.
    fn is_of_a_disk(&self) -> bool {
        self.subsystem == "block"
            && !["loop", "ram", "zram"]
                .iter()
                .any(|prefix| self.node.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_reported_and_virtual_devices_of_the_kernel_are_not() {
        let of = |subsystem: &str, node: &str| Event {
            subsystem: subsystem.into(),
            node: node.into(),
            ..Event::default()
        };
        assert!(of("block", "sda").is_of_a_disk());
        assert!(of("block", "nvme0n1p1").is_of_a_disk());
        assert!(!of("block", "loop0").is_of_a_disk());
        assert!(!of("block", "zram0").is_of_a_disk());
        assert!(!of("scsi", "").is_of_a_disk());
        assert!(of("scsi", "").is_of_a_device());
        assert!(!of("module", "").is_of_a_device());
    }

    #[test]
    fn network_devices_come_first() {
        assert!(is_network(
            "pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00"
        ));
        assert!(is_network("virtio:d00000001v00001AF4"));
        assert!(!is_network(
            "pci:v00001AF4d00001001sv00001AF4sd00000002bc01sc00i00"
        ));
        assert!(!is_network("usb:v1D6Bp0002d0601dc09dsc00dp01ic09isc00ip00in00"));
    }
}
