//! Finds what does not work on this machine: devices that no driver took, firmware that drivers asked for in vain, errors of the
//! kernel, and the panic that ended the boot before.

use std::collections::BTreeSet;

use super::problems::Problems;
use crate::logs::kernel::{self, Message};
use crate::logs::last_panic;
use crate::root::Root;

const PCI: &str = "/sys/bus/pci/devices";
/// The kernel's level of errors; more serious ones are lower.
const ERROR: u32 = 3;
/// Kinds of errors that are told; the logs have all.
const MOST_ERRORS: usize = 12;
/// Bytes of an error that are told.
const LONGEST_ERROR: usize = 240;

/// Notes all of it. The texts are the same as long as the machine is: they hold no time but that of the last boot's end.
pub(super) fn note(root: &Root, problems: &mut Problems) {
    if let Some(panic) = last_panic::summary(root) {
        problems.note("boot.last", panic);
    }
    for device in unclaimed(root) {
        problems.note(&format!("pci.{}", device.address), device.text());
    }
    // A captured tree has no kernel log.
    if root.is_live() {
        let mut log = Log::default();
        if let Err(reason) = kernel::each(|message| log.hear(message)) {
            problems.note("kernel.log", reason);
        }
        for firmware in &log.firmware {
            problems.note("firmware", firmware.clone());
        }
        for error in &log.errors {
            problems.note("kernel", error.clone());
        }
    }
}

/// The same without what the kernel says of itself, for the console.
pub fn of_devices(root: &Root) -> Vec<String> {
    let mut texts: Vec<String> = last_panic::summary(root).into_iter().collect();
    texts.extend(unclaimed(root).iter().map(Unclaimed::text));
    let mut log = Log::default();
    // Without the log, what there is is told.
    let _ = kernel::each(|message| log.hear(message));
    texts.extend(log.firmware);
    texts
}

/// A PCI device without a driver.
struct Unclaimed {
    address: String,
    /// `8086:12d1`
    id: String,
    kind: &'static str,
}

impl Unclaimed {
    fn text(&self) -> String {
        format!(
            "no driver took the {} {} at {}: this image has no module for it (muster-image live drivers --pci {} tells of one)",
            self.kind, self.id, self.address, self.id
        )
    }
}

/// Storage controllers and network cards that no driver took.
fn unclaimed(root: &Root) -> Vec<Unclaimed> {
    let found = root
        .list(PCI)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|address| {
            let file = |name: &str| root.text(&format!("{PCI}/{address}/{name}")).unwrap_or_default();
            let kind = match file("class").get(..4)? {
                "0x01" => "storage controller",
                "0x02" => "network card",
                _ => return None,
            };
            if root.exists(&format!("{PCI}/{address}/driver")) {
                return None;
            }
            let id = format!(
                "{}:{}",
                file("vendor").trim_start_matches("0x"),
                file("device").trim_start_matches("0x")
            );
            Some(Unclaimed { address, id, kind })
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
    let (asker, rest) = text.split_once(": Direct firmware load for ")?;
    let (name, _) = rest.split_once(" failed with error")?;
    Some(format!(
        "{asker} asked for the firmware {name}, which this image does not have (muster-image live build --extra-firmware adds it)"
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
        let told: Vec<String> = unclaimed(&machine.root()).iter().map(Unclaimed::text).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with("no driver took the network card 8086:12d1 at 0000:01:00.0"),
            "{told:?}"
        );
        assert!(told[1].contains("storage controller"), "{told:?}");
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
            text.starts_with("bnx2x 0000:01:00.0 asked for the firmware bnx2x/e2.fw"),
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
