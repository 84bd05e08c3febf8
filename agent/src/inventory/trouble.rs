//! Finds the parts of this machine that do not work: devices without a driver, cards that are InfiniBand's, firmware that drivers
//! requested in vain, errors of the kernel, and the panic that ended the previous boot.

pub(crate) mod kernel;
pub mod last_panic;

use std::collections::BTreeSet;

use super::problems::Problems;
use crate::root::Root;
use kernel::Message;

const PCI: &str = "/sys/bus/pci/devices";
/// The kernel's level of errors; more serious ones are lower.
const ERROR: u32 = 3;
/// Kinds of errors that are reported; the logs have all.
const MOST_ERRORS: usize = 12;
/// Bytes of an error that are reported.
const LONGEST_ERROR: usize = 240;

/// Notes all defects. The texts are the same as long as the machine is: they hold no time except that of the last boot's end.
pub(super) fn note(root: &Root, problems: &mut Problems) {
    if let Some(panic) = last_panic::summary(root) {
        problems.note("boot.last", panic);
    }
    for device in useless(root) {
        problems.note(&format!("pci.{}", device.address), device.text());
    }
    // A captured tree has no kernel log.
    if root.is_live() {
        let mut log = Log::default();
        if let Err(reason) = kernel::each(|message| log.hear(message)) {
            problems.note("kernel.log", reason.to_string());
        }
        for firmware in &log.firmware {
            problems.note("firmware", firmware.clone());
        }
        for error in &log.errors {
            problems.note("kernel", error.clone());
        }
    }
}

/// The same without the errors of the kernel itself, for the console.
pub fn of_devices(root: &Root) -> Vec<String> {
    let mut texts: Vec<String> = last_panic::summary(root).into_iter().collect();
    texts.extend(useless(root).iter().map(Useless::text));
    let mut log = Log::default();
    // Without the log, the rest is reported.
    let _ = kernel::each(|message| log.hear(message));
    texts.extend(log.firmware);
    texts
}

/// A PCI device that provides no disk or no network interface.
struct Useless {
    address: String,
    /// `8086:12d1`
    id: String,
    kind: Kind,
    has_driver: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Storage,
    Network,
    /// InfiniBand, or Omni-Path.
    Fabric,
}

impl Useless {
    fn text(&self) -> String {
        let Self { address, id, .. } = self;
        match (self.kind, self.has_driver) {
            (Kind::Fabric, true) if !id.starts_with(MELLANOX) => format!(
                "the InfiniBand or Omni-Path card {id} at {address} is no network interface here: have it in the inventory by an image \
                 with IP over InfiniBand (muster-image live build --driver {IP_OVER_FABRIC})"
            ),
            (Kind::Fabric, true) => format!(
                "the network card {id} at {address} is set to InfiniBand, so it is no network interface here: set it to Ethernet \
                 (mlxconfig -d {address} set LINK_TYPE_P1=2, of a second port LINK_TYPE_P2=2, then power the machine off and on), or have \
                 it in the inventory by an image with IP over InfiniBand ({OVER_FABRIC})"
            ),
            (Kind::Fabric, false) => format!(
                "no driver took the InfiniBand or Omni-Path card {id} at {address}: this image has none, and discovers by Ethernet \
                 (muster-image live drivers --pci {id} names the module for --driver)"
            ),
            (Kind::Storage | Kind::Network, _) => format!(
                "no driver took the {} {id} at {address}: this image has no module for it (muster-image live drivers --pci {id} names one)",
                if self.kind == Kind::Storage {
                    "storage controller"
                } else {
                    "network card"
                },
            ),
        }
    }
}

/// The only vendor with ports of either kind.
const MELLANOX: &str = "15b3:";
const IP_OVER_FABRIC: &str = "drivers/infiniband/ulp/ipoib/";
/// Options of `muster-image live build` for that maker's cards.
const OVER_FABRIC: &str = "muster-image live build --driver drivers/infiniband/hw/mlx5/ --driver drivers/infiniband/hw/mlx4/ --driver drivers/infiniband/ulp/ipoib/";

