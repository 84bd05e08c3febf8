//! Simulated machines: their components depend only on the seed and the number, and are computed on demand, so that a
//! waiting agent keeps none of them in memory.

mod disks;
mod hostile;
mod models;
mod network;

pub use hostile::{Hostility, hostile};

use md5::{Digest, Md5};
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::{BmcId, HostId};
use muster_api::inventory::{Boot, Cpu, Inventory, Memory, SystemVendor};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use uuid::Uuid;

use models::Model;

const GIB: i64 = 1 << 30;

/// One machine in ten is not fit, in one of these ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    TooFewCpus,
    TooLittleMemory,
    SmallDisks,
    NoDisks,
    ForbiddenName,
    NoTime,
}

/// A machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    seed: u64,
    number: u32,
    /// The BMC that booted it, which its kernel's arguments name.
    bmc: Option<BmcId>,
}

impl Machine {
    /// The machine of that number.
    pub fn new(seed: u64, number: u32) -> Self {
        Self {
            seed,
            number,
            bmc: None,
        }
    }

    /// The same, booted from the image of this BMC.
    #[must_use]
    pub fn booted_by(self, bmc: BmcId) -> Self {
        Self {
            bmc: Some(bmc),
            ..self
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Randomness for one purpose.
    pub fn random(self, purpose: u64) -> ChaCha8Rng {
        let mixed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(self.number) << 8) ^ purpose;
        ChaCha8Rng::seed_from_u64(mixed)
    }

    fn model(self) -> &'static Model {
        let total: u32 = models::CATALOGUE.iter().map(|model| model.share).sum();
        let mut at = self.random(1).random_range(0..total);
        models::CATALOGUE
            .iter()
            .find(|model| {
                let here = at < model.share;
                at = at.saturating_sub(model.share);
                here
            })
            .expect("the number is below the sum of the shares")
    }

    fn flaw(self) -> Option<Flaw> {
        let mut random = self.random(2);
        if !random.random_ratio(1, 10) {
            return None;
        }
        Some(match random.random_range(0..6) {
            0 => Flaw::TooFewCpus,
            1 => Flaw::TooLittleMemory,
            2 => Flaw::SmallDisks,
            3 => Flaw::NoDisks,
            4 => Flaw::ForbiddenName,
            _ => Flaw::NoTime,
        })
    }

    /// True when its clock follows a time source.
    pub fn keeps_time(self) -> bool {
        self.flaw() != Some(Flaw::NoTime)
    }

    fn board_serial(self) -> String {
        format!("FLT{:08X}B{:06}", self.seed & 0xffff_ffff, self.number)
    }

    fn system_serial(self) -> String {
        format!("FLT{:08X}S{:06}", self.seed & 0xffff_ffff, self.number)
    }

    /// The id under which it registers: MD5 of the board's serial number
    /// (docs/protocol/agent-inventory.md#14, rule 1).
    pub fn host_id(self) -> HostId {
        HostId(Uuid::from_bytes(Md5::digest(self.board_serial()).into()))
    }

    /// The ids of its parts, as its SMBIOS tables and its cards have them.
    pub fn fingerprint(self) -> Fingerprint {
        let interfaces = network::interfaces(self);
        let cards = interfaces.into_iter().filter(|one| one.kind == "physical");
        Fingerprint {
            board_serial: self.board_serial(),
            system_serial: self.system_serial(),
            system_uuid: Uuid::from_bytes(Md5::digest(self.system_serial()).into()).to_string(),
            macs: cards.map(|card| card.mac_address).collect(),
            disk_wwns: Vec::new(),
        }
    }

    /// Its name in the network.
    pub fn hostname(self) -> String {
        match self.flaw() {
            Some(Flaw::ForbiddenName) => "localhost".into(),
            _ => format!(
                "rack{:03}-u{:02}",
                self.number / network::PER_RACK,
                self.number % network::PER_RACK + 1
            ),
        }
    }

    fn command_line(self) -> String {
        let named = self.bmc.map(|id| format!(" muster.bmc={}", id.0.simple()));
        format!(
            "console=tty0 console=ttyS0,115200n8 quiet initrd=initrd{}\n",
            named.unwrap_or_default()
        )
    }

