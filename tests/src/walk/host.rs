//! A machine with a blank disk, that is discovered, installed, and becomes a node.

use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::qemu::{Disk, DiskBus, Firmware, GIB, Machine, Medium, Nic, Running, Slots, UserNet};

/// Time limit of a machine in a walk, on a busy computer.
const LIFE: Duration = Duration::from_secs(3600);

/// A machine of a walk.
pub struct Host {
    pub name: String,
    pub firmware: Firmware,
    pub machine: Running,
}

impl Host {
    /// Switches on a fit machine with a blank first disk that is tried first; the ISO is in its drive, or on a stick where the board
    /// has no drive for it. `others` are further disks. Under UEFI only the firmware's own boot entries decide.
    #[track_caller]
    pub fn switch_on(name: &str, firmware: Firmware, iso: &Path, others: Vec<Disk>, slots: Slots) -> Self {
        let iso = iso.to_owned();
        let medium = match firmware {
            Firmware::SeaBios | Firmware::Ovmf | Firmware::OvmfSecureBoot => Medium::Cd(iso),
            Firmware::Aavmf => Medium::UsbStick(iso),
        };
        let machine = Machine::new(name)
            .memory_mib(8192)
            .firmware(firmware)
            .smbios(&format!(
                "type=1,manufacturer=Muster,product=Lab,serial=LAB-{name}"
            ))
            .disk(Disk::new(DiskBus::Virtio, 120 * GIB, &format!("SYSTEM-{name}")))
            .boot(medium)
            .nic(Nic::user(
                "virtio-net-pci",
                &Self::mac(name),
                UserNet::new(2).hostname(name),
            ))
            .lasting()
            .time_limit(LIFE);
        let machine = match firmware {
            Firmware::SeaBios => machine.disk_first(),
            Firmware::Ovmf | Firmware::OvmfSecureBoot | Firmware::Aavmf => machine.order_of_firmware(),
        };
        let machine = others.into_iter().fold(machine, Machine::disk);
        Self {
            name: name.to_owned(),
            firmware,
            machine: machine.start_in(slots),
        }
    }

    /// The MAC address of the card of the machine with that name: one of its own, administered locally.
    pub fn mac(name: &str) -> String {
        let digest = Sha256::digest(name.as_bytes());
        format!("52:54:00:{:02x}:{:02x}:{:02x}", digest[0], digest[1], digest[2])
    }

    /// Fails when the machine is off.
    ///
    /// # Panics
    /// If it is.
    #[track_caller]
    pub fn assert_on(&mut self) {
        let is_on = self.machine.is_on();
        assert!(
            is_on,
            "{} switched itself off:\n{}",
            self.name,
            self.machine.console().tail()
        );
    }
}