/// Storage controllers and network cards without a driver, and cards that are set to InfiniBand.
fn useless(root: &Root) -> Vec<Useless> {
    let found = root
        .list(PCI)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|address| {
            let file = |name: &str| root.text(&format!("{PCI}/{address}/{name}")).unwrap_or_default();
            let has = |name: &str| root.exists(&format!("{PCI}/{address}/{name}"));
            let class = file("class");
            let mut kind = match (class.get(..4)?, class.get(..6)?) {
                ("0x01", _) => Kind::Storage,
                // The older class of InfiniBand is among the classes of serial buses.
                ("0x02", "0x0207" | "0x0208") | (_, "0x0c06") => Kind::Fabric,
                ("0x02", _) => Kind::Network,
                _ => return None,
            };
            let has_driver = has("driver");
            // ConnectX-3 has one class for both; its driver shows each port's kind: `ib`, `auto (ib)`, `eth`.
            if kind == Kind::Network
                && ["mlx4_port1", "mlx4_port2"]
                    .iter()
                    .any(|port| file(port).contains("ib"))
            {
                kind = Kind::Fabric;
            }
            if has_driver && (kind != Kind::Fabric || has("net")) {
                return None;
            }
            let number = |name: &str| file(name).trim_start_matches("0x").to_owned();
            Some(Useless {
                id: format!("{}:{}", number("vendor"), number("device")),
                address,
                kind,
                has_driver,
            })
        });
    found.collect()
}

/// Messages of the kernel that matter.
#[derive(Debug, Default)]
struct Log {
    firmware: BTreeSet<String>,
    /// The first of each kind.
    errors: Vec<String>,
    kinds: BTreeSet<String>,
}

impl Log {
    fn hear(&mut self, message: Message<'_>) {
        if !message.of_kernel {
            return;
        }
        if let Some(text) = refused_firmware(message.text) {
            self.firmware.insert(text);
        } else if message.level <= ERROR && self.errors.len() < MOST_ERRORS {
            // Errors that repeat differ by their numbers: sectors, addresses, counts.
            let kind: String = message
                .text
                .chars()
                .filter(|one| !one.is_ascii_hexdigit())
                .collect();
            if self.kinds.insert(kind) {
                self.errors.push(shortened(message.text));
            }
        }
    }
}

