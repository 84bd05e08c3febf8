//! Common code of machine scenarios: a service with two InfraEnvs, machines with known hardware, and the wait for a
//! host.

#![expect(clippy::unwrap_used, reason = "a test stops where it goes wrong")]

pub mod login;
pub mod logs;

use std::path::PathBuf;
use std::time::Duration;

use crate::condition::await_condition;
use crate::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Medium, Nic, Running, UserNet};
use crate::rest::{Client, inventory};
use crate::service::{Service, Settings};
use muster_api::boot::BootFile;
use muster_api::host::{Host, HostStatus};
use muster_api::infra_env::InfraEnv;
use muster_api::inventory::{Disk as FoundDisk, Interface, Inventory};
use serde_json::json;
use tempfile::TempDir;

/// MAC addresses of a [`known_machine`], in order.
pub const MACS: [&str; 2] = ["52:54:00:aa:00:01", "52:54:00:aa:00:02"];

/// Serial numbers of the disks of a [`known_machine`].
const DISKS: [&str; 2] = ["SER-A", "SER-B"];

/// Far above the time in which a service notices a test's change.
const SOON: Duration = Duration::from_secs(120);

/// A service with an InfraEnv that machines boot for, and another that must stay empty.
pub struct Discovery {
    pub service: Service,
    pub infra_env: InfraEnv,
    other: InfraEnv,
    folder: TempDir,
}

