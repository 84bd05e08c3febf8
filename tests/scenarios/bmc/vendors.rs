//! Ten machines under QEMU behind BMCs of ten vendors, by one import: all become Agents with inventory and matched BMC, and take the
//! [walk](muster_tests::bmc::walk).
//!
//! `MUSTER_RACK_MACHINES` sets another number of machines, two at least.

use std::sync::Arc;

use muster_api::ids::InfraEnvId;
use muster_bmc_emulator::machine::{Hardware, Machine as _};
use muster_bmc_emulator::{Certificate, Emulator, Quirks, Setup};
use muster_tests::bmc::{BmcMachine, import, line};
use muster_tests::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Nic, Slots, UserNet};
use muster_tests::rest::inventory;

use muster_tests::bmc::walk::{self, Watch, await_discovered};

/// Default number of machines.
const MACHINES: usize = 10;
/// BMCs with a discovery at the same time; the machines keep running afterwards.
const PARALLEL: usize = 4;

/// A machine and its BMC.
struct Unit {
    name: String,
    machine: Arc<BmcMachine>,
    bmc: Emulator,
}

impl Unit {
    /// Machine number `number` of the lab, fit for an installation; half of them have UEFI.
    fn new(vendor: &str, quirks: Quirks, number: u8, slots: Slots) -> Self {
        let name = vendor.replace('_', "-");
        let mac = format!("52:54:00:bc:00:{number:02x}");
        let hardware = Hardware {
            macs: vec![mac.clone()],
            ..Hardware::example(number)
        };
        let firmware = if number.is_multiple_of(2) {
            Firmware::SeaBios
        } else {
            Firmware::Ovmf
        };
        let machine = Machine::new(&name)
            .firmware(firmware)
            .memory_mib(hardware.memory_gib * 1024)
            .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &hardware.drives[0].serial))
            .nic(Nic::user("virtio-net-pci", &mac, UserNet::new(2).hostname(&name)));
        let machine = Arc::new(BmcMachine::new(machine, hardware, slots));
        let bmc = Setup::new(Arc::<BmcMachine>::clone(&machine))
            .quirks(quirks)
            .tls(Certificate::self_signed(&["bmc.lab.example"]));
        Self {
            name,
            machine,
            bmc: bmc.start().unwrap(),
        }
    }
}

impl walk::Unit for Unit {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_on(&self) -> bool {
        self.machine.is_on()
    }

    fn has_medium(&self) -> bool {
        self.bmc.image().is_some()
    }

    fn console(&self) -> String {
        // A machine that was never on has none.
        match self.machine.is_on() {
            true => self.machine.console().tail(),
            false => String::new(),
        }
    }
}

#[test]
#[ignore = "ten machines at once: forty minutes on two cores, and 16 GB of memory"]
fn machines_of_ten_vendors_become_nodes_by_one_import_again_and_again() {
    let slots = Slots::all();
    let hub = walk::hub(&format!("--bmc-parallel={PARALLEL}"));
    let vendors = Quirks::vendors().into_iter().take(machines()).zip(41..);
    let units: Vec<Unit> = vendors
        .map(|((vendor, quirks), number)| Unit::new(vendor, quirks, number, slots.with()))
        .collect();
    let infra_env: InfraEnvId = hub.infra_env_id().parse().unwrap();
    let lines: Vec<String> = units
        .iter()
        .map(|unit| line(&unit.bmc.url(), &unit.name))
        .collect();
    let watch = Watch::begin();
    import(&hub.service, infra_env, &lines);

    let bmcs = await_discovered(&hub, infra_env, &units);
    watch.tell("all machines are hosts, their drives are empty");
    let client = hub.service.client();
    for unit in &units {
        let bmc = bmcs.iter().find(|bmc| bmc.name == unit.name).unwrap();
        let host = client.host(infra_env, bmc.host_id.unwrap()).unwrap();
        // It booted the image that was inserted by its BMC only, as its kernel's arguments show.
        let line = inventory(&host).unwrap().boot.unwrap().command_line;
        let named = format!("muster.bmc={}", bmc.id.0.simple());
        assert!(
            line.split_whitespace().any(|argument| argument == named),
            "{line}"
        );
        assert_eq!(unit.bmc.sessions(), 0, "{}", unit.name);
    }
    walk::walk(hub, infra_env, &units, &watch);
}

/// The number of machines: two at least.
fn machines() -> usize {
    let given = std::env::var("MUSTER_RACK_MACHINES").ok();
    let given = given.map(|text| text.parse().expect("MUSTER_RACK_MACHINES is a number"));
    given.unwrap_or(MACHINES).clamp(2, MACHINES)
}