/// `bnx2x 0000:01:00.0: Direct firmware load for bnx2x/bnx2x-e2-7.13.21.0.fw failed with error -2`.
/// Source: drivers/base/firmware_loader/main.c.
fn refused_firmware(text: &str) -> Option<String> {
    let (driver, rest) = text.split_once(": Direct firmware load for ")?;
    let (name, _) = rest.split_once(" failed with error")?;
    Some(format!(
        "{driver} requested the firmware {name}, which this image does not have (muster-image live build --extra-firmware adds it)"
    ))
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_ERROR);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn says(log: &mut Log, level: u32, text: &str) {
        log.hear(Message {
            level,
            of_kernel: true,
            micros: 0,
            text,
        });
    }

    #[test]
    fn network_cards_and_controllers_without_a_driver_are_told() {
        let mut machine = Machine::new();
        for (address, class, driver) in [
            ("0000:01:00.0", "0x020000", false),
            ("0000:02:00.0", "0x010700", false),
            ("0000:03:00.0", "0x020000", true),
            ("0000:04:00.0", "0x030000", false),
        ] {
            let file = |name: &str| format!("{PCI}/{address}/{name}");
            machine = machine
                .file(&file("class"), class)
                .file(&file("vendor"), "0x8086")
                .file(&file("device"), "0x12d1");
            if driver {
                machine = machine.file(&file("driver/bind"), "");
            }
        }
        let told: Vec<String> = useless(&machine.root()).iter().map(Useless::text).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with("no driver took the network card 8086:12d1 at 0000:01:00.0"),
            "{told:?}"
        );
        assert!(told[1].contains("storage controller"), "{told:?}");
    }

    #[test]
    fn infiniband_cards_without_an_interface_are_told_with_what_to_do() {
        let card = |machine: Machine, address: &str, class: &str, files: &[(&str, &str)]| {
            let place = |name: &str| format!("{PCI}/{address}/{name}");
            let machine = machine
                .file(&place("class"), class)
                .file(&place("vendor"), "0x15b3")
                .file(&place("device"), "0x1017");
            files
                .iter()
                .fold(machine, |machine, (name, text)| machine.file(&place(name), text))
        };
        let driver = ("driver/bind", "");
        let mut machine = Machine::new();
        // Of mlx5: InfiniBand, the same with IP over it, Ethernet. Of mlx4: by each port. Of hfi1, without a driver.
        machine = card(machine, "0000:01:00.0", "0x020700", &[driver]);
        machine = card(
            machine,
            "0000:02:00.0",
            "0x020700",
            &[driver, ("net/ibp2s0/mtu", "2044")],
        );
        machine = card(machine, "0000:03:00.0", "0x020000", &[driver]);
        machine = card(
            machine,
            "0000:04:00.0",
            "0x028000",
            &[driver, ("mlx4_port1", "auto (ib)\n")],
        );
        machine = card(
            machine,
            "0000:05:00.0",
            "0x028000",
            &[driver, ("mlx4_port1", "eth\n"), ("net/eth0/mtu", "1500")],
        );
        machine = card(machine, "0000:06:00.0", "0x020800", &[]);
        // Of ib_qib: without a driver, with IP over it, and without that.
        machine = card(machine, "0000:07:00.0", "0x0c0600", &[]);
        machine = card(
            machine,
            "0000:08:00.0",
            "0x0c0600",
            &[driver, ("net/ib0/mtu", "2044")],
        );
        let qlogic = |name: &str| format!("{PCI}/0000:09:00.0/{name}");
        machine = machine
            .file(&qlogic("class"), "0x0c0600")
            .file(&qlogic("vendor"), "0x1077")
            .file(&qlogic("device"), "0x7322")
            .file(&qlogic("driver/bind"), "");
        let told: Vec<String> = useless(&machine.root()).iter().map(Useless::text).collect();
        assert_eq!(told.len(), 5, "{told:#?}");
        for (text, address) in told.iter().zip(["0000:01:00.0", "0000:04:00.0"]) {
            let expected = format!("the network card 15b3:1017 at {address} is set to InfiniBand");
            assert!(text.starts_with(&expected), "{text}");
            assert!(
                text.contains(&format!("mlxconfig -d {address} set LINK_TYPE_P1=2")),
                "{text}"
            );
        }
        assert!(
            told[4].contains("1077:7322") && told[4].contains("ipoib"),
            "{}",
            told[4]
        );
        assert!(!told[4].contains("mlxconfig"), "{}", told[4]);
        for (text, address) in told[2..].iter().zip(["0000:06:00.0", "0000:07:00.0"]) {
            let expected = format!("no driver took the InfiniBand or Omni-Path card 15b3:1017 at {address}");
            assert!(text.starts_with(&expected), "{text}");
        }
    }

    #[test]
    fn firmware_that_is_missing_is_named_once_with_its_driver() {
        let mut log = Log::default();
        for _ in 0..2 {
            let text = "bnx2x 0000:01:00.0: Direct firmware load for bnx2x/e2.fw failed with error -2";
            says(&mut log, 4, text);
        }
        assert_eq!(log.firmware.len(), 1);
        let text = log.firmware.first().unwrap();
        assert!(
            text.starts_with("bnx2x 0000:01:00.0 requested the firmware bnx2x/e2.fw"),
            "{text}"
        );
    }

    #[test]
    fn errors_are_told_once_a_kind_and_not_for_ever() {
        let mut log = Log::default();
        says(&mut log, 3, "I/O error, dev sda, sector 1024");
        says(&mut log, 3, "I/O error, dev sda, sector 4096");
        says(&mut log, 6, "all is well");
        assert_eq!(log.errors, ["I/O error, dev sda, sector 1024"]);
        for number in 0..50 {
            says(&mut log, 2, &"x".repeat(number + 1));
        }
        assert_eq!(log.errors.len(), MOST_ERRORS);
    }
}