    /// Its inventory.
    pub fn inventory(self) -> Inventory {
        let model = self.model();
        let flaw = self.flaw();
        let mut random = self.random(3);
        let pick = |from: &[i64], random: &mut ChaCha8Rng| from[random.random_range(0..from.len())];
        let threads = pick(model.threads, &mut random);
        let memory = pick(model.memory_gib, &mut random) * GIB;
        let threads = if flaw == Some(Flaw::TooFewCpus) {
            1
        } else {
            threads
        };
        let memory = if flaw == Some(Flaw::TooLittleMemory) {
            4 * GIB
        } else {
            memory
        };
        let interfaces = network::interfaces(self);
        Inventory {
            bmc_address: if model.is_virtual {
                "0.0.0.0".into()
            } else {
                network::bmc_address(self)
            },
            bmc_v6address: "::/0".into(),
            boot: Some(Boot {
                command_line: self.command_line(),
                current_boot_mode: if model.uefi { "uefi".into() } else { "bios".into() },
                device_type: String::new(),
                pxe_interface: String::new(),
                secure_boot_state: if model.uefi {
                    "Disabled".into()
                } else {
                    "NotSupported".into()
                },
            }),
            cpu: Some(Cpu {
                architecture: model.architecture.into(),
                count: threads,
                flags: model.cpu_flags.split(' ').map(str::to_owned).collect(),
                frequency: model.megahertz,
                model_name: model.cpu.into(),
            }),
            disks: match flaw {
                Some(Flaw::NoDisks) => Vec::new(),
                _ => disks::disks(self, model, flaw == Some(Flaw::SmallDisks)),
            },
            gpus: models::gpus(model),
            hostname: self.hostname(),
            routes: network::routes(self, &interfaces),
            interfaces,
            memory: Some(Memory {
                physical_bytes: memory,
                physical_bytes_method: if model.is_virtual {
                    "meminfo".into()
                } else {
                    "dmidecode".into()
                },
                // The kernel and its tables use some.
                usable_bytes: memory - memory / 64,
            }),
            system_vendor: Some(SystemVendor {
                manufacturer: model.manufacturer.into(),
                product_name: model.product.into(),
                serial_number: self.system_serial(),
                is_virtual: model.is_virtual,
            }),
            tpm_version: if model.is_virtual {
                "none".into()
            } else {
                "2.0".into()
            },
            problems: Vec::new(),
            truncation: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_machine_is_the_same_each_time_and_unlike_the_others() {
        let machines: Vec<Machine> = (0..2000).map(|number| Machine::new(1, number)).collect();
        assert_eq!(machines[7].inventory(), Machine::new(1, 7).inventory());
        assert_ne!(machines[7].inventory(), Machine::new(2, 7).inventory());
        let ids: HashSet<HostId> = machines.iter().map(|machine| machine.host_id()).collect();
        assert_eq!(ids.len(), machines.len());
        let mut macs = HashSet::new();
        let mut addresses = HashSet::new();
        let mut disks = HashSet::new();
        let mut ports = HashSet::new();
        for inventory in machines.iter().map(|machine| machine.inventory()) {
            for interface in inventory
                .interfaces
                .iter()
                .filter(|interface| interface.name != "lo")
            {
                assert!(
                    interface.kind == "bond" || macs.insert(interface.mac_address.clone()),
                    "{interface:?}"
                );
                if let Some(port) = &interface.switch_port {
                    assert!(
                        ports.insert((port.switch.clone(), port.port.clone())),
                        "{port} twice"
                    );
                }
                for address in &interface.ipv4_addresses {
                    assert!(addresses.insert(address.clone()), "{address} twice");
                }
            }
            for disk in inventory.disks.iter().filter(|disk| !disk.wwn.is_empty()) {
                assert!(disks.insert(disk.wwn.clone()), "{} twice", disk.wwn);
            }
        }
    }

    #[test]
    fn machines_vary_and_some_are_not_fit() {
        let inventories: Vec<Inventory> = (0..1000).map(|n| Machine::new(1, n).inventory()).collect();
        let vendors: HashSet<&str> = inventories
            .iter()
            .filter_map(|inventory| inventory.system_vendor.as_ref())
            .map(|vendor| vendor.manufacturer.as_str())
            .collect();
        assert!(vendors.len() >= 5, "{vendors:?}");
        let counts = |count: &dyn Fn(&Inventory) -> usize| -> usize {
            inventories.iter().map(count).collect::<HashSet<usize>>().len()
        };
        assert!(counts(&|inventory| inventory.disks.len()) >= 5);
        assert!(counts(&|inventory| inventory.interfaces.len()) >= 4);
        let with_gpus = inventories.iter().filter(|inventory| !inventory.gpus.is_empty());
        assert!(with_gpus.count() > 50);
        let unfit = (0..1000).filter(|n| Machine::new(1, *n).flaw().is_some()).count();
        assert!((50..150).contains(&unfit), "{unfit} of 1000");
    }

    #[test]
    fn the_first_twenty_machines_show_what_there_is_to_see() {
        let machines: Vec<Machine> = (0..20).map(|number| Machine::new(1, number)).collect();
        let inventories: Vec<Inventory> = machines.iter().map(|machine| machine.inventory()).collect();
        let vendors = inventories
            .iter()
            .filter_map(|inventory| inventory.system_vendor.as_ref());
        let vendors: HashSet<&str> = vendors.map(|vendor| vendor.manufacturer.as_str()).collect();
        assert_eq!(vendors.len(), 8, "{vendors:?}");
        assert!(inventories.iter().any(|inventory| !inventory.gpus.is_empty()));
        assert!(machines.iter().any(|machine| machine.flaw().is_some()));
        let cards = inventories.iter().flat_map(|inventory| &inventory.interfaces);
        let switches = cards.filter_map(|card| card.switch_port.as_ref());
        let switches: HashSet<&str> = switches.map(|port| port.switch.as_str()).collect();
        assert_eq!(switches, HashSet::from(["tor000-a", "tor000-b"]));
    }

    #[test]
    fn every_route_and_default_gateway_belongs_to_an_interface() {
        for number in 0..500 {
            let inventory = Machine::new(3, number).inventory();
            for route in &inventory.routes {
                assert!(
                    inventory
                        .interfaces
                        .iter()
                        .any(|interface| interface.name == route.interface),
                    "{route:?}"
                );
            }
            assert!(
                inventory
                    .routes
                    .iter()
                    .any(|route| route.destination == "0.0.0.0")
            );
        }
    }
}
