//! Finds the module that drives a PCI device, and whether the image carries it.

use std::fmt::Write as _;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use super::firmware;
use super::modules::{AllModules, module_name};
use crate::packages::gather::Ingredients;

/// A PCI device by its numbers, as `lspci -n` prints it: `8086:12d1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PciDevice {
    pub vendor: u16,
    pub device: u16,
}

impl FromStr for PciDevice {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once(':').and_then(|(vendor, device)| {
            let number = |text: &str| (text.len() == 4).then(|| u16::from_str_radix(text, 16).ok())?;
            Some(Self {
                vendor: number(vendor)?,
                device: number(device)?,
            })
        });
        let Some(parsed) = parsed else {
            bail!("`{text}` is not of the form VVVV:DDDD, as `lspci -n` prints it (8086:12d1)");
        };
        Ok(parsed)
    }
}

impl PciDevice {
    /// True when a module's pattern names exactly this device; patterns of a whole class do not count.
    fn is_named_by(self, alias: &str) -> bool {
        let Some(numbers) = alias.strip_prefix("pci:v") else {
            return false;
        };
        numbers.starts_with(&format!("{:08X}d{:08X}sv", self.vendor, self.device))
    }
}

/// The answer for each device, a line each, and one for each firmware file of its modules.
///
/// # Errors
/// When an ingredient cannot be read.
pub fn drivers(ingredients: &Ingredients, devices: &[PciDevice]) -> Result<String> {
    let all = AllModules::read(ingredients, None)?;
    let chosen = all.chosen()?;
    let mut text = String::new();
    for device in devices {
        let id = format!("{:04x}:{:04x}", device.vendor, device.device);
        let modules = all
            .modules
            .iter()
            .filter(|(_, info)| info.aliases.iter().any(|alias| device.is_named_by(alias)));
        let mut found = false;
        for (path, info) in modules {
            found = true;
            let is_carried = chosen.contains(path.as_str());
            let place = if is_carried {
                "in the image"
            } else {
                "not in the image (--driver adds it)"
            };
            writeln!(text, "{id}: {} ({path}), {place}", module_name(path))?;
            write_firmware(&mut text, ingredients, info, is_carried)?;
        }
        if !found {
            writeln!(
                text,
                "{id}: no module of kernel {} names it; it may be built in, be driven by its class (as AHCI and NVMe \
                 are), or need another kernel (--backports, --kernel-package) or a module of its own (--extra-modules)",
                all.release
            )?;
        }
    }
    Ok(text)
}

fn write_firmware(
    text: &mut String,
    ingredients: &Ingredients,
    info: &super::modinfo::ModuleInfo,
    is_carried: bool,
) -> Result<()> {
    let wanted: firmware::Wanted = info
        .firmware
        .iter()
        .map(|name| (name.clone(), std::collections::BTreeSet::new()))
        .collect();
    let packages = ingredients.firmware.iter().map(|name| ingredients.deb(name));
    let mut found = firmware::pick(&wanted, &packages.collect::<Result<Vec<_>>>()?)?;
    found.add(crate::initramfs::extra::firmware(ingredients)?);
    for name in wanted.keys() {
        let place = match (found.files.contains_key(name), is_carried) {
            (true, true) => "in the image",
            (true, false) => "would come along",
            (false, _) => "in no package",
        };
        writeln!(text, "  firmware {name}, {place}").context("a text can be written to")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_as_lspci_prints_them() {
        let device: PciDevice = "8086:12d1".parse().unwrap();
        assert_eq!((device.vendor, device.device), (0x8086, 0x12d1));
        assert!(device.is_named_by("pci:v00008086d000012D1sv*sd*bc*sc*i*"));
        assert!(!device.is_named_by("pci:v00008086d000012D2sv*sd*bc*sc*i*"));
        assert!(!device.is_named_by("pci:v*d*sv*sd*bc01sc06i01*"));
        for wrong in ["8086", "8086:12d", "0x8086:0x12d1", "x:y"] {
            assert!(wrong.parse::<PciDevice>().is_err(), "{wrong}");
        }
    }
}