impl Discovery {
    /// Starts a service and creates the InfraEnvs.
    pub fn on(settings: Settings) -> Self {
        let service = settings.start();
        let other = service.client().create_infra_env("elsewhere").unwrap();
        let infra_env = service.client().create_infra_env("rack-one").unwrap();
        Self {
            service,
            infra_env,
            other,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn client(&self) -> &Client {
        self.service.client()
    }

    /// Appends kernel arguments to those of the InfraEnv's machines.
    pub fn append(&self, arguments: &[&str]) {
        let append = |argument: &&str| json!({"operation": "append", "value": argument});
        let list: Vec<_> = arguments.iter().map(append).collect();
        let change = json!({ "kernel_arguments": list });
        let client = self.client();
        client.update_infra_env(self.infra_env.id, &change).unwrap();
    }

    /// The InfraEnv's ISO, downloaded from the URL that the service returns.
    pub fn iso(&self) -> PathBuf {
        let url = self.client().image_url(self.infra_env.id).unwrap();
        let file = self.folder.path().join("discovery.iso");
        let length = self
            .client()
            .download(&self.service.reachable(&url), &file)
            .unwrap();
        assert!(length > 1 << 20, "the ISO at {url} has only {length} bytes");
        file
    }

    /// Waits until the InfraEnv has a host with that status; checks that the other InfraEnv has none.
    #[track_caller]
    pub fn await_host(&self, machine: &mut Running, status: HostStatus) -> Host {
        let what = format!("{} to be {}", machine.name(), status.name());
        let host = self.await_one_host(machine, &what, |host| host.status == Some(status));
        assert!(
            self.client().hosts(self.other.id).unwrap().is_empty(),
            "the host is in the wrong InfraEnv too"
        );
        host
    }

    /// Waits until the InfraEnv has a host with an inventory.
    #[track_caller]
    pub fn await_inventory(&self, machine: &mut Running) -> Host {
        let what = format!("the inventory of {}", machine.name());
        self.await_one_host(machine, &what, |host| !host.inventory.is_empty())
    }

    /// Waits until the inventory has both disks and an address for each card of a [`known_machine`]: a slow
    /// machine may find a disk, and a link may come up, after the first inventory was sent.
    #[track_caller]
    fn await_whole_inventory(&self, machine: &mut Running) -> Host {
        let what = "an inventory with both disks and the addresses of both cards";
        self.await_one_host(machine, what, |host| {
            let found = inventory(host);
            let cards = found.iter().flat_map(|found| &found.interfaces);
            let addressed = cards
                .filter(|card| MACS.contains(&&*card.mac_address) && !card.ipv4_addresses.is_empty())
                .count();
            let disks = found.iter().flat_map(|found| &found.disks);
            let present = disks.filter(|disk| DISKS.contains(&&*disk.serial)).count();
            addressed == MACS.len() && present == DISKS.len()
        })
    }

    #[track_caller]
    pub fn await_one_host(&self, machine: &mut Running, what: &str, wanted: impl Fn(&Host) -> bool) -> Host {
        await_condition(what, machine.time_left(), || {
            assert!(machine.is_on(), "{} switched itself off", machine.name());
            let hosts = self
                .client()
                .hosts(self.infra_env.id)
                .map_err(|error| error.to_string())?;
            match hosts.as_slice() {
                [] => Err("no host".to_owned()),
                [host] if wanted(host) => Ok(host.clone()),
                [host] => Err(format!("{:?}: {:?}", host.status, host.status_info)),
                more => panic!("one machine became {} hosts", more.len()),
            }
        })
    }

    /// Boots a [`known_machine`] from `medium` and checks all results of a discovery.
    #[track_caller]
    pub fn discover(&self, name: &str, firmware: Firmware, medium: Medium) {
        let nic = Nic::user("virtio-net-pci", MACS[0], UserNet::new(2).hostname(name));
        self.discover_machine(
            known_machine(name).firmware(firmware).boot(medium).nic(nic),
            name,
            firmware,
        );
    }

    /// Switches on a [`known_machine`] and checks all results of a discovery.
    #[track_caller]
    pub fn discover_machine(&self, machine: Machine, name: &str, firmware: Firmware) -> Running {
        let mut machine = Self::start(machine);
        self.assert_discovered(&mut machine, name, firmware);
        machine
    }

    /// Switches on a [`known_machine`] with its first card connected; the second one has no network.
    #[track_caller]
    pub fn start(machine: Machine) -> Running {
        let second = Nic::user("e1000e", MACS[1], UserNet::new(3).isolated());
        machine.nic(second).start()
    }

    /// Waits until a [`known_machine`] that was [started](Self::start) is known, and checks all results of a discovery.
    #[track_caller]
    pub fn assert_discovered(&self, machine: &mut Running, name: &str, firmware: Firmware) {
        let host = self.await_host(machine, HostStatus::KnownUnbound);
        println!(
            "{name}: known {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
        assert_eq!(host.requested_hostname, name);
        let host = self.await_whole_inventory(machine);
        println!(
            "{name}: both disks are known and both cards have addresses {:.1} s after power-on",
            machine.uptime().as_secs_f32()
        );
        assert_is_known_machine(&inventory(&host).unwrap(), firmware);
        self.assert_status_moved(HostStatus::DiscoveringUnbound, HostStatus::KnownUnbound);
    }

    /// Checks that the service saw the machine download just these files, and its registration. `mac`: the card that
    /// its requests named; empty: they named none.
    #[track_caller]
    pub fn assert_fetched(&self, files: &[BootFile], mac: &str) {
        let hosts = self.client().hosts(self.infra_env.id).unwrap();
        let booting = await_condition("what the machine fetched to be told", SOON, || {
            let booting = self.client().booting_machines(self.infra_env.id);
            let booting = booting.map_err(|error| error.to_string())?;
            if booting.is_empty() {
                return Err("nothing is told".to_owned());
            }
            Ok(booting)
        });
        let [machine] = booting.as_slice() else {
            panic!("one machine is told as several: {booting:#?}");
        };
        let fetched: Vec<BootFile> = machine.files.iter().map(|one| one.file).collect();
        assert_eq!(
            (fetched.as_slice(), machine.mac_address.as_str()),
            (files, mac),
            "{machine:#?}"
        );
        assert_eq!(
            (machine.host_id, machine.registered),
            (Some(hosts[0].id), true),
            "{machine:#?}"
        );
        for one in &machine.files {
            assert!(one.refusal.is_empty() && one.bytes > 0, "{machine:#?}");
        }
        let size = |file: BootFile| {
            machine
                .files
                .iter()
                .find(|one| one.file == file)
                .map(|one| one.bytes)
        };
        assert!(
            size(BootFile::Kernel).is_none_or(|bytes| bytes > 1 << 20),
            "{machine:#?}"
        );
    }

    /// Checks that the InfraEnv's events report this change of status.
    #[track_caller]
    pub fn assert_status_moved(&self, from: HostStatus, to: HostStatus) {
        let events = self.client().events(self.infra_env.id).unwrap();
        let moves = events
            .iter()
            .filter(|event| event.name.as_deref() == Some("host_status_updated"));
        let messages: Vec<&str> = moves.map(|event| event.message.as_str()).collect();
        let reported = messages
            .iter()
            .any(|message| message.contains(from.name()) && message.contains(to.name()));
        assert!(
            reported,
            "no event reports {} -> {}: {messages:?}",
            from.name(),
            to.name()
        );
    }
}

/// A machine that is fit (two CPUs, 8 GiB, a disk beyond 50 GB), without a network card yet.
pub fn known_machine(name: &str) -> Machine {
    Machine::new(name)
        .memory_mib(8192)
        .smbios("type=1,manufacturer=AcmeCorp,product=Rack-1000,serial=ACME-0001")
        .disk(Disk::new(DiskBus::Virtio, 60 * GIB, DISKS[0]))
        .disk(Disk::new(DiskBus::Sata, GIB, DISKS[1]).model("ACME-SATA"))
}

#[track_caller]
fn assert_is_known_machine(found: &Inventory, firmware: Firmware) {
    let cpu = found.cpu.as_ref().unwrap();
    assert_eq!((cpu.count, cpu.architecture.as_str()), (2, "x86_64"));
    assert_eq!(found.memory.as_ref().unwrap().physical_bytes, 8 << 30);
    let vendor = found.system_vendor.as_ref().unwrap();
    assert_eq!(
        (
            &*vendor.manufacturer,
            &*vendor.product_name,
            &*vendor.serial_number
        ),
        ("AcmeCorp", "Rack-1000", "ACME-0001")
    );
    assert!(vendor.is_virtual);

    let boot = found.boot.as_ref().unwrap();
    assert_eq!(boot.current_boot_mode, firmware.boot_mode());
    let secure = match firmware {
        Firmware::SeaBios => "NotSupported",
        Firmware::Ovmf | Firmware::Aavmf => "Disabled",
        Firmware::OvmfSecureBoot => "Enabled",
    };
    assert_eq!(boot.secure_boot_state, secure);

    assert_eq!(disk(found, "SER-A").size_bytes, 60 << 30);
    assert!(disk(found, "SER-A").path.starts_with("/dev/vd"));
    assert!(disk(found, "SER-A").installation_eligibility.eligible);
    assert_eq!(disk(found, "SER-B").size_bytes, 1 << 30);
    assert_eq!(disk(found, "SER-B").model, "ACME-SATA");
    assert!(disk(found, "SER-B").path.starts_with("/dev/sd"));

    for (mac, network) in MACS.iter().zip([["10.0.2.", "10.91.0."], ["10.0.3.", "10.0.3."]]) {
        let interface = interface(found, mac);
        assert!(interface.has_carrier, "{interface:?}");
        let address = interface
            .ipv4_addresses
            .first()
            .unwrap_or_else(|| panic!("no address: {interface:?}"));
        let expected = network.iter().any(|prefix| address.starts_with(prefix)) && address.ends_with("/24");
        assert!(expected, "{mac} has {address}");
    }
}

#[track_caller]
fn disk<'a>(inventory: &'a Inventory, serial: &str) -> &'a FoundDisk {
    let found = inventory.disks.iter().find(|disk| disk.serial == serial);
    found.unwrap_or_else(|| panic!("no disk {serial} in {:#?}", inventory.disks))
}

/// The interface with this MAC address.
#[track_caller]
pub fn interface<'a>(inventory: &'a Inventory, mac: &str) -> &'a Interface {
    let found = inventory
        .interfaces
        .iter()
        .find(|interface| interface.mac_address == mac);
    found.unwrap_or_else(|| panic!("no interface {mac} in {:#?}", inventory.interfaces))
}
